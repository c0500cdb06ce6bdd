use curfew_contract::annotation::{DEADLINE, DEADLINE_FOR};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::fixture::{NOW, keeping, lease, node, node_until, secs, world};

const LISTED: fn(&mut serde_json::Value) =
    |object| object["status"]["nodes"] = json!([{ "name": "n1", "providerID": "hcloud://n1" }]);

/// What is written `at` seconds after the start: seconds after the start, or `none`. And whether a lease is read
/// again first.
fn written(leases: Vec<Lease>, node: Node, at: i64) -> Option<(String, bool)> {
    let (world, now) = (world(leases, [node]), NOW + secs(at));
    let node = &world.nodes["n1"];
    match decide(node, &world.claims(node, now), now) {
        Decision::Write(Write { instruction: Instruction::At(deadline), shortens_for, .. }) => {
            Some((deadline.at().duration_since(NOW).as_secs().to_string(), shortens_for.is_some()))
        }
        Decision::Write(write) => Some((write.instruction.to_string(), write.shortens_for.is_some())),
        _ => None,
    }
}

fn plain(name: &str, duration: &str) -> Vec<Lease> {
    vec![lease(name, duration, |_| ())]
}

fn value(text: &str, shortens: bool) -> (String, bool) {
    (text.into(), shortens)
}

#[test]
fn a_deadline_rolls_ahead_and_never_beyond_the_end_of_the_lease() {
    assert_eq!(written(plain("l", "1h"), node("n1", &[]), 0), Some(value("660", false)));
    assert_eq!(written(plain("l", "1h"), node_until("n1", 660), 59), None, "slack remains");
    assert_eq!(written(plain("l", "1h"), node_until("n1", 660), 61), Some(value("721", false)));
    assert_eq!(written(plain("l", "1h"), node_until("n1", 3500), 3400), Some(value("3600", false)));
    assert_eq!(written(plain("l", "1h"), node_until("n1", 3600), 3599), None, "the end is written");
}

#[test]
fn a_changed_end_is_followed_either_way_and_shortening_reads_the_lease_again() {
    assert_eq!(written(plain("l", "20m"), node_until("n1", 600), 590), Some(value("1200", false)));
    assert_eq!(written(plain("l", "5m"), node_until("n1", 660), 10), Some(value("300", true)));
    let ended = lease("l", "5m", LISTED);
    assert_eq!(written(vec![ended], node_until("n1", 660), 310), Some(value("300", true)));
}

#[test]
fn a_deadline_that_is_garbled_or_missing_or_for_another_server_is_written_again() {
    for annotations in [
        vec![(DEADLINE, "soon"), (DEADLINE_FOR, "hcloud://n1")],
        vec![(DEADLINE, "0"), (DEADLINE_FOR, "hcloud://n1")],
        vec![(DEADLINE, "none"), (DEADLINE_FOR, "hcloud://n1")],
        vec![(DEADLINE, "2026-11-30T20:11:00Z"), (DEADLINE_FOR, "hcloud://other")],
        vec![(DEADLINE, "2026-11-30T20:11:00Z")],
        vec![(DEADLINE_FOR, "hcloud://n1")],
    ] {
        assert_eq!(
            written(plain("l", "1h"), node("n1", &annotations), 0),
            Some(value("660", false)),
            "{annotations:?}"
        );
    }
}

#[test]
fn a_changed_grace_is_written_once_and_moves_no_deadline() {
    let with = |grace: &str| vec![lease("l", "1h", |l| l["spec"]["watchdog"] = json!({"grace": grace}))];
    let grace = |leases: Vec<Lease>, node: Node| {
        let world = world(leases, [node]);
        match decide(&world.nodes["n1"], &world.claims(&world.nodes["n1"], NOW), NOW) {
            Decision::Write(write) => Some((write.instruction, write.grace.map(|grace| grace.to_string()))),
            _ => None,
        }
    };
    let stands = Instruction::At(Deadline::new(NOW + secs(660)).unwrap());
    assert_eq!(grace(with("2m"), node_until("n1", 660)), None);
    assert_eq!(grace(with("3m"), node_until("n1", 660)), Some((stands, Some("3m0s".into()))));
    assert_eq!(grace(with("0s"), node_until("n1", 660)), Some((stands, None)));
    let by_hand = Node { grace: Some("9h".into()), ..node_until("n1", 660) };
    assert_eq!(grace(with("2m"), by_hand), Some((stands, Some("2m0s".into()))), "one writer");
}

