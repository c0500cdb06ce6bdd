use proptest::prelude::*;

use super::*;

const ALL: [Urgency; 3] = [Urgency::Deletion, Urgency::Work, Urgency::Look];

fn at(s: i64) -> Uptime {
    Uptime(SignedDuration::from_secs(s))
}

fn opened() -> Breaker {
    let mut breaker = Breaker::default();
    for _ in 0..OPENS_AFTER {
        let pass = breaker.admit(Urgency::Work, at(0)).unwrap();
        breaker.ended(pass, End::Failed, at(0));
    }
    breaker
}

#[derive(Clone, Debug)]
enum Step {
    Admit(Urgency),
    End(prop::sample::Index, End),
    Pass(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let end =
        prop::sample::select(vec![End::Failed, End::Failed, End::Failed, End::Abandoned, End::Answered]);
    let step = prop_oneof![
        5 => prop::sample::select(&ALL).prop_map(Step::Admit),
        5 => (any::<prop::sample::Index>(), end).prop_map(|(which, end)| Step::End(which, end)),
        2 => (0..90_i64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 0..120)
}

/// Drives a breaker through `steps`, with the calls that are under way; `seen` sees each that was wanted.
fn drive(
    steps: Vec<Step>,
    mut seen: impl FnMut(Urgency, Result<Pass, SignedDuration>, &[Pass], &Breaker, Uptime),
    mut ended: impl FnMut(End, &Breaker, Uptime),
) {
    let (mut breaker, mut up, mut flying) = (opened(), at(0), Vec::<Pass>::new());
    for step in steps {
        match step {
            Step::Admit(urgency) => {
                let admitted = breaker.admit(urgency, up);
                seen(urgency, admitted, &flying, &breaker, up);
                flying.extend(admitted.ok());
            }
            Step::End(which, end) if !flying.is_empty() => {
                let pass = flying.swap_remove(which.index(flying.len()));
                breaker.ended(pass, end, up);
                ended(end, &breaker, up);
            }
            Step::End(..) => {}
            Step::Pass(s) => up = up.after(SignedDuration::from_secs(s)),
        }
    }
}

proptest! {
    #[test]
    fn a_deletion_is_never_held_back(steps in steps()) {
        drive(steps, |urgency, admitted, _, breaker, up| {
            assert!(urgency != Urgency::Deletion || admitted == Ok(Pass::Ordinary));
            assert_eq!({ *breaker }.admit(Urgency::Deletion, up), Ok(Pass::Ordinary));
        }, |_, _, _| {});
    }

    #[test]
    fn one_probe_at_a_time_is_let_through_and_nothing_beside_it(steps in steps()) {
        drive(steps, |_, _, flying, breaker, up| {
            let State::HalfOpen { probe, .. } = breaker.state else { return };
            assert!(flying.iter().filter(|pass| **pass == Pass::Probe(probe)).count() <= 1);
            for urgency in [Urgency::Work, Urgency::Look] {
                assert!({ *breaker }.admit(urgency, up).is_err());
            }
        }, |_, _, _| {});
    }

    #[test]
    fn it_closes_after_a_success_whoever_had_it(steps in steps()) {
        drive(steps, |_, _, _, _, _| {}, |end, breaker, up| {
            if end == End::Answered {
                assert_eq!({ *breaker }.admit(Urgency::Look, up), Ok(Pass::Ordinary));
            }
        });
    }

    #[test]
    fn it_never_stays_open_for_more_than_a_minute(steps in steps()) {
        drive(steps, |_, _, _, _, _| {}, |_, breaker, up| {
            if !matches!(breaker.state, State::HalfOpen { .. }) {
                assert!({ *breaker }.admit(Urgency::Look, up.after(LAST_PAUSE)).is_ok());
            }
        });
    }
}

#[test]
fn it_opens_after_five_failures_in_a_row_and_not_before() {
    let mut breaker = Breaker::default();
    for end in [End::Failed, End::Failed, End::Failed, End::Failed, End::Answered, End::Failed] {
        breaker.ended(Pass::Ordinary, end, at(0));
        assert_eq!(breaker.admit(Urgency::Look, at(0)), Ok(Pass::Ordinary));
    }
    assert_eq!(opened().admit(Urgency::Work, at(0)), Err(FIRST_PAUSE));
}

#[test]
fn each_probe_that_fails_doubles_the_pause_up_to_a_minute() {
    let (mut breaker, mut up, mut pauses) = (opened(), at(0), Vec::new());
    for _ in 0..6 {
        let wait = breaker.admit(Urgency::Work, up).unwrap_err();
        pauses.push(wait.as_secs());
        up = up.after(wait);
        let probe = breaker.admit(Urgency::Work, up).unwrap();
        breaker.ended(probe, End::Failed, up);
    }
    assert_eq!(pauses, [5, 10, 20, 40, 60, 60]);
}

#[test]
fn deletions_that_fail_do_not_postpone_the_probe() {
    let mut breaker = opened();
    for s in 0..5 {
        let pass = breaker.admit(Urgency::Deletion, at(s)).unwrap();
        breaker.ended(pass, End::Failed, at(s));
    }
    assert_eq!(breaker.admit(Urgency::Look, at(5)), Ok(Pass::Probe(1)));
}

#[test]
fn a_probe_that_nobody_waited_for_makes_room_for_the_next() {
    let mut breaker = opened();
    let probe = breaker.admit(Urgency::Look, at(5)).unwrap();
    breaker.ended(probe, End::Abandoned, at(6));
    assert_eq!(breaker.admit(Urgency::Look, at(6)), Ok(Pass::Probe(2)));
}

#[test]
fn the_late_end_of_an_earlier_outages_probe_is_not_taken_for_the_present_ones() {
    let mut breaker = opened();
    let late = breaker.admit(Urgency::Look, at(5)).unwrap();
    breaker.ended(Pass::Ordinary, End::Answered, at(6));
    for _ in 0..OPENS_AFTER {
        breaker.ended(Pass::Ordinary, End::Failed, at(7));
    }
    assert_eq!(breaker.admit(Urgency::Look, at(12)), Ok(Pass::Probe(2)));
    breaker.ended(late, End::Failed, at(12));
    assert_eq!(breaker.admit(Urgency::Look, at(13)), Err(WHILE_PROBING));
    breaker.ended(late, End::Abandoned, at(14));
    assert_eq!(breaker.admit(Urgency::Look, at(14)), Err(WHILE_PROBING));
}
