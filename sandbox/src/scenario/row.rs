//! The result of a row, and when it counts as held. Pure.

use std::time::Duration;

use serde::Serialize;

use crate::{
    machine::{AGENT, BACKSTOP},
    stage::{CONTROLLER, Gone, SWEEPER},
};

/// What happened, measured by the cloud.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// As the failure matrix names it.
    pub scenario: &'static str,
    /// Whether the server was deleted.
    pub gone: bool,
    /// Whose token the accepted DELETE carried: `agent`, `backstop`, `controller` or `sweeper`. Null if nothing was deleted.
    pub enforced_by: Option<String>,
    /// Seconds from the deadline in force on the Node to the accepted DELETE; negative is too early. In a `-seen` row:
    /// seconds from the fault to its being shown. Null if neither came.
    pub overshoot_seconds: Option<f64>,
    /// What [`Row::overshoot_seconds`] may be at most.
    pub bound_seconds: f64,
    /// Seconds from the deadline to the last eviction of a pod that could move: negative is before it. In a `-drain` row
    /// only, and not there if some pod was not evicted by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_moved_seconds: Option<f64>,
    /// Seconds from each create call to the machine's showing as ready in the lease's status, where the controller rented.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub join_seconds: Vec<f64>,
    /// By the right layer, not early, within the bound; in a `-seen` row: shown in time, and nothing deleted; in a `-drain`
    /// row also: what could move was evicted before the deadline and not before the fault, what could not was left alone.
    pub held: bool,
}

/// Which layer a row expects to enforce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The agent.
    Agent,
    /// The backstop.
    Backstop,
    /// The controller.
    Controller,
    /// The sweeper outside of the cluster.
    Sweeper,
    /// Whichever of the two comes first.
    ControllerOrAgent,
    /// Agent or backstop, whichever comes first.
    Any,
}

impl Layer {
    fn is(self, holder: &str) -> bool {
        match self {
            Self::Agent => holder == AGENT,
            Self::Backstop => holder == BACKSTOP,
            Self::Controller => holder == CONTROLLER,
            Self::Sweeper => holder == SWEEPER,
            Self::ControllerOrAgent => [CONTROLLER, AGENT].contains(&holder),
            Self::Any => [AGENT, BACKSTOP].contains(&holder),
        }
    }
}

/// What became of a machine's work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Work {
    /// Seconds from the deadline to the last eviction.
    pub(super) moved: Option<f64>,
    /// Nothing was evicted that should not have been.
    pub(super) kept: bool,
}

impl Row {
    /// A row that ends with a machine's end.
    #[must_use]
    pub fn ended(scenario: &'static str, gone: Option<Gone>, by: Layer, bound: Duration) -> Self {
        let (overshoot, bound) = (gone.as_ref().and_then(Gone::overshoot), bound.as_secs_f64());
        let in_time = overshoot.is_some_and(|seconds| (0.0..=bound).contains(&seconds));
        let enforced_by = gone.map(|gone| gone.by);
        Self {
            scenario,
            gone: enforced_by.is_some(),
            held: in_time && enforced_by.as_deref().is_some_and(|holder| by.is(holder)),
            enforced_by,
            overshoot_seconds: overshoot.map(rounded),
            bound_seconds: rounded(bound),
            work_moved_seconds: None,
            join_seconds: Vec::new(),
        }
    }

    /// The same, where the machine had work.
    pub(super) fn with(self, work: Work) -> Self {
        let in_time = work.moved.is_some_and(|seconds| seconds < 0.0);
        Self { held: self.held && in_time && work.kept, work_moved_seconds: work.moved.map(rounded), ..self }
    }

    /// The same, where the controller rented the machines.
    pub(super) fn joined(self, seconds: Vec<f64>) -> Self {
        Self { join_seconds: seconds.into_iter().map(rounded).collect(), ..self }
    }

    /// A row that could not be played: a promise that was not seen to be kept is not kept.
    #[must_use]
    pub const fn unplayed(scenario: &'static str) -> Self {
        Self {
            scenario,
            gone: false,
            enforced_by: None,
            overshoot_seconds: None,
            bound_seconds: 0.0,
            work_moved_seconds: None,
            join_seconds: Vec::new(),
            held: false,
        }
    }

