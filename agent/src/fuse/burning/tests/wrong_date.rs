//! A first answer with a wrong date: what was concluded from it must not outlive it.

use super::*;

/// An answer stamped `ahead` of the truth, at `at`. Both in milliseconds.
fn hears(burning: &mut Burning, at: i64, ahead: i64) {
    let now = reading(at, 0, 0, 0);
    let date = Wall::from_millis((EPOCH + at + ahead) / 1000 * 1000);
    burning.take(Tell::Answered(Answered { date, sent: now.boot, received: now.boot }), now);
    burning.decide(now);
}

#[test]
fn what_was_concluded_from_a_first_answer_with_a_wrong_date_does_not_outlive_it() {
    for ahead in [10_800_000, -10_800_000] {
        let (mut burning, _) =
            Burning::new(Boot::from_millis(LIFETIME), Arc::new(BestTime::new()), reading(0, 0, 0, 0));
        hears(&mut burning, 0, ahead);
        let deadline = Wall::from_millis(EPOCH + 600_000);
        burning
            .take(Tell::Learnt { deadline: Some(deadline), asked: Some(Boot::START) }, reading(0, 0, 0, 0));
        for at in [20_000, 30_000, 50_000] {
            hears(&mut burning, at, 0);
        }
        let _ = burning.record_due(Boot::from_millis(79_000));
        hears(&mut burning, 80_000, 0);
        let held = burning.state.fuse.deadline.unwrap();
        assert!(
            !held.respite && held.fires.since(Boot::from_millis(600_000)).magnitude() <= Span::from_secs(2),
            "{held:?}"
        );
        let off = burning.state.born.unwrap().since(Wall::from_millis(EPOCH)).magnitude();
        assert!(off <= Span::from_secs(2), "born {off} off");
        assert_eq!(burning.state.fuse.lifetime, Boot::from_millis(LIFETIME));
        assert!(burning.record_due(Boot::from_millis(81_000)).is_some(), "and the ledger says so at once");
    }
}
