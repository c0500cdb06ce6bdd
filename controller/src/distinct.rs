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
    let is_held = |node: &&Node| world.leases.values().any(|lease| world.holds(lease, node, now));
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

/// From a Node's annotations, those by which an overlay network finds it.
pub(crate) fn overlay(annotations: &BTreeMap<String, String>) -> Vec<(&'static str, String)> {
    let mac = annotations.get(FLANNEL).and_then(|data| {
        let data: serde_json::Value = serde_json::from_str(data).ok()?;
        Some((FLANNEL, data["VtepMAC"].as_str()?.to_owned()))
    });
    let addresses = TUNNELS.iter().filter_map(|key| Some((*key, annotations.get(*key)?.trim().to_owned())));
    mac.into_iter().chain(addresses).filter(|(_, value)| !value.is_empty()).collect()
}

/// An identifier that means something: firmware that was never told its own says nothing, or zeros.
pub(crate) fn identifier(text: &str) -> Option<String> {
    let means = text.bytes().any(|b| b.is_ascii_hexdigit() && b != b'0') && text != "Not Settable";
    means.then(|| text.to_lowercase())
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

/// `VtepMAC` within is the hardware address of the Node's end of the tunnel. Source: flannel, vxlan backend.
const FLANNEL: &str = "flannel.alpha.coreos.com/backend-data";
/// Sources: Calico, `projectcalico.org` Node annotations; Cilium, `pkg/annotation`, present and former names.
const TUNNELS: [&str; 6] = [
    "projectcalico.org/IPv4IPIPTunnelAddr",
    "projectcalico.org/IPv4VXLANTunnelAddr",
    "projectcalico.org/IPv6VXLANTunnelAddr",
    "projectcalico.org/IPv4WireguardInterfaceAddr",
    "network.cilium.io/ipv4-cilium-host",
    "io.cilium.network.ipv4-cilium-host",
];

#[cfg(test)]
mod tests;
