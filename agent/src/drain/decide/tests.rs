use curfew_contract::Watchdog;
use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;
use crate::time::{Offset, Reading};

const SECOND: i64 = 1_000;

/// The end of a machine that is armed, `left` seconds before its deadline.
fn view(left: i64) -> View {
    let deadline = Wall::from_millis(left * SECOND);
    View {
        now: Reading { boot: Boot::START, real: Wall::from_millis(0), suspended: Span::ZERO },
        beat: 0,
        fires: Boot::from_millis(left * SECOND),
        cause: Cause::Deadline,
        deadline: Some(deadline),
        respite: false,
        holding: false,
        lifetime: Boot::from_millis(86_400 * SECOND),
        cluster: Some(offset()),
        best: offset(),
        stepping: false,
        skew: None,
        confirmed: true,
        confirming: false,
        firing: false,
        unwritable: false,
        consented: true,
        alive_but_not_found: false,
    }
}

fn offset() -> Offset {
    Offset::between(Wall::from_millis(0), Boot::START)
}

fn orders(view: &View, grace: i64, marked_for: Option<i64>) -> Orders {
    Orders {
        grace: Grace::new(SignedDuration::from_secs(grace)).unwrap(),
        refused: None,
        mark: marked_for.map(|at| Mark(Some(Wall::from_millis(at * SECOND)))),
        deadline: Some(view.deadline),
    }
}

/// Of an end that was announced `announced` seconds ahead.
fn decided(view: &View, orders: Orders, announced: i64) -> Action {
    let announced = Announced { left: Span::from_secs(announced), ..Announced::new(view, Boot::START) };
    decide(&Situation { view, orders, announced, underway: None, observe: false }, Boot::START)
}

#[test]
fn work_is_moved_once_less_than_the_grace_is_left_and_not_before() {
    for (left, action) in [(121, Action::Rest), (119, Action::Drain), (1, Action::Drain), (0, Action::Rest)] {
        let view = view(left);
        assert_eq!(decided(&view, orders(&view, 120, None), 660), action, "{left} s left");
    }
    assert_eq!(decided(&view(30), orders(&view(30), 0, None), 660), Action::Rest, "without a grace");
}

#[test]
fn a_machine_that_will_not_go_keeps_its_work() {
    let near = view(30);
    let orders = orders(&near, 120, None);
    assert_eq!(decided(&near, orders, 660), Action::Drain);
    for (why, view) in [
        ("it did not consent", View { consented: false, ..near.clone() }),
        ("a first arming acts upon no deadline", View { holding: true, ..near.clone() }),
        ("the deadline is a memory", View { confirmed: false, ..near.clone() }),
        ("it goes already", View { firing: true, ..near.clone() }),
        ("the fuse has not heard of the renewal", View { deadline: None, ..near.clone() }),
    ] {
        assert_eq!(decided(&view, orders, 660), Action::Rest, "{why}");
    }
    let announced = Announced { left: Span::from_secs(660), ..Announced::new(&near, Boot::START) };
    let situation = Situation { view: &near, orders, announced, underway: None, observe: true };
    assert_eq!(decide(&situation, Boot::START), Action::Rest, "it only observes");
}

#[test]
fn a_lifetime_needs_no_confirmation() {
    let view = View { cause: Cause::Lifetime, confirmed: false, holding: true, ..view(30) };
    assert_eq!(decided(&view, orders(&view, 120, None), 86_400), Action::Drain);
}

#[test]
fn an_agents_own_cordon_is_taken_off_when_the_end_is_far_and_not_in_doubt() {
    let far = view(600);
    assert_eq!(decided(&far, orders(&far, 120, Some(30)), 660), Action::Undo);
    assert_eq!(decided(&far, orders(&far, 120, None), 660), Action::Rest, "another's cordon");
    let doubtful = View { confirmed: false, ..far.clone() };
    assert_eq!(decided(&doubtful, orders(&far, 120, Some(30)), 660), Action::Rest);
    let goes = View { firing: true, ..far.clone() };
    assert_eq!(decided(&goes, orders(&far, 120, Some(30)), 660), Action::Rest);
    let graceless = view(30);
    assert_eq!(
        decided(&graceless, orders(&graceless, 0, Some(30)), 660),
        Action::Undo,
        "the grace was taken back"
    );
}

