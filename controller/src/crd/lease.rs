//! What a lease asks for.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CapacityLeaseStatus, DURATION, RentSpec, WatchdogSpec};

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
    validation = Rule::new("!has(self.spec.rent) || size(self.metadata.name) <= 63").message("the name of a lease that rents must have at most 63 characters: it becomes a label"),
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
#[x_kube(validation = Rule::new("has(self.adopt) != has(self.rent)").message("exactly one of adopt and rent must be set"))]
#[x_kube(validation = Rule::new("has(self.rent) == has(oldSelf.rent)").message("adopt and rent cannot be exchanged: create another lease"))]
#[x_kube(validation = Rule::new("!has(self.teardownGrace) || has(self.rent)").message("teardownGrace is for machines that are rented: those that are adopted have watchdog.grace"))]
pub struct CapacityLeaseSpec {
    /// For how long, counted from `status.acceptedAt`: `90m`, `8h`. From 5 s to 30 days. Edit it to extend or to
    /// shorten the lease; the deadline of every machine follows.
    #[schemars(extend("format" = "duration"), regex(pattern = DURATION), length(max = 32))]
    #[x_kube(validation = Rule::new("self >= duration('5s') && self <= duration('720h')").message("duration must be from 5s to 720h (30 days)"))]
    pub duration: String,

    /// How long before its end a rented lease begins to move pods away from its machines, all at once, 0 to 15 min.
    /// Without it: 2 m, or half of `duration` where that is less. `0s`: nothing is moved. Never waited for: at the end
    /// the machines are deleted. Deleting the lease brings its end forward to this long from then. Machines that are
    /// adopted move their own work, see `watchdog.grace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "duration"), regex(pattern = DURATION), length(max = 32))]
    #[x_kube(validation = Rule::new("self <= duration('15m')").message("teardownGrace must be from 0s to 15m"))]
    pub teardown_grace: Option<String>,

    /// How far ahead the deadline is written, and how often it is moved. Without it: what the `ProviderConfig` of a
    /// rented lease says, else renewInterval 1m and slack 10m. With it, nothing of the `ProviderConfig`'s is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WatchdogSpec")]
    pub watchdog: Option<WatchdogSpec>,

    /// Machines that someone else rents, and that consented by the label `curfew.dev/managed-by=curfew` at the
    /// provider. Either this or `rent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AdoptSpec")]
    pub adopt: Option<AdoptSpec>,

    /// Machines that this lease rents, and gives back. Nothing of it can be changed but `replicas`, which can only be
    /// lowered: for anything else create another lease. Either this or `adopt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RentSpec")]
    pub rent: Option<RentSpec>,
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
    /// until then it rolls past the lease's end, since at the end it must still be ahead. Without it: `Expire`.
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