#[test]
fn of_two_leases_the_earlier_deadline_is_written() {
    let both = || vec![lease("a", "1h", |_| ()), lease("b", "2m", |_| ())];
    assert_eq!(written(both(), node("n1", &[]), 0), Some(value("120", false)));
    assert_eq!(written(both(), node_until("n1", 660), 10), Some(value("120", true)));
    assert_eq!(written(both(), node_until("n1", 120), 10), None);
}

#[test]
fn a_lease_that_ended_touches_no_machine_that_joined_later() {
    let ended = lease("old", "5m", |_| ());
    assert_eq!(written(vec![ended.clone()], node("n1", &[]), 400), None);
    let successor = lease("new", "1h", |_| ());
    assert_eq!(written(vec![ended, successor], node("n1", &[]), 400), Some(value("1060", false)));
}

#[test]
fn a_lease_that_ended_or_is_deleted_writes_nothing_more() {
    assert_eq!(written(vec![lease("l", "5m", LISTED)], node_until("n1", 300), 301), None);
    let deleted = lease("l", "1h", |object| {
        LISTED(object);
        object["metadata"]["deletionTimestamp"] = NOW.to_string().into();
    });
    assert_eq!(written(vec![deleted], node_until("n1", 600), 590), None);
}

#[test]
fn machines_that_are_kept_get_their_deadline_back_before_it_could_come() {
    let running = || vec![keeping("l", "10m")];
    assert_eq!(
        written(running(), node_until("n1", 660), 120),
        Some(value("780", false)),
        "not capped by the end"
    );
    assert_eq!(written(running(), node_until("n1", 1100), 600), Some(value("none", false)));
    let with_another = vec![keeping("l", "10m"), lease("m", "1h", |_| ())];
    assert_eq!(written(with_another, node_until("n1", 1260), 601), None, "another lease still holds it");
    let mut deleted = keeping("l", "10m");
    deleted.deleting = Some(NOW);
    assert_eq!(written(vec![deleted], node_until("n1", 660), 1), Some(value("none", false)));
}

#[test]
fn without_its_finalizer_a_keeping_lease_writes_no_deadline_that_nobody_could_take_back() {
    let mut lease = keeping("l", "10m");
    lease.finalizers.clear();
    assert_eq!(written(vec![lease], node("n1", &[]), 0), None);
}

#[test]
fn nothing_is_written_for_a_control_plane_node_or_before_acceptance_or_without_an_identity() {
    let mut control_plane = node("n1", &[]);
    control_plane.labels.insert("node-role.kubernetes.io/control-plane".into(), String::new());
    assert_eq!(written(plain("l", "1h"), control_plane, 0), None);
    let unaccepted = lease("l", "1h", |object| object["status"] = json!({}));
    assert_eq!(written(vec![unaccepted], node("n1", &[]), 0), None);
    let nobody = Node { full: None, ..node("n1", &[]) };
    assert_eq!(written(plain("l", "1h"), nobody, 0), None);
}

#[test]
fn an_edit_that_cannot_be_kept_lets_the_lease_run_on_to_the_end_it_had() {
    let broken = lease("l", "1 day", |object| object["status"]["expiresAt"] = "2026-11-30T21:00:00Z".into());
    assert_eq!(written(vec![broken], node_until("n1", 600), 590), Some(value("1250", false)));
}

proptest! {
    #[test]
    fn while_a_lease_runs_its_machines_always_have_slack_left_and_two_controllers_agree(
        minutes in 1_i64..600, steps in prop::collection::vec((1_i64..400, -1_i64..=1), 1..60)
    ) {
        let leases = || plain("l", &format!("{minutes}m"));
        let (mut node, mut at) = (node("n1", &[]), 0);
        for (step, jitter) in steps {
            at += step;
            let world = world(leases(), [node.clone()]);
            // Two controllers whose clocks differ by up to a second, one after the other.
            for now in [NOW + secs(at), NOW + secs(at + jitter)] {
                let claims = world.claims(&node, now);
                if let Decision::Write(write) = decide(&node, &claims, now) {
                    prop_assert!(write.shortens_for.is_none(), "a healthy lease is never shortened");
                    let annotations = [
                        (DEADLINE, write.instruction.to_string()), (DEADLINE_FOR, "hcloud://n1".into()),
                    ];
                    let written = annotations.each_ref().map(|(key, value)| (*key, value.as_str()));
                    node = crate::fixture::node("n1", &written);
                }
            }
            let now = NOW + secs(at);
            let Some(deadline) = node.deadline(now) else { prop_assert!(at >= minutes * 60); break };
            prop_assert!(deadline <= NOW + secs(minutes * 60));
            if at < minutes * 60 {
                let left = deadline.duration_since(now);
                prop_assert!(left >= secs(599) || deadline == NOW + secs(minutes * 60), "{left}");
            }
        }
    }
}
