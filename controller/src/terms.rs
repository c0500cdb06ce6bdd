//! From a lease as typed to terms that can be kept. Pure.
//!
//! The schema refuses most nonsense before it is stored; this is for what it let through, and for objects that
//! are older than the schema. Each part falls back on its own, so that a bad edit neither starves the renewals of
//! a lease that runs nor stops the others.

use std::collections::BTreeMap;

use curfew_contract::{Watchdog, duration, policy::InvalidWatchdog};
use jiff::{SignedDuration, Timestamp};

use crate::crd::{CapacityLeaseSpec, OnRelease, WatchdogSpec};

/// A lease's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// None: it cannot be read, and the end that was accepted last stands.
    pub(crate) duration: Option<SignedDuration>,
    pub(crate) watchdog: Watchdog,
    pub(crate) selector: BTreeMap<String, String>,
    pub(crate) on_release: OnRelease,
    /// What was wrong, for the `Accepted` condition. Empty: all is well.
    pub(crate) problems: Vec<String>,
}

/// Why a part of the spec is not kept.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("spec.{0}: {1}")]
    NotADuration(&'static str, duration::NotADuration),
    #[error("spec.duration: {} is not from 5s to 720h", duration::format(*.0))]
    OutOfBounds(SignedDuration),
    #[error("spec.watchdog: {0}; the default (1m, 10m) is in force")]
    Watchdog(InvalidWatchdog),
    #[error("spec.adopt.nodeSelector: an empty selector would hold every Node, so it holds none")]
    SelectsEverything,
}

impl Terms {
    /// Reads a spec. Never fails: what cannot be kept is in [`Terms::problems`].
    pub(crate) fn read(spec: &CapacityLeaseSpec) -> Option<Self> {
        let mut problems = Vec::new();
        let mut note = |problem: Problem| problems.push(problem.to_string());
        let duration = length(&spec.duration).map_err(&mut note).ok();
        let watchdog = match watchdog(&spec.watchdog) {
            Ok(watchdog) => watchdog,
            Err(problem) => {
                note(problem);
                watchdog(&WatchdogSpec::default()).ok()?
            }
        };
        if spec.adopt.node_selector.is_empty() {
            note(Problem::SelectsEverything);
        }
        let (selector, on_release) = (spec.adopt.node_selector.clone(), spec.adopt.on_release);
        Some(Self { duration, watchdog, selector, on_release, problems })
    }

    /// When a lease that was accepted at `accepted` ends.
    pub(crate) fn expiry(&self, accepted: Timestamp) -> Option<Timestamp> {
        accepted.checked_add(self.duration?).ok()
    }

    /// Whether a Node with these labels is meant.
    pub(crate) fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        !self.selector.is_empty() && self.selector.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

fn length(text: &str) -> Result<SignedDuration, Problem> {
    let length = read("duration", text)?;
    if (SHORTEST..=LONGEST).contains(&length) { Ok(length) } else { Err(Problem::OutOfBounds(length)) }
}

fn watchdog(spec: &WatchdogSpec) -> Result<Watchdog, Problem> {
    let renew_interval = read("watchdog.renewInterval", &spec.renew_interval)?;
    let slack = read("watchdog.slack", &spec.slack)?;
    let usual = Watchdog::usual_grace(slack);
    let grace = spec.grace.as_deref().map_or(Ok(usual), |text| read("watchdog.grace", text))?;
    Watchdog::new(renew_interval, slack, grace).map_err(Problem::Watchdog)
}

fn read(field: &'static str, text: &str) -> Result<SignedDuration, Problem> {
    duration::parse(text).map_err(|e| Problem::NotADuration(field, e))
}

/// Shorter than a beat of the agent, a lease would end before anyone could see that it is armed.
const SHORTEST: SignedDuration = SignedDuration::from_secs(5);
/// Well below the 400 days beyond which an agent refuses a deadline.
const LONGEST: SignedDuration = SignedDuration::from_hours(30 * 24);

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(json: &str) -> Terms {
        Terms::read(&serde_json::from_str(json).unwrap()).unwrap()
    }

    #[test]
    fn a_bad_edit_of_the_watchdog_leaves_the_duration_in_force() {
        let terms = spec(
            r#"{"duration":"1h","watchdog":{"renewInterval":"1m","slack":"1m"},"adopt":{"nodeSelector":{"a":"b"}}}"#,
        );
        assert_eq!(terms.duration, Some(SignedDuration::from_hours(1)));
        assert_eq!(terms.watchdog.slack(), SignedDuration::from_mins(10));
        assert_eq!(
            terms.problems,
            ["spec.watchdog: slack 1m0s is not longer than renewInterval; the default (1m, 10m) is in force"]
        );
    }

    #[test]
    fn a_lease_that_names_no_grace_has_the_usual_one_and_zero_means_none() {
        for (watchdog, grace) in [
            ("{}", Some("2m0s")),
            (r#"{"slack":"2m"}"#, Some("1m0s")),
            (r#"{"slack":"2m","grace":"10s"}"#, Some("10s")),
            (r#"{"grace":"0s"}"#, None),
        ] {
            let json = format!(
                r#"{{"duration":"1h","watchdog":{watchdog},"adopt":{{"nodeSelector":{{"a":"b"}}}}}}"#
            );
            let terms = spec(&json);
            assert_eq!(terms.watchdog.grace().map(|grace| grace.to_string()).as_deref(), grace, "{watchdog}");
            assert!(terms.problems.is_empty(), "{:?}", terms.problems);
        }
    }

    #[test]
    fn durations_that_the_schema_would_refuse_are_refused_here_too() {
        for text in ["4s", "721h", "1 day", "-1h", "", "1e3h"] {
            let terms = spec(&format!(r#"{{"duration":"{text}","adopt":{{"nodeSelector":{{"a":"b"}}}}}}"#));
            assert_eq!((terms.duration, terms.problems.len()), (None, 1), "{text}");
        }
    }

    #[test]
    fn an_empty_selector_holds_no_node() {
        let terms = spec(r#"{"duration":"1h","adopt":{"nodeSelector":{}}}"#);
        assert!(!terms.selects(&BTreeMap::from([("a".into(), "b".into())])));
        assert_eq!(terms.problems.len(), 1);
    }
}
