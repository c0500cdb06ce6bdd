//! How a machine ended: what was promised, who kept the promise, and by what that was concluded. Pure.
//!
//! Only our own accepted deletion is known. Everything else is concluded from what was last heard of the machine, and the
//! evidence says so. Nothing depends on a receipt: a wrong conclusion misleads a reader, and deletes nothing.

use curfew_contract::{Cause, Heartbeat, Note, Phase, duration};
use jiff::{SignedDuration, Timestamp};

use crate::{
    crd::{EnforcedBy, Receipt},
    status::whole,
};

/// What is known of a machine that is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended<'a> {
    /// By when it was to be deleted.
    pub(crate) deadline: Option<Timestamp>,
    /// Our own deletion, if the provider accepted one.
    pub(crate) accepted: Option<Accepted<'a>>,
    /// Until when its label kept the sweepers away.
    pub(crate) shielded_until: Option<Timestamp>,
    /// When the provider first said that there is no such server.
    pub(crate) absent_at: Timestamp,
    /// The last heartbeat of its agent.
    pub(crate) beat: Option<&'a Heartbeat>,
}

/// A deletion that the provider accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted<'a> {
    pub(crate) at: Timestamp,
    /// The provider's number of it.
    pub(crate) action: Option<&'a str>,
}

/// The receipt.
pub(crate) fn receipt(ended: &Ended<'_>) -> Receipt {
    let (enforced_by, evidence) = conclude(ended);
    let Ended { deadline, accepted, absent_at, .. } = *ended;
    Receipt {
        deadline: deadline.map(whole),
        enforced_by,
        delete_accepted_at: accepted.map(|accepted| whole(accepted.at)),
        absent_at: Some(whole(absent_at)),
        action_id: accepted.and_then(|accepted| accepted.action).map(Into::into),
        overshoot_seconds: deadline.map(|deadline| absent_at.as_second() - deadline.as_second()),
        evidence: Some(evidence),
    }
}

/// In this order: what is known, what the machine itself announced, what the times allow.
fn conclude(ended: &Ended<'_>) -> (Option<EnforcedBy>, String) {
    let Ended { deadline, accepted, shielded_until, absent_at, beat } = *ended;
    if accepted.is_some() {
        let why = "the controller's own deletion was accepted, then the provider had no such server";
        return (Some(EnforcedBy::Controller), why.into());
    }
    let acts = beat.filter(|beat| !beat.notes.contains(&Note::ObserveOnly));
    if let Some(at) = acts.filter(|beat| beat.phase == Phase::Firing).and_then(|beat| beat.at) {
        return (Some(EnforcedBy::Agent), format!("its last heartbeat, of {}, said Firing", text(at)));
    }
    // The lifetime may run out before the deadline; a deadline that was acknowledged may have been renewed since.
    let lifetime = acts.filter(|beat| beat.cause == Cause::Lifetime).and_then(|beat| beat.fires_at);
    let due = [deadline, lifetime].into_iter().flatten().min();
    let Some(due) = due else {
        return (None, "not known: it had no deadline, and no deletion of ours was accepted".into());
    };
    if absent_at.duration_since(due) < -TOLERANCE {
        let early = duration::format(SignedDuration::from_secs(due.as_second() - absent_at.as_second()));
        let unheard = acts.and_then(|beat| beat.fires_at).filter(|fires| *fires <= absent_at);
        let or = unheard.map_or_else(String::new, |fires| {
            format!(
                ", unless it had been cut off and followed the last deadline it had heard of, {}",
                text(fires)
            )
        });
        return (
            Some(EnforcedBy::External),
            format!("inferred: gone {early} before its end, by nothing of curfew{or}"),
        );
    }
    let swept = shielded_until.is_some_and(|until| absent_at.duration_since(until) >= SWEPT_AFTER);
    let Some(beat) = beat else {
        if swept {
            return (
                Some(EnforcedBy::Sweeper),
                "inferred: no heartbeat was ever read, and sweepers could act".into(),
            );
        }
        return (None, "not known: it was gone after its end, and no heartbeat was ever read".into());
    };
    if acts.is_none() {
        let why = "inferred: its agent only observed, and no deletion of ours was accepted";
        return (Some(EnforcedBy::External), why.into());
    }
    let Some(at) = beat.at else {
        return (None, "not known: its agent had no cluster time to say when it was alive".into());
    };
    let silent = due.duration_since(at);
    if silent <= beat.window() {
        let why = format!("inferred: its agent was heard at {}, and its end came at {}", text(at), text(due));
        return (Some(EnforcedBy::Agent), why);
    }
    let why = format!(
        "its agent had been silent for {} when its end came",
        duration::format(SignedDuration::from_secs(silent.as_secs()))
    );
    let backstop = beat.backstop.and_then(|backstop| backstop.at);
    let both_silent = backstop.is_none_or(|ran| at.duration_since(ran) >= BACKSTOP_ALIVE);
    if !swept {
        (Some(EnforcedBy::Backstop), format!("inferred: {why}"))
    } else if both_silent {
        (Some(EnforcedBy::Sweeper), format!("inferred: {why}, its backstop too, and sweepers could act"))
    } else {
        (None, format!("not known: {why}; by then a sweeper could act beside the backstop"))
    }
}

fn text(at: Timestamp) -> String {
    at.strftime("%FT%TZ").to_string()
}

/// A `Date` has whole seconds, and a machine may fire within one of its end.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(2);
/// What sweepers leave to whoever is nearer, counted from the label.
const SWEPT_AFTER: SignedDuration = SignedDuration::from_mins(5);
/// It runs each minute.
const BACKSTOP_ALIVE: SignedDuration = SignedDuration::from_mins(3);

#[cfg(test)]
mod tests;
