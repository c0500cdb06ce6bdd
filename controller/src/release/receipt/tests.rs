use proptest::prelude::*;

use super::*;
use crate::fixture::{NOW, beat, secs};

const END: i64 = 600;

fn ended() -> Ended<'static> {
    let at = NOW + secs(END + 1);
    Ended {
        deadline: Some(NOW + secs(END)),
        accepted: None,
        shielded_until: Some(NOW + secs(END)),
        absent_at: at,
        beat: None,
    }
}

fn accepted() -> Accepted<'static> {
    Accepted { at: NOW + secs(END), action: Some("12") }
}

/// The last heartbeat, made `s` seconds after [`NOW`].
fn heard(s: i64, phase: Phase) -> Heartbeat {
    Heartbeat { phase, ..beat("n1", s, END) }
}

#[test]
fn our_own_accepted_deletion_is_ours_with_its_proof() {
    let firing = heard(END, Phase::Firing);
    let receipt = receipt(&Ended { accepted: Some(accepted()), beat: Some(&firing), ..ended() });
    assert_eq!(receipt.enforced_by, Some(EnforcedBy::Controller));
    assert_eq!((receipt.action_id.as_deref(), receipt.overshoot_seconds), (Some("12"), Some(1)));
    assert_eq!(receipt.delete_accepted_at.map(|at| at.0), Some(NOW + secs(END)));
    assert_eq!(
        receipt.evidence.as_deref(),
        Some("the controller's own deletion was accepted, then the provider had no such server")
    );
}

#[test]
fn whoever_else_it_was_is_concluded_from_what_was_last_heard() {
    let firing = heard(END, Phase::Firing);
    let alive = heard(END - 20, Phase::Draining);
    let silent = heard(END - 91, Phase::Armed);
    let dead = Heartbeat { backstop: None, ..silent.clone() };
    let observing = Heartbeat { notes: vec![Note::ObserveOnly], ..heard(END, Phase::Firing) };
    let short_lived =
        Heartbeat { fires_at: Some(NOW + secs(300)), cause: Cause::Lifetime, ..heard(290, Phase::Armed) };
    let renewed_since = Heartbeat { fires_at: Some(NOW + secs(300)), ..heard(290, Phase::Armed) };
    let clockless = Heartbeat { at: None, ..heard(0, Phase::Armed) };
    let late = |s| NOW + secs(END + s);
    for (case, ended, by) in [
        ("firing", Ended { beat: Some(&firing), ..ended() }, Some(EnforcedBy::Agent)),
        ("alive at its end", Ended { beat: Some(&alive), ..ended() }, Some(EnforcedBy::Agent)),
        ("silent before", Ended { beat: Some(&silent), ..ended() }, Some(EnforcedBy::Backstop)),
        ("observing", Ended { beat: Some(&observing), ..ended() }, Some(EnforcedBy::External)),
        (
            "early",
            Ended { beat: Some(&alive), absent_at: NOW + secs(END - 3), ..ended() },
            Some(EnforcedBy::External),
        ),
        (
            "early, of its lifetime",
            Ended { beat: Some(&short_lived), absent_at: NOW + secs(301), ..ended() },
            Some(EnforcedBy::Agent),
        ),
        (
            "early, of a deadline that was renewed since",
            Ended { beat: Some(&renewed_since), absent_at: NOW + secs(400), ..ended() },
            Some(EnforcedBy::External),
        ),
        ("early, unheard of", Ended { absent_at: NOW, ..ended() }, Some(EnforcedBy::External)),
        (
            "silent, found in the fifth minute",
            Ended { beat: Some(&silent), absent_at: late(299), ..ended() },
            Some(EnforcedBy::Backstop),
        ),
        ("silent, found later", Ended { beat: Some(&silent), absent_at: late(301), ..ended() }, None),
        (
            "silent, found later, while its label shields it",
            Ended { beat: Some(&silent), absent_at: late(301), shielded_until: Some(late(3600)), ..ended() },
            Some(EnforcedBy::Backstop),
        ),
        (
            "silent, its backstop too, found later",
            Ended { beat: Some(&dead), absent_at: late(301), ..ended() },
            Some(EnforcedBy::Sweeper),
        ),
        ("unheard of, found later", Ended { absent_at: late(301), ..ended() }, Some(EnforcedBy::Sweeper)),
        (
            "firing, found later",
            Ended { beat: Some(&firing), absent_at: late(301), ..ended() },
            Some(EnforcedBy::Agent),
        ),
        ("unheard of", ended(), None),
        ("without a time", Ended { beat: Some(&clockless), ..ended() }, None),
        ("without a deadline", Ended { deadline: None, ..ended() }, None),
    ] {
        assert_eq!(receipt(&ended).enforced_by, by, "{case}: {:?}", receipt(&ended).evidence);
    }
}

#[test]
fn what_is_inferred_says_so() {
    let silent = heard(END - 200, Phase::Armed);
    let said = |beat| receipt(&Ended { beat, ..ended() }).evidence.unwrap_or_default();
    assert_eq!(said(Some(&silent)), "inferred: its agent had been silent for 3m20s when its end came");
    let renewed = Heartbeat { fires_at: Some(NOW + secs(300)), ..heard(290, Phase::Armed) };
    let early = receipt(&Ended { beat: Some(&renewed), absent_at: NOW + secs(400), ..ended() });
    assert_eq!(
        early.evidence.unwrap_or_default(),
        "inferred: gone 3m20s before its end, by nothing of curfew, unless it had been cut off and followed the last \
         deadline it had heard of, 2026-11-30T20:05:00Z"
    );
    assert_eq!(said(None), "not known: it was gone after its end, and no heartbeat was ever read");
}

proptest! {
    #[test]
    fn nobody_is_named_for_a_deletion_of_ours_and_the_agent_only_if_it_was_heard(
        deleted: bool, absent in 0_i64..2000,
        at in proptest::option::of(0_i64..2000), firing: bool, deadline in proptest::option::of(0_i64..2000)
    ) {
        let phase = if firing { Phase::Firing } else { Phase::Armed };
        let beat = at.map(|at| heard(at, phase));
        let time = |s: i64| NOW + secs(s);
        let ended = Ended {
            deadline: deadline.map(time), accepted: deleted.then(accepted), shielded_until: deadline.map(time), absent_at: time(absent),
            beat: beat.as_ref(),
        };
        let receipt = receipt(&ended);
        let ours = matches!(receipt.enforced_by, Some(EnforcedBy::Controller));
        prop_assert_eq!(ours, deleted);
        if matches!(receipt.enforced_by, Some(EnforcedBy::Agent | EnforcedBy::Backstop)) {
            prop_assert!(beat.is_some());
        }
        prop_assert_eq!(receipt.delete_accepted_at.is_some(), deleted);
        prop_assert!(receipt.evidence.is_some_and(|why| !why.is_empty()));
    }
}
