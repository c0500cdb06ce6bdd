//! What becomes of each pod of a machine that is about to be deleted. Pure.
//!
//! The rules are the agent's (docs/design.md, "Which pods"): both may drain one Node at once, and what the one has
//! asked for the other finds done.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1 as core;
use kube::core::{ObjectMeta, PartialObjectMeta};

/// A pod, by its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pod {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Another one means: another pod of the same name.
    pub(crate) uid: String,
    /// A `DaemonSet`'s, or a mirror of a static pod.
    is_the_machines: bool,
    leaving: Option<Leaving>,
}

/// A pod is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaving {
    /// When it is to be gone.
    by: Timestamp,
    /// Seconds it was given in all.
    period: i64,
}

/// What is to be done about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It belongs to the machine and goes with it.
    Stays,
    /// It is being deleted, and in time.
    Leaves,
    /// It was given longer than the machine has: it is to have so many seconds from now, so that its volumes are let go
    /// and its name is free before the machine is gone.
    Hurry(u32),
    /// It is to be evicted, with the grace period it has of its own.
    Evict,
}

impl From<PartialObjectMeta<core::Pod>> for Pod {
    fn from(pod: PartialObjectMeta<core::Pod>) -> Self {
        let ObjectMeta {
            namespace,
            name,
            uid,
            annotations,
            owner_references,
            deletion_timestamp,
            deletion_grace_period_seconds,
            ..
        } = pod.metadata;
        let is_daemon = owner_references
            .unwrap_or_default()
            .iter()
            .any(|owner| owner.controller == Some(true) && owner.kind == "DaemonSet");
        let is_mirror = annotations.unwrap_or_default().contains_key(MIRROR);
        // A pod that is being deleted without a period is gone with the next look.
        let period = deletion_grace_period_seconds.unwrap_or_default();
        Self {
            namespace: namespace.unwrap_or_default(),
            name: name.unwrap_or_default(),
            uid: uid.unwrap_or_default(),
            is_the_machines: is_daemon || is_mirror,
            leaving: deletion_timestamp.map(|at| Leaving { by: at.0, period }),
        }
    }
}

impl Pod {
    /// Its fate at `now`, on a machine that is deleted at `end`.
    pub(crate) fn fate(&self, end: Timestamp, now: Timestamp) -> Fate {
        let Some(Leaving { by, period }) = self.leaving else {
            return if self.is_the_machines { Fate::Stays } else { Fate::Evict };
        };
        let left = end.duration_since(now).saturating_sub(MARGIN).as_secs().max(1);
        // A period can only be made shorter. Zero would mean that nobody waits for the kubelet to stop the containers.
        match u32::try_from(left) {
            Ok(seconds) if end.duration_since(by) < MARGIN && left < period => Fate::Hurry(seconds),
            _ => Fate::Leaves,
        }
    }
}

/// How long to wait after a refusal, with so much left: what the server asks for, else 5 s, but never so long that
/// there is no second try.
pub(crate) fn wait_after(asked: Option<Duration>, left: SignedDuration) -> Duration {
    let left = left.max(SignedDuration::ZERO).unsigned_abs();
    asked.unwrap_or(USUAL).clamp(SHORTEST, LONGEST.min(left / 2).max(SHORTEST))
}

/// What a kubelet needs to report that a pod has stopped.
const MARGIN: SignedDuration = SignedDuration::from_secs(5);
/// Between two looks, at least.
pub(super) const SHORTEST: Duration = Duration::from_secs(1);
/// As `kubectl drain` waits.
const USUAL: Duration = Duration::from_secs(5);
/// A budget that is not up to date makes the API server ask for 10 s; nothing asks for more with good reason.
const LONGEST: Duration = Duration::from_secs(20);
/// On the API server's copy of a static pod, put there by the kubelet.
const MIRROR: &str = "kubernetes.io/config.mirror";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::fixture::{NOW, secs};

    fn pod(more: &Value) -> Pod {
        let mut meta = json!({ "namespace": "a", "name": "p", "uid": "u" });
        for (key, value) in more.as_object().into_iter().flatten() {
            meta[key] = value.clone();
        }
        let object = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": meta });
        serde_json::from_value::<PartialObjectMeta<core::Pod>>(object).unwrap().into()
    }

    fn leaving(by: i64, period: i64) -> Pod {
        Pod { leaving: Some(Leaving { by: NOW + secs(by), period }), ..pod(&json!({})) }
    }

    fn at(pod: &Pod, end: i64, now: i64) -> Fate {
        pod.fate(NOW + secs(end), NOW + secs(now))
    }

    #[test]
    fn what_belongs_to_the_machine_stays_and_everything_else_is_evicted() {
        let owner = |kind: &str, controller: bool| {
            let owner = json!({ "apiVersion": "v1", "kind": kind, "name": "x", "uid": "o", "controller": controller });
            json!({ "ownerReferences": [owner] })
        };
        for (more, fate) in [
            (json!({}), Fate::Evict),
            (owner("ReplicaSet", true), Fate::Evict),
            (owner("DaemonSet", false), Fate::Evict),
            (owner("DaemonSet", true), Fate::Stays),
            (json!({ "annotations": { "kubernetes.io/config.mirror": "d1" } }), Fate::Stays),
            (json!({ "annotations": { "kubernetes.io/config.source": "api" } }), Fate::Evict),
        ] {
            assert_eq!(at(&pod(&more), 100, 0), fate, "{more}");
        }
        let more =
            json!({ "deletionTimestamp": (NOW + secs(30)).to_string(), "deletionGracePeriodSeconds": 30 });
        assert_eq!(pod(&more), leaving(30, 30));
    }

    #[test]
    fn a_pod_that_was_given_longer_than_the_machine_has_must_hurry() {
        for ((by, period), now, fate) in [
            ((30, 30), 0, Fate::Leaves),
            ((95, 95), 0, Fate::Leaves),
            ((96, 96), 0, Fate::Hurry(95)),
            ((3600, 3600), 0, Fate::Hurry(95)),
            ((120, 30), 92, Fate::Hurry(3)),
            ((120, 30), 99, Fate::Hurry(1)),
            ((120, 1), 99, Fate::Leaves),
        ] {
            assert_eq!(at(&leaving(by, period), 100, now), fate, "{by} {period} {now}");
        }
    }

    #[test]
    fn retry_after_is_honoured_and_never_obeyed_beyond_the_time_that_is_left() {
        for (asked, left, waits) in [
            (None, 120, 5),
            (Some(10), 120, 10),
            (Some(0), 120, 1),
            (Some(86_400), 120, 20),
            (Some(10), 12, 6),
            (None, 4, 2),
            (Some(10), -5, 1),
        ] {
            let waited = wait_after(asked.map(Duration::from_secs), secs(left));
            assert_eq!(waited, Duration::from_secs(waits), "{asked:?} {left}");
        }
    }

    proptest! {
        #[test]
        fn nobody_is_hurried_twice_nor_given_more_than_is_left(
            end in 0_i64..10_000, now in 0_i64..10_000, asked in 0_i64..10_000, period in 0_i64..10_000
        ) {
            let asked = asked.min(now);
            if let Fate::Hurry(seconds) = at(&leaving(asked + period, period), end, now) {
                let seconds = i64::from(seconds);
                prop_assert!(seconds >= 1 && seconds < period && seconds <= (end - now).max(1));
                // The API server counts the new period from the first request.
                prop_assert_eq!(at(&leaving(asked + seconds, seconds), end, now), Fate::Leaves);
            }
        }
    }
}
