//! The kind `CapacityLease` as people type it and as they see it.
//!
//! Owns the schema. Values are kept as typed (durations are strings), so that an object which slipped past the
//! schema still decodes; `terms` is the only door from here to values that are used.

#![expect(clippy::duplicated_attributes, reason = "one printcolumn after the other")]
#![expect(unreachable_pub, reason = "KubeSchema derives a hidden twin of each type, with its visibility")]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize};

/// What the machines are wanted for, and for how long.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "curfew.dev",
    version = "v1alpha1",
    kind = "CapacityLease",
    plural = "capacityleases",
    shortname = "cl",
    status = "CapacityLeaseStatus",
    derive = "PartialEq",
    doc = "A CapacityLease keeps rented machines for a while, and has each of them delete itself when the while is over, whether or not the cluster is still there to ask for it.",
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.nodeCount"),
    printcolumn(
        name = "Armed",
        type_ = "string",
        description = "Machines that will delete themselves, and can, of all machines.",
        json_path = ".status.armed"
    ),
    printcolumn(name = "Expires", type_ = "string", json_path = ".status.expiresAt"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct CapacityLeaseSpec {
    /// For how long, counted from `status.acceptedAt`: `90m`, `8h`. From 5 s to 30 days. Edit it to extend or to
    /// shorten the lease; the deadline of every machine follows.
    #[schemars(extend("format" = "duration"), regex(pattern = DURATION), length(max = 32))]
    #[x_kube(validation = Rule::new("self >= duration('5s') && self <= duration('720h')").message("duration must be from 5s to 720h (30 days)"))]
    pub duration: String,

    /// How far ahead the deadline is written, and how often it is moved.
    #[serde(default)]
    pub watchdog: WatchdogSpec,

    /// Machines that someone else rents, and that consented by the label `curfew.dev/managed-by=curfew` at the
    /// provider.
    pub adopt: AdoptSpec,
}

/// The rolling deadline of each machine is `now + renewInterval + slack`, never later than the lease's end.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.slack > self.renewInterval").message("slack must be longer than renewInterval, or one late renewal deletes a machine"))]
#[x_kube(validation = Rule::new("!has(self.grace) || (self.grace >= duration('0s') && self.grace + self.grace <= self.slack)").message("grace must not be negative, nor longer than half of slack"))]
pub struct WatchdogSpec {
    /// How often the deadline is moved ahead while the controller lives. At least 10 s.
    #[serde(default = "one_minute")]
    #[schemars(extend("format" = "duration"), regex(pattern = DURATION), length(max = 32))]
    #[x_kube(validation = Rule::new("self >= duration('10s')").message("renewInterval must be at least 10s"))]
    pub renew_interval: String,

    /// How long an outage of the control plane may last: one that lasts longer deletes every machine of this
    /// lease. Longer than `renewInterval`, at most 24 h.
    #[serde(default = "ten_minutes")]
    #[schemars(extend("format" = "duration"), regex(pattern = DURATION), length(max = 32))]
    #[x_kube(validation = Rule::new("self <= duration('24h')").message("slack must be at most 24h"))]
    pub slack: String,

    /// With less than this left, which means that renewals have stopped or the lease ends, a machine cordons its own
    /// Node and evicts its own pods. At most half of `slack`. Without it: 2 m, or half of `slack` where that is less.
    /// `0s`: it moves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "duration"), regex(pattern = DURATION), length(max = 32))]
    pub grace: Option<String>,
}

/// Which Nodes the lease holds.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdoptSpec {
    /// Labels that a Node must have, all of them. Control-plane Nodes are never held. Cannot be changed: the
    /// machines of the old selector would be left without a lease. A Node that loses a label is let go as
    /// `onRelease` says.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 16))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("nodeSelector cannot be changed: create another lease"))]
    pub node_selector: BTreeMap<String, String>,

    /// What becomes of the machines when the lease ends or is deleted. `Expire`: nothing more is written, each
    /// follows its last deadline and is gone. `Keep`: the deadline is taken back and the machines stay (and cost);
    /// until then it rolls past the lease's end, since at the end it must still be ahead.
    #[serde(default)]
    pub on_release: OnRelease,
}

/// What becomes of the machines of a lease that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnRelease {
    /// They follow their last deadline.
    #[default]
    Expire,
    /// They stay: the word `none` is written over the deadline.
    Keep,
}

