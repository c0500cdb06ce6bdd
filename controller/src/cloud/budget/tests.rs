use proptest::prelude::*;

use super::*;

const ALL: [Urgency; 3] = [Urgency::Deletion, Urgency::Work, Urgency::Look];

fn at(ms: i64) -> Uptime {
    Uptime(SignedDuration::from_millis(ms))
}

fn told(limit: u32, remaining: u32, up: Uptime) -> Budget {
    let mut budget = Budget::default();
    budget.take(Urgency::Work, up).unwrap();
    budget.ended(Some(RateBudget { limit, remaining }), up);
    budget
}

#[derive(Clone, Debug)]
enum Step {
    Take(Urgency),
    Ended(Option<(u32, u32)>),
    Exhausted,
    Pass(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let limit = prop_oneof![Just(3600_u32), Just(7200), 0..50_u32, any::<u32>()];
    let told = (limit, 0..4000_u32).prop_map(Some);
    let step = prop_oneof![
        4 => prop::sample::select(&ALL).prop_map(Step::Take),
        3 => prop_oneof![Just(None), told, any::<(u32, u32)>().prop_map(Some)].prop_map(Step::Ended),
        1 => Just(Step::Exhausted),
        2 => (-1000..5_000_000_i64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 0..60)
}

/// Drives a budget through `steps`; `seen` is asked about each call that was wanted.
fn drive(steps: Vec<Step>, mut seen: impl FnMut(Urgency, Result<(), SignedDuration>, &mut Budget, Uptime)) {
    let (mut budget, mut up) = (Budget::default(), at(1_000_000));
    for step in steps {
        match step {
            Step::Take(urgency) => {
                let taken = budget.take(urgency, up);
                seen(urgency, taken, &mut budget, up);
            }
            Step::Ended(told) => {
                budget.ended(told.map(|(limit, remaining)| RateBudget { limit, remaining }), up);
            }
            Step::Exhausted => budget.exhausted(up),
            Step::Pass(ms) => up = up.after(SignedDuration::from_millis(ms)),
        }
    }
}

proptest! {
    #[test]
    fn a_deletion_is_never_held_back(steps in steps()) {
        drive(steps, |urgency, taken, budget, up| {
            assert!(urgency != Urgency::Deletion || taken.is_ok());
            assert!(budget.clone().take(Urgency::Deletion, up).is_ok());
        });
    }

    #[test]
    fn neither_work_nor_a_look_eats_the_reserve(steps in steps()) {
        drive(steps, |urgency, taken, budget, up| {
            let Some(left) = budget.left(up).filter(|_| taken.is_ok()) else { return };
            let limit = i64::from(budget.known.unwrap().limit);
            match urgency {
                Urgency::Deletion => {}
                Urgency::Work => assert!(left >= limit / 10, "{left} of {limit}"),
                Urgency::Look => assert!(left >= limit / 4, "{left} of {limit}"),
            }
        });
    }

    #[test]
    fn who_is_held_back_may_go_after_exactly_the_wait_that_was_said(steps in steps()) {
        drive(steps, |urgency, taken, budget, up| {
            let Err(wait) = taken else { return };
            assert!(wait.is_positive());
            // A project of so few calls that the reserve is all there is would wait for ever.
            if budget.known.unwrap().limit >= 2 {
                assert_eq!(budget.clone().take(urgency, up.after(wait)), Ok(()));
            }
        });
    }

    #[test]
    fn what_is_known_refills_at_the_limit_by_the_hour(limit in 1..8000_u32, from in 0..8000_u32, ms in 0..7_200_000_i64) {
        let from = from.min(limit);
        let mut budget = told(limit, from, at(0));
        let grown = i64::from(from) + i64::from(limit) * ms / HOUR;
        assert_eq!(budget.left(at(ms)), Some(grown.min(limit.into())));
    }
}

#[test]
fn before_the_first_answer_nothing_is_held_back() {
    let mut budget = Budget::default();
    for urgency in ALL {
        assert_eq!(budget.take(urgency, at(0)), Ok(()));
    }
}

#[test]
fn each_urgency_stops_where_the_next_ones_share_begins() {
    for (urgency, calls) in [(Urgency::Look, 2700), (Urgency::Work, 3240)] {
        let mut budget = told(3600, 3600, at(0));
        let taken = (0..4000).take_while(|_| budget.take(urgency, at(0)).is_ok()).count();
        assert_eq!(taken, calls, "{urgency:?}");
        assert!((0..1000).all(|_| budget.take(Urgency::Deletion, at(0)).is_ok()));
    }
}

#[test]
fn calls_under_way_are_not_counted_as_left() {
    let mut budget = told(3600, 1000, at(0));
    for _ in 0..50 {
        budget.take(Urgency::Work, at(0)).unwrap();
    }
    budget.ended(Some(RateBudget { limit: 3600, remaining: 999 }), at(0));
    assert_eq!(budget.left(at(0)), Some(950));
}

#[test]
fn a_provider_that_is_out_of_calls_is_asked_again_by_deletions_only_until_it_has_refilled() {
    let mut budget = Budget::default();
    budget.exhausted(at(0));
    assert_eq!(budget.take(Urgency::Work, at(0)), Err(SignedDuration::from_millis(361_001)));
    assert_eq!(budget.take(Urgency::Deletion, at(0)), Ok(()));
}