    /// As one line of JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// A row that ends with something being shown. `after`: how long that took; `gone`: whether the machine is.
    #[must_use]
    pub fn seen(scenario: &'static str, after: Option<Duration>, bound: Duration, gone: bool) -> Self {
        Self {
            scenario,
            gone,
            enforced_by: None,
            overshoot_seconds: after.map(|after| rounded(after.as_secs_f64())),
            bound_seconds: rounded(bound.as_secs_f64()),
            work_moved_seconds: None,
            join_seconds: Vec::new(),
            held: !gone && after.is_some_and(|after| after <= bound),
        }
    }
}

/// To milliseconds: the clocks tell no more.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::{SignedDuration, Timestamp};

    fn gone(by: &str, late_millis: i64) -> Gone {
        let deadline = Timestamp::constant(1_796_068_800, 0);
        let at = deadline + SignedDuration::from_millis(late_millis);
        Gone { at, by: by.into(), deadline: Some(deadline) }
    }

    fn held(gone: impl Into<Option<Gone>>) -> bool {
        Row::ended("F1", gone.into(), Layer::Agent, Duration::from_secs(1)).held
    }

    #[test]
    fn a_row_holds_only_if_the_right_layer_enforced_in_time_and_not_early() {
        assert!(held(gone(AGENT, 20)));
        assert!(!held(gone(AGENT, -1)), "early");
        assert!(!held(gone(AGENT, 1_001)), "late");
        assert!(!held(gone(BACKSTOP, 20)), "another layer");
        assert!(!held(None), "never");
        assert!(!held(Gone { deadline: None, ..gone(AGENT, 20) }), "without a deadline");
    }

    #[test]
    fn a_row_with_work_holds_only_if_all_of_it_moved_in_time_and_nothing_else_did() {
        let held = |moved, kept, late_millis| {
            let row =
                Row::ended("F1-drain", Some(gone(AGENT, late_millis)), Layer::Agent, Duration::from_secs(1));
            row.with(Work { moved, kept }).held
        };
        assert!(held(Some(-3.5), true, 20));
        assert!(!held(Some(0.5), true, 20), "after the deadline");
        assert!(!held(None, true, 20), "not all of it");
        assert!(!held(Some(-3.5), false, 20), "something else too");
        assert!(!held(Some(-3.5), true, 1_001), "and the machine late");
    }

    #[test]
    fn a_row_is_spelled_as_promised() {
        let row = Row::ended("F1", Some(gone(AGENT, 20)), Layer::Agent, Duration::from_secs(1));
        assert_eq!(
            serde_json::to_string(&row).unwrap(),
            r#"{"scenario":"F1","gone":true,"enforcedBy":"agent","overshootSeconds":0.02,"boundSeconds":1.0,"held":true}"#
        );
    }

    #[test]
    fn a_row_with_work_says_when_it_moved() {
        let row = Row::ended("F1-drain", Some(gone(AGENT, 20)), Layer::Agent, Duration::from_secs(1));
        assert_eq!(
            row.with(Work { moved: Some(-3.5), kept: true }).json(),
            r#"{"scenario":"F1-drain","gone":true,"enforcedBy":"agent","overshootSeconds":0.02,"boundSeconds":1.0,"workMovedSeconds":-3.5,"held":true}"#
        );
    }

    #[test]
    fn a_row_whose_machine_was_rented_says_how_long_it_took_to_join() {
        let row = Row::ended("F2", Some(gone(CONTROLLER, 20)), Layer::Controller, Duration::from_secs(1));
        let json = row.joined(vec![1.234_56]).json();
        assert!(json.ends_with(r#""boundSeconds":1.0,"joinSeconds":[1.235],"held":true}"#), "{json}");
        assert!(!held(gone(CONTROLLER, 20)), "a layer that is not the agent");
    }

    #[test]
    fn a_fault_counts_as_seen_only_in_time_and_while_the_machine_lives() {
        let seen = |after, gone| Row::seen("F2-seen", after, Duration::from_secs(32), gone).held;
        assert!(seen(Some(Duration::from_secs(31)), false));
        assert!(!seen(Some(Duration::from_secs(33)), false));
        assert!(!seen(Some(Duration::from_secs(31)), true));
        assert!(!seen(None, false));
    }
}
