//! The conditions about what machines leave behind, and about machines that are one. Pure.

use curfew_provider::Price;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::Said;
use crate::{
    clock::Reading,
    crd::{CapacityLeaseStatus, Instance, Residue},
    distinct::Twins,
    observe::{Lease, Node, World},
    release::{record, residue},
};

/// `ResidueFree`; none as long as no machine is gone, or it is not known yet what it left behind: what was said stands.
pub(super) fn residue_free(
    lease: &Lease,
    instances: &[Instance],
    left: &[Residue],
    reading: Reading,
) -> Option<Said> {
    let said = |holds, reason, message: String| Some(Said::new(RESIDUE_FREE, holds, reason, message));
    let held: Vec<_> = instances.iter().flat_map(|instance| &instance.volume_attachments).collect();
    if !left.is_empty() {
        let also = if held.is_empty() { String::new() } else { format!("; and {}", attached(&held)) };
        return said(false, "ResidueLeft", format!("{}{also}", bill(left)));
    }
    if !held.is_empty() {
        return said(false, "VolumeAttachmentsLeft", attached(&held));
    }
    let gone = instances.iter().any(|instance| crate::release::absent(instance).is_some());
    let known = gone && residue::is_known(lease, reading);
    known
        .then(|| Said::new(RESIDUE_FREE, true, "NothingLeft", "no machine that is gone left anything behind"))
}

fn attached(names: &[&String]) -> String {
    let first = names.first().map(|name| name.as_str()).unwrap_or_default();
    format!("{} VolumeAttachments outlived their machines, first {first}", names.len())
}

/// What is left, and what it costs together.
fn bill(left: &[Residue]) -> String {
    let each: Vec<_> = left.iter().map(named).collect();
    let price = |residue: &Residue| {
        let (amount, currency) = residue.monthly.as_deref()?.split_once(' ')?;
        Some((amount.parse::<Price>().ok()?, currency.to_owned()))
    };
    let prices: Vec<_> = left.iter().filter_map(price).collect();
    let sum = prices.iter().try_fold(Price::ZERO, |sum, (price, _)| sum.checked_add(*price));
    let total = match (sum, prices.first()) {
        (Some(sum), Some((_, currency))) if prices.len() == left.len() => format!("{sum} {currency} a month"),
        (Some(sum), Some((_, currency))) => format!("at least {sum} {currency} a month"),
        _ => "an unknown sum a month".into(),
    };
    format!("costs {total} until somebody deletes it at the provider: {}", each.join(", "))
}

fn named(residue: &Residue) -> String {
    let name = residue.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    let monthly = residue.monthly.as_deref().map(|monthly| format!(", {monthly}")).unwrap_or_default();
    format!("{} {}{name}{monthly}", residue.kind, residue.id)
}

/// `MachinesDistinct`, once the lease holds a machine.
pub(super) fn machines_distinct(held: &[&Node], twins: &[Twins<'_>]) -> Option<Said> {
    let said = |holds, reason, message: String| Some(Said::new(MACHINES_DISTINCT, holds, reason, message));
    if held.is_empty() {
        return None;
    }
    let ours: Vec<_> =
        twins.iter().filter(|twins| held.iter().any(|node| twins.nodes.contains(&&*node.name))).collect();
    let Some(first) = ours.first() else {
        return said(true, "AllDistinct", "no two Nodes claim one identity or address".into());
    };
    let more = if ours.len() > 1 { format!(" (and {} more)", ours.len() - 1) } else { String::new() };
    let why = "the image was taken of a machine that had joined, or carries its identity";
    said(false, "SharedIdentity", format!("{first}{more}: {why}; their traffic and logs are mixed up"))
}

/// What still changes once a lease is over: what its machines left behind.
pub(super) fn after_release(
    lease: &Lease,
    world: &World,
    reading: Reading,
    now: Timestamp,
) -> CapacityLeaseStatus {
    let instances = record(lease, world, lease.status.instances.clone(), reading);
    let residue = residue::left(lease);
    let said = residue_free(lease, &instances, &residue, reading).map(|said| said.since(lease, now));
    let mut conditions = lease.status.conditions.clone();
    if let Some(said) = said {
        conditions.retain(|condition| condition.type_ != said.type_);
        conditions.push(said);
    }
    CapacityLeaseStatus { instances, residue, conditions, ..lease.status.clone() }
}

/// `conditions`, and of the last status what they do not speak of: `ResidueFree` while it is being looked up.
pub(super) fn standing(lease: &Lease, mut conditions: Vec<Condition>) -> Vec<Condition> {
    let stands = lease.status.conditions.iter().filter(|old| old.type_ == RESIDUE_FREE);
    let stands = stands.filter(|old| conditions.iter().all(|new| new.type_ != old.type_)).cloned();
    let stands: Vec<_> = stands.collect();
    conditions.extend(stands);
    conditions
}

/// `ResidueFree`: nothing outlived the machines that are gone.
pub(crate) const RESIDUE_FREE: &str = "ResidueFree";
/// `MachinesDistinct`: no two Nodes claim one identity or address.
pub(crate) const MACHINES_DISTINCT: &str = "MachinesDistinct";

#[cfg(test)]
mod tests;
