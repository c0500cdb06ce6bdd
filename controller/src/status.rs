//! What a lease's status should say. Pure.

mod ended;
mod rent;

use curfew_contract::{Assessment, annotation};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use ended::{machines_distinct, residue_free};

pub(crate) use ended::{MACHINES_DISTINCT, RESIDUE_FREE};

use crate::{
    clock::Reading,
    condition::{judge, words},
    cost,
    crd::{CapacityLeaseStatus, NodeStatus, Phase},
    distinct::Twins,
    hold::{Stage, Wish},
    observe::{Lease, Node, World},
    release::{is_cleared, record, residue},
    rent::{instances, is_over, verdict},
};

pub(crate) use rent::{DEGRADED, EXPIRY_CLAMPED, INSTANCES_READY};

/// How far a status is from the one that was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// None.
    Same,
    /// Only times that move with each renewal.
    Rolling,
    /// Something that a person or a program may wait for.
    Telling,
}

/// The status of `lease` as things stand.
pub(crate) fn of(
    lease: &Lease,
    world: &World,
    twins: &[Twins<'_>],
    reading: Reading,
) -> Option<CapacityLeaseStatus> {
    let now = reading.now?;
    if !world.listed() {
        return None;
    }
    if lease.status.released_at.is_some() {
        let rented = !lease.status.instances.is_empty();
        return rented.then(|| ended::after_release(lease, world, reading, now));
    }
    let verdict = verdict(lease, world);
    let taken =
        acceptable(lease) && verdict.as_ref().is_none_or(|verdict| verdict.is_ok() && lease.finalized());
    let accepted_at = lease.status.accepted_at.clone().or_else(|| taken.then(|| whole(now)));
    let chosen = || verdict.clone()?.ok().filter(|_| accepted_at.is_some());
    let selection = lease.status.selection.clone().or_else(chosen);
    let lease = &Lease {
        status: CapacityLeaseStatus { accepted_at, selection, ..lease.status.clone() },
        ..lease.clone()
    };
    let stage = world.stage(lease, now);
    let held: Vec<&Node> = world.nodes.values().filter(|node| is_listed(lease, node, world, now)).collect();
    let nodes = nodes(lease, &held, reading, now);
    let present = || nodes.iter().filter(|node| !node.gone);
    let (count, armed) = (present().count(), present().filter(|node| node.armed).count());
    let over = matches!(stage, Stage::Ended(_)) && lease.deleting.is_none() && let_go(lease, world, now);
    let instances = if lease.rents() { instances(lease, world, now, reading) } else { vec![] };
    let released_at = over.then(|| whole(now));
    let instances = record(lease, world, instances, now);
    let residue = residue::left(lease);
    let refusal = verdict.and_then(Result::err);
    let conditions = [
        refusal.as_ref().map_or_else(|| accepted(lease), rent::refused),
        deadlines_written(lease, &held, stage, now),
        watchdog_armed(&nodes),
        node_conflict(lease, &held, world, now),
        nodes_skipped(lease, world),
    ];
    let rented = lease.rents().then(|| {
        let ready = rent::instances_ready(lease, &instances);
        [ready, rent::expiry_clamped(lease, world), rent::degraded(&instances)]
    });
    let conditions = conditions.into_iter().chain(rented.into_iter().flatten());
    let conditions = conditions.chain(machines_distinct(&held, twins));
    let conditions = conditions.chain(residue_free(lease, &instances, &residue, reading));
    let conditions: Vec<_> = conditions.map(|said| said.since(lease, now)).collect();
    Some(CapacityLeaseStatus {
        accepted_at: lease.status.accepted_at.clone(),
        expires_at: rent::expires_at(lease, world, now),
        phase: Some(phase(stage, over)),
        released_at,
        node_count: i32::try_from(count).ok(),
        armed: Some(format!("{armed}/{count}")),
        nodes,
        ready_at: rent::ready_at(lease, &instances).filter(|_| lease.rents()),
        selection: lease.status.selection.clone(),
        cost: cost::of(lease, &instances, now),
        instances,
        residue,
        conditions: ended::standing(lease, conditions),
    })
}

/// Whether every machine of an ended lease is gone, or was told to stay.
pub(crate) fn let_go(lease: &Lease, world: &World, now: Timestamp) -> bool {
    if lease.rents() {
        return is_over(lease, world) && is_cleared(lease, world, now);
    }
    world.listed()
        && world.nodes.values().all(|node| {
            if !lease.keeps() {
                return !lease.lists(node);
            }
            let claims = world.claims(node, now);
            let ours = claims.iter().any(|claim| claim.lease.name == lease.name);
            let others = claims.iter().any(|claim| claim.wish != Wish::Free);
            !ours || others || node.deadline(now).is_none()
        })
}

/// Compares a status with the one that was written last.
pub(crate) fn difference(old: &CapacityLeaseStatus, new: &CapacityLeaseStatus) -> Difference {
    let blank = |status: &CapacityLeaseStatus| {
        let mut status = status.clone();
        for node in &mut status.nodes {
            let any = |time: &Option<Time>| time.as_ref().map(|_| Time(Timestamp::UNIX_EPOCH));
            (node.deadline, node.fires_at) = (any(&node.deadline), any(&node.fires_at));
        }
        status
    };
    if old == new {
        Difference::Same
    } else if blank(old) == blank(new) {
        Difference::Rolling
    } else {
        Difference::Telling
    }
}

fn acceptable(lease: &Lease) -> bool {
    let terms = lease.terms.as_ref().is_some_and(|terms| terms.problems.is_empty());
    terms && lease.broken.is_none() && lease.deleting.is_none()
}

/// A Node that left the selector stays listed until it has been let go.
fn is_listed(lease: &Lease, node: &Node, world: &World, now: Timestamp) -> bool {
    world.holds(lease, node, now)
        || (world.wish(lease, node, now) == Some(Wish::Free) && node.deadline(now).is_some())
}

fn nodes(lease: &Lease, held: &[&Node], reading: Reading, now: Timestamp) -> Vec<NodeStatus> {
    let mut nodes: Vec<_> = held.iter().map(|node| node_status(lease, node, reading, now)).collect();
    let gone = lease.status.nodes.iter().filter(|old| {
        old.provider_id.is_some()
            && !nodes.iter().any(|n| (&n.name, &n.provider_id) == (&old.name, &old.provider_id))
    });
    let gone = gone.map(|old| NodeStatus { gone: true, armed: false, reason: None, ..old.clone() });
    let gone: Vec<_> = gone.rev().take(GONE_LISTED).collect();
    nodes.extend(gone);
    nodes.sort_by(|a, b| (&a.name, &a.provider_id).cmp(&(&b.name, &b.provider_id)));
    nodes
}

fn node_status(lease: &Lease, node: &Node, reading: Reading, now: Timestamp) -> NodeStatus {
    let assessment = judge(node, reading).assessment;
    let beat = node.sighting.as_ref().and_then(|sighting| sighting.beat.as_ref().ok());
    let known = || lease.entry(node).and_then(|entry| entry.provider_id.as_deref());
    let provider_id = node.provider_id().or_else(known);
    NodeStatus {
        name: node.name.clone(),
        provider_id: provider_id.map(Into::into),
        deadline: node.deadline(now).map(whole),
        fires_at: beat.and_then(|beat| beat.fires_at).map(whole),
        armed: assessment == Assessment::Armed,
        reason: (assessment != Assessment::Armed).then(|| words(assessment).1.into()),
        gone: false,
    }
}

const fn phase(stage: Stage, over: bool) -> Phase {
    match stage {
        Stage::Pending => Phase::Pending,
        Stage::Running(_) => Phase::Active,
        Stage::Ended(_) if !over => Phase::Expired,
        Stage::Ended(_) | Stage::Released => Phase::Released,
    }
}

/// A condition before it has a date.
struct Said {
    type_: &'static str,
    holds: bool,
    reason: String,
    message: String,
}

impl Said {
    fn new(type_: &'static str, holds: bool, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { type_, holds, reason: reason.into(), message: message.into() }
    }

    /// Dates it: a condition that holds on keeps its date.
    fn since(self, lease: &Lease, now: Timestamp) -> Condition {
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

fn accepted(lease: &Lease) -> Said {
    let said = |holds, reason, message: String| Said::new(ACCEPTED, holds, reason, message);
    let problems = lease.terms.as_ref().map(|terms| terms.problems.join("; ")).unwrap_or_default();
    let on = if lease.status.accepted_at.is_some() { "; the lease runs on to the end it had" } else { "" };
    match &lease.broken {
        Some(error) => said(false, "InvalidObject", format!("the object cannot be read: {error}{on}")),
        None if !problems.is_empty() => said(false, "InvalidTerms", format!("{problems}{on}")),
        None => said(true, "Accepted", "the lease is kept".into()),
    }
}

fn deadlines_written(lease: &Lease, held: &[&Node], stage: Stage, now: Timestamp) -> Said {
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

fn watchdog_armed(nodes: &[NodeStatus]) -> Said {
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

fn node_conflict(lease: &Lease, held: &[&Node], world: &World, now: Timestamp) -> Said {
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

fn nodes_skipped(lease: &Lease, world: &World) -> Said {
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

/// `Time` is written in whole seconds; kept so from the start, what is read back equals what was written.
pub(crate) fn whole(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
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

/// Machines that are gone and still listed: the last few, since a status is not an archive.
const GONE_LISTED: usize = 16;

#[cfg(test)]
mod tests;
