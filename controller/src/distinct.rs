//! Two Nodes that are one machine, or believe it: one machine-id, one system UUID, one address. Pure.
//!
//! An image that was taken of a machine that had joined carries its identity along. Such Nodes overwrite each other's
//! routes, leases and logs, and the fault looks like a bad network. Shown at once; nothing is done about it.

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;

use crate::observe::{Node, World};

/// What two Nodes must never share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark<'a> {
    /// `status.nodeInfo.machineID`.
    MachineId(&'a str),
    /// `status.nodeInfo.systemUUID`.
    SystemUuid(&'a str),
    /// An `InternalIP`.
    Address(&'a str),
    /// One of `spec.podCIDRs`.
    PodCidr(&'a str),
    /// Annotation and value by which an overlay network finds the Node.
    Overlay(&'a str, &'a str),
}

/// Two Nodes share a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Twins<'a> {
    pub(crate) mark: Mark<'a>,
    /// By name, at least two.
    pub(crate) nodes: Vec<&'a str>,
}

/// Every mark that two Nodes share which are held, by whichever leases.
pub(crate) fn twins(world: &World, now: Timestamp) -> Vec<Twins<'_>> {
    let mut bearers: BTreeMap<Mark<'_>, Vec<&Node>> = BTreeMap::new();
    for node in world.nodes.values() {
        for mark in marks(node) {
            bearers.entry(mark).or_default().push(node);
        }
    }
    // A machine that is gone may have left its address to the next one before its Node is deleted.
    let is_held = |node: &&Node| world.leases.values().any(|lease| lease.holds(node, now));
    let shared = bearers.into_iter().filter(|(_, nodes)| nodes.len() > 1).map(|(mark, nodes)| {
        let nodes = nodes.into_iter().filter(is_held).map(|node| &*node.name).collect();
        Twins { mark, nodes }
    });
    shared.filter(|twins| twins.nodes.len() > 1).collect()
}

/// Everything a Node should have for itself.
fn marks(node: &Node) -> impl Iterator<Item = Mark<'_>> {
    let full = node.full.iter().flat_map(|full| {
        let machine = full.machine_id.as_deref().map(Mark::MachineId);
        let system = full.system_uuid.as_deref().map(Mark::SystemUuid);
        let addresses = full.internal_ips.iter().map(|address| Mark::Address(address));
        let cidrs = full.pod_cidrs.iter().map(|cidr| Mark::PodCidr(cidr));
        machine.into_iter().chain(system).chain(addresses).chain(cidrs)
    });
    full.chain(node.overlay.iter().map(|(key, value)| Mark::Overlay(key, value)))
}

impl fmt::Display for Mark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MachineId(id) => write!(f, "machine-id {id}"),
            Self::SystemUuid(id) => write!(f, "system UUID {id}"),
            Self::Address(address) => write!(f, "InternalIP {address}"),
            Self::PodCidr(cidr) => write!(f, "pod CIDR {cidr}"),
            Self::Overlay(key, value) => write!(f, "{key} {value}"),
        }
    }
}

impl fmt::Display for Twins<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} have one {}", self.nodes.join(", "), self.mark)
    }
}

#[cfg(test)]
mod tests;