#[test]
fn what_an_agent_that_was_restarted_had_begun_goes_on_at_once() {
    let view = view(50);
    assert_eq!(decided(&view, orders(&view, 120, Some(50)), 50), Action::Drain);
    assert_eq!(decided(&view, orders(&view, 120, None), 50), Action::Rest, "it had not begun");
    assert_eq!(
        decided(&view, orders(&view, 120, Some(20)), 50),
        Action::Undo,
        "begun for an end that was put off"
    );
}

#[test]
fn a_correction_of_the_clock_stops_nothing_that_was_begun() {
    let view = view(121);
    let orders = orders(&view, 120, Some(120));
    assert_eq!(decided(&view, orders, 660), Action::Drain);
}

#[test]
fn a_cordon_that_somebody_took_back_is_not_set_again_for_the_same_end() {
    let end = Wall::from_millis(100 * SECOND);
    let mark = |at: i64| Some(Mark(Some(Wall::from_millis(at * SECOND))));
    for (unschedulable, mark, expected) in [
        (false, None, Cordon::Set),
        (true, None, Cordon::Stands),
        (true, mark(100), Cordon::Stands),
        (true, mark(99), Cordon::Stands),
        (false, mark(100), Cordon::TakenBack),
        (false, mark(40), Cordon::Set),
        (true, mark(40), Cordon::Set),
        (true, Some(Mark(None)), Cordon::Set),
    ] {
        assert_eq!(cordon(unschedulable, mark, end), expected, "{unschedulable} {mark:?}");
    }
}

#[test]
fn a_mark_is_read_back_and_an_unreadable_one_is_a_mark_all_the_same() {
    let end = Wall::from_millis(1_796_068_800_250);
    assert_eq!(Mark::text(end), "2026-11-30T20:00:00Z");
    assert!(Mark::read(&Mark::text(end)).is_for(end));
    assert_eq!(Mark::read("tomorrow"), Mark(None));
}

proptest! {
    /// Whatever grace a hand has written: the policy's own promise is not relied upon.
    #[test]
    fn no_grace_empties_a_machine_whose_deadline_rolls(
        renew in 10_i64..3_600, extra in 10_i64..7_200, grace in 1_i64..43_200, late in 0_i64..4, periods in 1_i64..4
    ) {
        let slack = (renew + extra).min(86_400);
        prop_assert!(Watchdog::new(SignedDuration::from_secs(renew), SignedDuration::from_secs(slack), SignedDuration::ZERO).is_ok());
        let mut announced: Option<Announced> = None;
        for period in 0..periods {
            // Renewed once less than `slack` is left, and seen a little later.
            let learnt = period * renew + if period > 0 { late } else { 0 };
            let seen = view(period * renew + renew + slack);
            for now in learnt..=(period + 1) * renew + late {
                let at = Boot::from_millis(now * SECOND);
                announced = Some(announced.map_or_else(|| Announced::new(&seen, at), |known| known.renewed(&seen, at)));
                let orders = orders(&seen, grace, None);
                let situation = Situation { view: &seen, orders, announced: announced.unwrap(), underway: None, observe: false };
                prop_assert_eq!(decide(&situation, at), Action::Rest);
            }
        }
    }

    #[test]
    fn with_a_grace_that_the_policy_allows_it_begins_when_promised(
        slack in 20_i64..86_400, share in 1_i64..=100, now in 0_i64..86_400
    ) {
        let (grace, horizon) = ((slack / 2 * share / 100).max(1), slack + 10);
        let view = view(horizon);
        let orders = orders(&view, grace, None);
        let announced = Announced::new(&view, Boot::START);
        let action = decide(&Situation { view: &view, orders, announced, underway: None, observe: false }, Boot::from_millis(now * SECOND));
        let left = horizon - now;
        let expected = if left > 0 && left < grace { Action::Drain } else { Action::Rest };
        prop_assert_eq!(action, expected);
    }
}
