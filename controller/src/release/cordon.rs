//! When a machine's work is moved away, and whose cordon its Node bears. Pure.
//!
//! Which way it fails: towards work that goes with its machine, never towards a Node that stays closed or is opened
//! against a person's will.

use jiff::{SignedDuration, Timestamp};

/// What to do about a machine's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing, until then.
    Rest(Option<Timestamp>),
    /// Move it away, until the end that is named: then the machine is deleted, whatever is left on it.
    Drain(Timestamp),
    /// The end is not near any more: take our own cordon off.
    Undo,
}

/// Decides for a machine that is deleted at `end`, with `grace` to move its work away before. `marked`: its Node bears
/// our mark.
pub(crate) fn decide(end: Timestamp, grace: SignedDuration, marked: bool, now: Timestamp) -> Action {
    let begin = end.saturating_sub(grace).unwrap_or(Timestamp::MIN);
    match (grace.is_positive(), now) {
        (_, now) if now >= end => Action::Rest(None),
        (true, now) if now >= begin => Action::Drain(end),
        _ if marked => Action::Undo,
        (true, _) => Action::Rest(Some(begin)),
        (false, _) => Action::Rest(None),
    }
}

/// What is to be done about a Node's cordon while draining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cordon {
    /// Cordon it, and mark it as cordoned by the controller.
    Set,
    /// It is cordoned: by us for this end, or by somebody else (a person, the machine's own agent), whose cordon we
    /// never take off.
    Stands,
    /// We had cordoned it for this end, and somebody took that back. They are not fought: no pod is evicted either, since
    /// it could come back to this very Node. The machine goes all the same.
    TakenBack,
}

/// Decides about a Node that is `unschedulable` or not, and bears our `mark` or not.
pub(crate) fn cordon(unschedulable: bool, mark: Option<&str>, end: Timestamp) -> Cordon {
    match mark {
        Some(mark) if is_for(mark, end) && !unschedulable => Cordon::TakenBack,
        Some(mark) if is_for(mark, end) => Cordon::Stands,
        None if unschedulable => Cordon::Stands,
        _ => Cordon::Set,
    }
}

/// Whether a mark was made for this `end`.
pub(crate) fn is_for(mark: &str, end: Timestamp) -> bool {
    mark.parse().is_ok_and(|at: Timestamp| end.duration_since(at).abs() <= SAME)
}

/// A mark for an `end`.
pub(crate) fn mark(end: Timestamp) -> String {
    Timestamp::from_second(end.as_second()).unwrap_or(end).to_string()
}

/// An end that moves by no more is the same end: a mark has whole seconds, and a deleted lease's end is set by another
/// clock than ours.
const SAME: SignedDuration = SignedDuration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{NOW, secs};

    #[test]
    fn work_is_moved_from_the_teardown_grace_to_the_end_and_only_our_own_cordon_is_undone() {
        let end = NOW + secs(600);
        for (grace, marked, at, action) in [
            (120, false, 0, Action::Rest(Some(NOW + secs(480)))),
            (120, false, 479, Action::Rest(Some(NOW + secs(480)))),
            (120, false, 480, Action::Drain(end)),
            (120, true, 599, Action::Drain(end)),
            (120, true, 600, Action::Rest(None)),
            (120, true, 479, Action::Undo),
            (0, false, 599, Action::Rest(None)),
            (0, true, 599, Action::Undo),
            (900, false, 0, Action::Drain(end)),
        ] {
            assert_eq!(decide(end, secs(grace), marked, NOW + secs(at)), action, "{grace} {marked} {at}");
        }
    }

    #[test]
    fn a_cordon_of_somebody_else_is_used_and_never_called_ours() {
        let (end, ours) = (NOW + secs(600), mark(NOW + secs(600)));
        let earlier = mark(NOW);
        for (unschedulable, mark, verdict) in [
            (false, None, Cordon::Set),
            (true, None, Cordon::Stands),
            (true, Some(&*ours), Cordon::Stands),
            (false, Some(&*ours), Cordon::TakenBack),
            (false, Some(&*earlier), Cordon::Set),
            (true, Some(&*earlier), Cordon::Set),
            (true, Some("?"), Cordon::Set),
        ] {
            assert_eq!(cordon(unschedulable, mark, end), verdict, "{unschedulable} {mark:?}");
        }
    }

    #[test]
    fn a_mark_is_in_whole_seconds() {
        assert_eq!(mark(NOW + SignedDuration::from_millis(400)), "2026-11-30T20:00:00Z");
    }
}
