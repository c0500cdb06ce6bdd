//! What has become of a lease.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Instance, Strategy, known, without_defaults};

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
    /// When every machine that was rented was Ready: the time of the last Node to become so.
    pub ready_at: Option<Time>,
    /// When the last machine was let go or its Node was gone. Final: a released lease holds nothing any more.
    pub released_at: Option<Time>,
    /// For people only; nothing depends on it.
    #[serde(deserialize_with = "known")]
    pub phase: Option<Phase>,
    /// Machines held.
    pub node_count: Option<i32>,
    /// Machines that will delete themselves, and can, of all machines: `2/3`.
    pub armed: Option<String>,
    /// The machines, by name. One whose Node is gone stays listed.
    pub nodes: Vec<NodeStatus>,
    /// Which size was chosen to meet `spec.rent.requirements`, and why.
    pub selection: Option<Selection>,
    /// What the machines have cost so far, as the provider bills it, without its taxes.
    pub cost: Option<Cost>,
    /// The machines that were rented, by slot. One that is gone stays listed, with its receipt.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["slot"]))]
    pub instances: Vec<Instance>,
    /// What is left of the machines at the provider, and goes on costing: volumes, addresses, load balancers.
    pub residue: Vec<Residue>,
    /// `Accepted`, `DeadlinesWritten`, `WatchdogArmed`, `NodeConflict`, `NodesSkipped`. Of a lease that rents also
    /// `InstancesReady`, `ExpiryClamped`, `ResidueFree`, `MachinesDistinct`, `Degraded`.
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

/// How a size was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults)]
pub struct Selection {
    /// As asked for. None: the size was named.
    #[serde(deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The size that is rented.
    pub chosen: String,
    /// Price of one machine an hour, in `currency`, without taxes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hourly: Option<String>,
    /// The most that one machine costs a month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly: Option<String>,
    /// Currency of the prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The size that came second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<String>,
    /// The sizes that do not do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<Rejected>,
}

/// A size that does not do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults)]
pub struct Rejected {
    /// Its name.
    pub size: String,
    /// Why not.
    pub reason: String,
}

/// An amount of money.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults)]
pub struct Cost {
    /// Machine hours billed, every started one in full.
    #[schemars(with = "i64", range(min = 0))]
    pub hours: u64,
    /// A decimal number.
    pub amount: String,
    /// Its currency.
    pub currency: String,
}

/// Something that outlived a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults)]
pub struct Residue {
    /// `Volume`, `PrimaryIP`, `FloatingIP`, `LoadBalancer`.
    pub kind: String,
    /// Its number at the provider.
    #[schemars(with = "i64", range(min = 0))]
    pub id: u64,
    /// Its name at the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it costs a month, with the currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly: Option<String>,
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
const fn is_false(value: &bool) -> bool {
    !*value
}
