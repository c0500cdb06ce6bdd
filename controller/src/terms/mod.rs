//! From a lease or a provider's configuration as typed to terms that can be kept. Pure.
//!
//! The schema refuses most nonsense before it is stored; this is for what it let through, and for objects that
//! are older than the schema. Each part of a lease falls back on its own, so that a bad edit neither starves the
//! renewals of a lease that runs nor stops the others.

mod provider;
mod rent;

use std::collections::BTreeMap;

use curfew_contract::{Watchdog, duration, policy::InvalidWatchdog};
use jiff::{SignedDuration, Timestamp};

use crate::crd::{CapacityLeaseSpec, OnRelease, WatchdogSpec};

pub(crate) use provider::{Config, NodeCredential, SecretKey};
pub(crate) use rent::{RentTerms, Want};

/// A lease's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// None: it cannot be read, and the end that was accepted last stands.
    pub(crate) duration: Option<SignedDuration>,
    /// The lease's own. None: it has none that can be kept.
    pub(crate) watchdog: Option<Watchdog>,
    /// How long before the end, and after a deletion, the machines have.
    pub(crate) teardown_grace: SignedDuration,
    pub(crate) holding: Holding,
    /// What was wrong, for the `Accepted` condition. Empty: all is well.
    pub(crate) problems: Vec<String>,
}

/// Where the machines come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Holding {
    /// Somebody else rents them.
    Adopt { selector: BTreeMap<String, String>, on_release: OnRelease },
    /// It cannot be read: no machine is taken on; what is known of those that are held stands.
    Nothing,
    /// The lease rents them.
    Rent(RentTerms),
}

/// Why a part of a spec is not kept.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("spec.{0}: {1}")]
    NotADuration(&'static str, duration::NotADuration),
    #[error("spec.{0}: {found} is not from {from} to {to}", found = duration::format(*.1), from = duration::format(*.2.start()), to = duration::format(*.2.end()))]
    OutOfBounds(&'static str, SignedDuration, std::ops::RangeInclusive<SignedDuration>),
    #[error("spec.watchdog: {0}; {1} in force")]
    Watchdog(InvalidWatchdog, &'static str),
    #[error("spec.adopt.nodeSelector: an empty selector would hold every Node, so it holds none")]
    SelectsEverything,
    #[error("spec: exactly one of adopt and rent must be set")]
    NotOneHolding,
    #[error("spec.{0}: exactly one of {1} must be set")]
    NotOne(&'static str, &'static str),
    #[error("spec.{0}: {1} is not from {from} to {to}", from = .2.start(), to = .2.end())]
    NotInRange(&'static str, i64, std::ops::RangeInclusive<i64>),
    #[error("spec.rent.requirements.minMemory: {0:?} is not a whole number with a unit: write it like 8Gi")]
    NotMemory(String),
}

impl Terms {
    /// Reads a spec. Never fails: what cannot be kept is in [`Terms::problems`].
    pub(crate) fn read(spec: &CapacityLeaseSpec) -> Self {
        let mut problems = Vec::new();
        let mut note = |problem: Problem| problems.push(problem.to_string());
        let duration = length("duration", &spec.duration, SHORTEST..=LONGEST).map_err(&mut note).ok();
        let otherwise =
            if spec.rent.is_some() { "the ProviderConfig's is" } else { "the default (1m, 10m) is" };
        let own = spec.watchdog.as_ref().map(|own| watchdog(own, otherwise));
        let watchdog = own.transpose().map_err(&mut note).ok().flatten();
        let grace = spec.teardown_grace.as_deref().map(|text| length("teardownGrace", text, TEARDOWN));
        let usual = duration.map_or(USUAL_TEARDOWN, |length| USUAL_TEARDOWN.min(length / 2));
        let teardown_grace = grace.transpose().map_err(&mut note).ok().flatten().unwrap_or(usual);
        let holding = holding(spec, &mut note);
        Self { duration, watchdog, teardown_grace, holding, problems }
    }

    /// When a lease that was accepted at `accepted` ends.
    pub(crate) fn expiry(&self, accepted: Timestamp) -> Option<Timestamp> {
        accepted.checked_add(self.duration?).ok()
    }

    /// Whether a Node with these labels is meant.
    pub(crate) fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        let Holding::Adopt { selector, .. } = &self.holding else { return false };
        !selector.is_empty() && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
    }

    /// What is to be rented.
    pub(crate) const fn rent(&self) -> Option<&RentTerms> {
        match &self.holding {
            Holding::Rent(rent) => Some(rent),
            Holding::Adopt { .. } | Holding::Nothing => None,
        }
    }
}

fn holding(spec: &CapacityLeaseSpec, note: &mut impl FnMut(Problem)) -> Holding {
    match (&spec.adopt, &spec.rent) {
        (Some(adopt), None) => {
            if adopt.node_selector.is_empty() {
                note(Problem::SelectsEverything);
            }
            Holding::Adopt { selector: adopt.node_selector.clone(), on_release: adopt.on_release }
        }
        (None, Some(rent)) => RentTerms::read(rent).map_err(note).map_or(Holding::Nothing, Holding::Rent),
        (None, None) | (Some(_), Some(_)) => {
            note(Problem::NotOneHolding);
            Holding::Nothing
        }
    }
}

fn length(
    field: &'static str,
    text: &str,
    bounds: std::ops::RangeInclusive<SignedDuration>,
) -> Result<SignedDuration, Problem> {
    let length = read(field, text)?;
    if bounds.contains(&length) { Ok(length) } else { Err(Problem::OutOfBounds(field, length, bounds)) }
}

/// `otherwise`: what is in force instead.
fn watchdog(spec: &WatchdogSpec, otherwise: &'static str) -> Result<Watchdog, Problem> {
    let renew_interval = read("watchdog.renewInterval", &spec.renew_interval)?;
    let slack = read("watchdog.slack", &spec.slack)?;
    let usual = Watchdog::usual_grace(slack);
    let grace = spec.grace.as_deref().map_or(Ok(usual), |text| read("watchdog.grace", text))?;
    Watchdog::new(renew_interval, slack, grace).map_err(|invalid| Problem::Watchdog(invalid, otherwise))
}

fn read(field: &'static str, text: &str) -> Result<SignedDuration, Problem> {
    duration::parse(text).map_err(|e| Problem::NotADuration(field, e))
}

/// How long a lease may last. Shorter than a beat of the agent, it would end before anyone could see that it is armed.
const SHORTEST: SignedDuration = SignedDuration::from_secs(5);
/// Well below the 400 days beyond which an agent refuses a deadline.
const LONGEST: SignedDuration = SignedDuration::from_hours(30 * 24);
const TEARDOWN: std::ops::RangeInclusive<SignedDuration> =
    SignedDuration::ZERO..=SignedDuration::from_mins(15);
/// Of a lease that names none.
pub(crate) const USUAL_TEARDOWN: SignedDuration = SignedDuration::from_mins(2);

#[cfg(test)]
mod tests;
