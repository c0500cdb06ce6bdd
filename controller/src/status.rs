//! What a lease's status should say. Pure.

mod ended;
mod nodes;
mod rent;
mod said;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use ended::{machines_distinct, residue_free};
use nodes::nodes;
use said::{Said, accepted, deadlines_written, node_conflict, nodes_skipped, watchdog_armed};

pub(crate) use ended::{MACHINES_DISTINCT, RESIDUE_FREE};

use crate::{
    clock::Reading,
    cost,
    crd::{CapacityLeaseStatus, Phase},
    distinct::Twins,
    hold::{Stage, Wish},
    observe::{Lease, Node, World},
    release::{is_cleared, record, residue},
    rent::{instances, is_over, verdict},
};

pub(crate) use rent::{DEGRADED, EXPIRY_CLAMPED, INSTANCES_READY, PROVIDER_GONE};
pub(crate) use said::{ACCEPTED, DEADLINES_WRITTEN, NODE_CONFLICT, NODES_SKIPPED, WRITE_FAILED};

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
    let instances = record(lease, world, instances, reading);
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
        [ready, rent::expiry_clamped(lease, world), rent::degraded(lease, world, &instances)]
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
        return is_over(lease, world, now) && is_cleared(lease, world, now);
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

const fn phase(stage: Stage, over: bool) -> Phase {
    match stage {
        Stage::Pending => Phase::Pending,
        Stage::Running(_) => Phase::Active,
        Stage::Ended(_) if !over => Phase::Expired,
        Stage::Ended(_) | Stage::Released => Phase::Released,
    }
}

/// `Time` is written in whole seconds; kept so from the start, what is read back equals what was written.
pub(crate) fn whole(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}

#[cfg(test)]
mod tests;