// Unset top-level fields are written as null, which a merge patch takes as their removal.
/// What is. Written by the controller only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults)]
pub struct CapacityLeaseStatus {
    /// When the controller took the lease on; `duration` counts from here. The API server's time.
    pub accepted_at: Option<Time>,
    /// When the lease ends.
    pub expires_at: Option<Time>,
    /// When the last machine was let go or its Node was gone. Final: a released lease holds nothing any more.
    pub released_at: Option<Time>,
    /// For people only; nothing depends on it.
    // A phase of a newer controller must not make the lease unreadable for this one.
    #[serde(deserialize_with = "known_phase")]
    pub phase: Option<Phase>,
    /// Machines held.
    pub node_count: Option<i32>,
    /// Machines that will delete themselves, and can, of all machines: `2/3`.
    pub armed: Option<String>,
    /// The machines, by name. One whose Node is gone stays listed.
    pub nodes: Vec<NodeStatus>,
    /// `Accepted`, `DeadlinesWritten`, `WatchdogArmed`, `NodeConflict`, `NodesSkipped`.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// One machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults)]
pub struct NodeStatus {
    /// Name of the Node.
    pub name: String,
    /// The Node's `spec.providerID`.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// The deadline on the Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// When the machine itself says it will be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fires_at: Option<Time>,
    /// Whether it will, and can.
    pub armed: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The Node is gone from the cluster.
    #[serde(skip_serializing_if = "is_false")]
    pub gone: bool,
}

/// What an absent field of a status means is for its reader to say: an API server that fills it in would say it for the
/// controller. kube-apiserver 1.20 also refuses a definition with an empty text as a default.
fn without_defaults(schema: &mut Schema) {
    let properties = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut);
    for property in properties.into_iter().flatten().filter_map(|(_, property)| property.as_object_mut()) {
        property.remove("default");
    }
}

/// For display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Not accepted yet, or its terms cannot be kept.
    Pending,
    /// Deadlines are renewed.
    Active,
    /// Ended; its machines are not all gone.
    Expired,
    /// Over.
    Released,
}

impl Default for WatchdogSpec {
    fn default() -> Self {
        Self { renew_interval: one_minute(), slack: ten_minutes(), grace: None }
    }
}

fn known_phase<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Phase>, D::Error> {
    let word = serde_json::Value::deserialize(from)?;
    Ok(serde_json::from_value(word).unwrap_or_default())
}

fn one_minute() -> String {
    "1m".into()
}

fn ten_minutes() -> String {
    "10m".into()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// What `curfew_contract::duration` reads and `format: duration` of the API server takes too (it would also take
/// `1 day`). No sign: nothing here may be negative.
const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt;

    use super::*;
    use crate::print_crd;

    #[test]
    fn nothing_is_filled_into_a_status() {
        let definition = serde_json::to_value(CapacityLease::crd()).unwrap();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        assert!(schema["status"]["properties"]["nodes"].is_object());
        assert!(!schema["status"].to_string().contains("\"default\""), "{}", schema["status"]);
    }

    #[test]
    fn deploy_holds_the_crd_that_the_program_prints() {
        let committed = include_str!("../../deploy/crd.yaml");
        assert_eq!(print_crd().unwrap(), committed, "run: curfew-controller crd > deploy/crd.yaml");
    }

    #[test]
    fn a_lease_needs_no_more_than_a_duration_and_a_selector() {
        let spec: CapacityLeaseSpec =
            serde_json::from_str(r#"{"duration":"8h","adopt":{"nodeSelector":{"pool":"burst"}}}"#).unwrap();
        assert_eq!(spec.watchdog, WatchdogSpec::default());
        assert_eq!(spec.adopt.on_release, OnRelease::Expire);
    }

    #[test]
    fn a_phase_of_a_newer_controller_leaves_the_lease_readable() {
        let status = |phase: &str| {
            serde_json::from_str::<CapacityLeaseStatus>(&format!(r#"{{"phase":{phase}}}"#)).unwrap().phase
        };
        assert_eq!((status("\"Draining\""), status("null")), (None, None));
        assert_eq!(status("\"Active\""), Some(Phase::Active));
    }

    #[test]
    fn an_unset_field_of_the_status_is_removed_by_the_patch() {
        let patch = serde_json::to_value(CapacityLeaseStatus::default()).unwrap();
        assert!(patch["releasedAt"].is_null() && patch.get("releasedAt").is_some());
    }
}
