//! Reads the full Node where the metadata is not enough: its providerID, and the condition that stands.

use std::sync::Arc;

use jiff::SignedDuration;
use tracing::warn;

use crate::{
    apply::Cluster,
    clock::Reading,
    observe::World,
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

/// Nodes that concern us and were not read yet, or had no providerID when they were.
fn plan(world: &World, reading: Reading) -> Plan<String> {
    let unknown = world.nodes.values().filter(|node| node.provider_id().is_none() && world.concerns(node));
    let jobs: Vec<_> = unknown.map(|node| (node.name.clone(), node.name.clone())).collect();
    let wake = (!jobs.is_empty()).then(|| reading.up.after(AGAIN));
    Plan { jobs, wake }
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
