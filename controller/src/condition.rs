//! From a heartbeat to `WatchdogArmed`: how fresh it is, what it amounts to, when that may change. Pure.
//!
//! What a heartbeat *means* is [`curfew_contract::condition::assess`], shared with the agent; this file adds only
//! what the controller alone can know: when it saw the value change, by its own clock.

use curfew_contract::{Assessment, Cause, Expected, Freshness, Heartbeat, annotation, condition::assess};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{api::core::v1::NodeCondition, apimachinery::pkg::apis::meta::v1::Time};

use crate::{
    clock::{Reading, Uptime},
    observe::Node,
};

/// A heartbeat, and when it was seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sighting {
    value: String,
    /// The heartbeat, or what is wrong with it.
    pub(crate) beat: Result<Heartbeat, String>,
    seen: Uptime,
    /// Whether `seen` is when it changed. Otherwise it is when it was first found, and may have been old by then.
    changed: bool,
}

/// What a Node's heartbeat amounts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) assessment: Assessment,
    /// When this judgement may change although nothing happens.
    pub(crate) until: Option<Uptime>,
}

impl Sighting {
    /// The annotation holds `value`. `relisted`: nobody watched while it changed.
    pub(crate) fn of(value: String, known: Option<Self>, up: Uptime, relisted: bool) -> Self {
        match known {
            Some(known) if known.value == value => known,
            known => {
                let beat = Heartbeat::read(&value).map_err(|error| error.to_string());
                Self { value, beat, seen: up, changed: known.is_some() && !relisted }
            }
        }
    }

    /// Whether it counts, and until when.
    fn freshness(&self, window: SignedDuration, reading: Reading) -> (Freshness, Uptime) {
        let age_when_seen =
            if self.changed { Some(SignedDuration::ZERO) } else { self.age_when_found(reading) };
        let Some(age) = age_when_seen.filter(|age| (-TOLERANCE..=window).contains(age)) else {
            return (Freshness::Stale, self.seen);
        };
        let until = self.seen.after(window - age.max(SignedDuration::ZERO));
        (if reading.up <= until { Freshness::Fresh } else { Freshness::Stale }, until)
    }

    /// How old the beat said it was when it was found.
    fn age_when_found(&self, reading: Reading) -> Option<SignedDuration> {
        let made = self.beat.as_ref().ok()?.at?;
        Some(reading.now?.duration_since(made) - reading.up.since(self.seen))
    }
}

/// Judges a Node's heartbeat.
pub(crate) fn judge(node: &Node, reading: Reading) -> Judgement {
    let beat = node.sighting.as_ref().and_then(|sighting| Some((sighting, sighting.beat.as_ref().ok()?)));
    let unseen_for = |now| beat.map(|(sighting, beat)| node.unseen_for(beat, sighting.seen, now));
    let expected = Expected {
        provider_id: node.provider_id(),
        deadline: reading.now.and_then(|now| node.deadline(now)),
        deadline_unseen_for: reading.now.and_then(unseen_for).unwrap_or_default(),
    };
    let Some((sighting, beat)) = beat else {
        return Judgement { assessment: assess(None, Freshness::Stale, expected), until: None };
    };
    let (freshness, stale_at) = sighting.freshness(beat.window(), reading);
    let until = (freshness == Freshness::Fresh).then(|| stale_at.after(JUST_AFTER));
    Judgement { assessment: assess(Some(beat), freshness, expected), until }
}

/// The condition to write on a Node, if the one that stands does not say it.
pub(crate) fn to_write(node: &Node, judgement: &Judgement, now: Timestamp) -> Option<NodeCondition> {
    let stands = node.full.as_ref()?.condition.as_ref();
    let (status, reason) = words(judgement.assessment);
    let told = stands.filter(|known| known.status == status && known.reason.as_deref() == Some(reason));
    let message = message(node, judgement.assessment);
    let age = told
        .and_then(|known| known.last_heartbeat_time.as_ref())
        .map_or(SignedDuration::MAX, |at| now.duration_since(at.0));
    let enough =
        if told.is_some_and(|known| says(known, &message)) { REWRITTEN_AFTER } else { REWORDED_AFTER };
    if told.is_some() && age < enough {
        return None;
    }
    let since =
        stands.filter(|known| known.status == status).and_then(|known| known.last_transition_time.clone());
    Some(NodeCondition {
        type_: annotation::WATCHDOG_ARMED.into(),
        status: status.into(),
        reason: Some(reason.into()),
        message: Some(format!("{message}{AS_OF}{}", Time(now).0.strftime("%FT%TZ"))),
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: since.or(Some(Time(now))),
    })
}

/// `status` and `reason` of the condition.
pub(crate) const fn words(assessment: Assessment) -> (&'static str, &'static str) {
    match assessment {
        Assessment::Armed => ("True", "Armed"),
        Assessment::Unarmed(reason) => ("False", reason.as_str()),
    }
}

fn message(node: &Node, assessment: Assessment) -> String {
    let beat = node.sighting.as_ref().map(|sighting| &sighting.beat);
    match (assessment, beat) {
        (Assessment::Unarmed(reason), Some(Err(error))) => {
            format!("the heartbeat cannot be read ({error}); {}", reason.advice())
        }
        (Assessment::Unarmed(reason), _) => reason.advice().into(),
        // Without the instant: it moves each minute, and is on the lease and in the heartbeat.
        (Assessment::Armed, Some(Ok(Heartbeat { cause: Cause::Deadline, .. }))) => {
            "the machine will delete itself when its deadline comes, unless that is moved".into()
        }
        (Assessment::Armed, _) => "the machine will delete itself at the end of its lifetime".into(),
    }
}

fn says(condition: &NodeCondition, message: &str) -> bool {
    let written = condition.message.as_deref().unwrap_or_default();
    written.rsplit_once(AS_OF).is_some_and(|(said, _)| said == message)
}

/// A `Date` has whole seconds: two readings of one clock may differ by one, and each is cut once.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(2);
/// Wake-ups come after the instant they are for, never on it.
const JUST_AFTER: SignedDuration = SignedDuration::from_millis(100);
/// "As of" must not look older than this while a controller lives.
const REWRITTEN_AFTER: SignedDuration = SignedDuration::from_mins(5);
/// New words for the same verdict are no reason to write at each beat.
const REWORDED_AFTER: SignedDuration = SignedDuration::from_secs(20);
const AS_OF: &str = "; as of ";

#[cfg(test)]
mod tests;
