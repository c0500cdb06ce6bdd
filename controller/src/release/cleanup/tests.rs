use super::*;
use crate::fixture::{NOW, node, secs};

fn at(tainted: Option<i64>, has_node: bool, held: bool, now: i64) -> Step {
    let node = Node { out_of_service: tainted.map(|s| NOW + secs(s)), ..node("n1", &[]) };
    decide(Remnant { absent: NOW, node: has_node.then_some(&node), held }, NOW + secs(now))
}

#[test]
fn a_node_is_put_out_of_service_then_let_go_of_then_deleted() {
    for (tainted, has_node, held, now, step) in [
        (None, true, false, 0, Step::Taint),
        (None, true, true, 500, Step::Taint),
        (Some(5), true, true, 6, Step::Wait(NOW + secs(125))),
        (Some(5), true, false, 6, Step::Delete),
        (Some(5), true, true, 125, Step::Delete),
        (None, false, true, 6, Step::Wait(NOW + secs(120))),
        (None, false, true, 120, Step::Done),
        (None, false, false, 0, Step::Done),
    ] {
        assert_eq!(at(tainted, has_node, held, now), step, "{tainted:?} {has_node} {held} {now}");
    }
}
