//! The conditions of every lease. Pure.

use curfew_contract::annotation;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::whole;
use crate::{
    crd::NodeStatus,
    hold::Stage,
    observe::{Lease, Node, World},
};

/// A condition before it has a date.
pub(super) struct Said {
    pub(super) type_: &'static str,
    pub(super) holds: bool,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Said {
    pub(super) fn new(
        type_: &'static str,
        holds: bool,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { type_, holds, reason: reason.into(), message: message.into() }
    }

    /// Dates it: a condition that holds on keeps its date.
    pub(super) fn since(self, lease: &Lease, now: Timestamp) -> Condition {
        let status = if self.holds { "True" } else { "False" };
        let known = lease.status.conditions.iter().find(|known| known.type_ == self.type_);
        let since =
            known.filter(|known| known.status == status).map(|known| known.last_transition_time.clone());
        Condition {
            type_: self.type_.into(),
            status: status.into(),
            reason: self.reason,
            message: self.message,
            observed_generation: Some(lease.generation),
            last_transition_time: since.unwrap_or_else(|| whole(now)),
        }
    }
}

pub(super) fn accepted(lease: &Lease) -> Said {
    let said = |holds, reason, message: String| Said::new(ACCEPTED, holds, reason, message);
    let problems = lease.terms.as_ref().map(|terms| terms.problems.join("; ")).unwrap_or_default();
    let on = if lease.status.accepted_at.is_some() { "; the lease runs on to the end it had" } else { "" };
    match &lease.broken {
        Some(error) => said(false, "InvalidObject", format!("the object cannot be read: {error}{on}")),
        None if !problems.is_empty() => said(false, "InvalidTerms", format!("{problems}{on}")),
        None => said(true, "Accepted", "the lease is kept".into()),
    }
}

pub(super) fn deadlines_written(lease: &Lease, held: &[&Node], stage: Stage, now: Timestamp) -> Said {
    let said = |holds, reason, message: String| Said::new(DEADLINES_WRITTEN, holds, reason, message);
    let of = held.len();
    let first = |which: &dyn Fn(&Node) -> bool| {
        let mut found = held.iter().filter(|node| which(node));
        found.next().map(|node| (*node, 1 + found.count()))
    };
    if matches!(stage, Stage::Pending) {
        return said(false, "NotAccepted", "no deadline is written for a lease that is not accepted".into());
    }
    if held.is_empty() {
        let why =
            if lease.rents() { "no Node has joined yet" } else { "no Node matches spec.adopt.nodeSelector" };
        return said(false, "NoNodes", why.into());
    }
    if let Some((node, n)) = first(&|node| node.write_error.is_some()) {
        let error = node.write_error.as_deref().unwrap_or_default();
        return said(false, WRITE_FAILED, format!("{n} of {of} nodes: {}: {error}", node.name));
    }
    if let Some((node, n)) = first(&|node| node.full.as_ref().is_some_and(|full| full.provider_id.is_none()))
    {
        let why = "has no spec.providerID yet: does a cloud controller manager run, or the kubelet's --provider-id?";
        return said(false, "ProviderIDMissing", format!("{n} of {of} nodes: {} {why}", node.name));
    }
    match first(&|node| node.deadline(now).is_none()) {
        Some((node, n)) => said(false, "NotWritten", format!("{n} of {of} nodes: {} has none", node.name)),
        None => said(true, "Written", format!("{of} of {of} nodes")),
    }
}

pub(super) fn watchdog_armed(nodes: &[NodeStatus]) -> Said {
    let said =
        |holds, reason: &str, message: String| Said::new(annotation::WATCHDOG_ARMED, holds, reason, message);
    let present: Vec<_> = nodes.iter().filter(|node| !node.gone).collect();
    let of = present.len();
    let Some(worst) = present.iter().find(|node| !node.armed) else {
        return match of {
            0 => said(false, "NoNodes", "the lease holds no machine".into()),
            _ => said(true, "Armed", format!("{of} of {of} nodes will delete themselves")),
        };
    };
    let reason = worst.reason.clone().unwrap_or_default();
    let same = present.iter().filter(|node| node.reason.as_ref() == Some(&reason)).count();
    said(
        false,
        &reason,
        format!("{same} of {of} nodes: {reason}, first {}; see the Node's condition", worst.name),
    )
}

pub(super) fn node_conflict(lease: &Lease, held: &[&Node], world: &World, now: Timestamp) -> Said {
    let shared = held.iter().find_map(|node| {
        let other =
            world.leases.values().find(|other| other.name != lease.name && world.holds(other, node, now))?;
        Some((node, other))
    });
    match shared {
        None => Said::new(NODE_CONFLICT, false, "NoConflict", "no other lease holds a Node of this one"),
        Some((node, other)) => {
            let message = format!("{} is held by {} too: the earlier deadline counts", node.name, other.name);
            Said::new(NODE_CONFLICT, true, "HeldTwice", message)
        }
    }
}

pub(super) fn nodes_skipped(lease: &Lease, world: &World) -> Said {
    let mut skipped = world.nodes.values().filter(|node| node.is_control_plane() && lease.selects(node));
    match skipped.next() {
        None => Said::new(NODES_SKIPPED, false, "NoneSkipped", "every matching Node is held"),
        Some(node) => {
            let of = 1 + skipped.count();
            let message = format!("control-plane Nodes are never held: {of} skipped, first {}", node.name);
            Said::new(NODES_SKIPPED, true, "ControlPlane", message)
        }
    }
}

/// `Accepted`: the terms can be kept, and are.
pub(crate) const ACCEPTED: &str = "Accepted";
/// `DeadlinesWritten`: every machine has been told when to be gone.
pub(crate) const DEADLINES_WRITTEN: &str = "DeadlinesWritten";
/// Reason of `DeadlinesWritten`: the API server did not take one.
pub(crate) const WRITE_FAILED: &str = "WriteFailed";
/// `NodeConflict`: another lease holds a Node of this one.
pub(crate) const NODE_CONFLICT: &str = "NodeConflict";
/// `NodesSkipped`: Nodes that match are not held.
pub(crate) const NODES_SKIPPED: &str = "NodesSkipped";
