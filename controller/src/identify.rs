//! Reads the full Node where the metadata is not enough: its providerID, the condition that stands, and, as long as a
//! machine that was rented is waited for, whether it is Ready.

use std::sync::Arc;

use curfew_contract::label;
use jiff::SignedDuration;
use tracing::warn;

use crate::{
    apply::Cluster,
    clock::Reading,
    observe::{Node, World},
    pass::{Plan, drive},
    shared::Shared,
};

/// Identifies, for ever.
pub(crate) async fn run(shared: Arc<Shared>, cluster: Cluster) {
    let act = {
        let shared = Arc::clone(&shared);
        move |node: String| {
            let (shared, cluster) = (Arc::clone(&shared), cluster.clone());
            async move { read(&shared, &cluster, &node).await }
        }
    };
    drive(shared, plan, act).await;
}

/// Nodes that concern us and were not read yet, or had no providerID when they were; and those that are waited for, each
/// time that they have changed.
fn plan(world: &World, reading: Reading) -> Plan<String> {
    let due = |node: &&Node| {
        // The sweep wants to know the machine of a Node whose lease is gone.
        let rented = node.labels.contains_key(label::LEASE);
        let unknown = node.provider_id().is_none() && (rented || world.concerns(node));
        unknown
            || (awaited(node, world) && node.full.as_ref().is_some_and(|full| full.version != node.version))
    };
    let due = world.nodes.values().filter(due);
    let jobs: Vec<_> = due.map(|node| (node.name.clone(), node.name.clone())).collect();
    let wake = (!jobs.is_empty()).then(|| reading.up.after(AGAIN));
    Plan { jobs, wake }
}

/// Whether a lease that rents waits for it to be Ready, if it is what it says.
fn awaited(node: &Node, world: &World) -> bool {
    let lease = node.labels.get(label::LEASE).and_then(|lease| world.leases.get(lease));
    let rents = lease.is_some_and(|lease| lease.rents() && lease.status.released_at.is_none());
    rents && node.full.as_ref().is_none_or(|full| full.ready_since.is_none())
}

/// Done means that it need not be asked again.
async fn read(shared: &Shared, cluster: &Cluster, name: &str) -> bool {
    let (uid, full) = match cluster.node(name).await {
        Ok(answer) => answer,
        Err(failure) => {
            if !failure.is_gone() {
                warn!(node = name, error = failure.line(), "node not read; it will be tried again");
            }
            return false;
        }
    };
    let known = full.provider_id.is_some();
    let keep = |world: &mut World, _: Reading| {
        if let Some(node) = world.nodes.get_mut(name).filter(|node| node.uid == uid) {
            node.full = Some(full);
        }
    };
    shared.change(keep);
    known
}

const AGAIN: SignedDuration = SignedDuration::from_secs(5);
