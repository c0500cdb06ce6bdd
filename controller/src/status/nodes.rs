//! The machines of a lease, as its status lists them. Pure.

use curfew_contract::Assessment;
use jiff::Timestamp;

use super::whole;
use crate::{
    clock::Reading,
    condition::{judge, words},
    crd::NodeStatus,
    observe::{Lease, Node},
};

pub(super) fn nodes(lease: &Lease, held: &[&Node], reading: Reading, now: Timestamp) -> Vec<NodeStatus> {
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

/// Machines that are gone and still listed: the last few, since a status is not an archive.
const GONE_LISTED: usize = 16;
