//! Renewals that are learnt when they have passed, too.

use super::*;
use crate::fuse::Held;

fn held_at(held: i64, learnt: i64, now: i64) -> Held {
    let wall = |at: i64| Some(Wall::from_millis(EPOCH + at));
    let reading = |at: i64| reading(at, 0, 0, 0);
    let (mut burning, _) = Burning::new(Boot::from_millis(LIFETIME), Arc::new(BestTime::new()), reading(0));
    for at in [0, now] {
        let (date, at) = (Wall::from_millis(EPOCH + at), Boot::from_millis(at));
        burning.take(
            Tell::Answered(Answered { date, sent: at, received: at }),
            reading(at.since(Boot::START).millis()),
        );
        let says = if at == Boot::START { wall(held) } else { wall(learnt) };
        burning
            .take(Tell::Learnt { deadline: says, asked: Some(at) }, reading(at.since(Boot::START).millis()));
    }
    burning.state.fuse.deadline.unwrap()
}

#[test]
fn a_renewal_that_was_missed_until_it_passed_too_saves_no_machine_whose_deadline_is_due() {
    let held = held_at(100_000, 110_000, 120_000);
    assert!(!held.respite && held.fires <= Boot::from_millis(120_000), "{held:?}");
    for (held, learnt, now, why) in [
        (100_000, 90_000, 120_000, "an older one may be a restored etcd's"),
        (300_000, 90_000, 120_000, "it was not due"),
    ] {
        let held = held_at(held, learnt, now);
        assert!(held.respite && held.fires >= Boot::from_millis(now), "{why}: {held:?}");
    }
    let renewed = held_at(100_000, 300_000, 120_000);
    assert!(
        !renewed.respite && renewed.fires > Boot::from_millis(290_000),
        "a renewal that came: {renewed:?}"
    );
}
