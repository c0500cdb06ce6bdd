//! Orphan Nodes: of a lease that is over, of a machine that is gone. They cost nothing; they stay away from nobody's pods.
//!
//! A Node goes only when every provider that could have its machine answers, asked for that very id, that there is none.
//! A provider that cannot be asked keeps it: it fails towards an object too many.

use std::sync::Arc;

use curfew_contract::label;
use curfew_provider::ServerId;
use tracing::{info, warn};

use super::plan::Leases;
use crate::{
    apply::Cluster,
    cloud::{Account, Urgency},
    event::{Events, Notice},
    observe::{Node, World},
    shared::Shared,
};

/// A Node that may be one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Suspect {
    name: String,
    uid: String,
    provider_id: String,
    lease: String,
}

/// Removes those whose machines are proven absent.
pub(super) async fn remove_orphans(shared: &Shared, cluster: &Cluster, events: &Events, leases: &Leases) {
    let (suspects, accounts) = shared.with(|world, _| (suspects(world, leases), accounts(world)));
    // Half of the accounts proves nothing.
    let Some(accounts) = accounts else { return };
    for suspect in suspects.into_iter().take(AT_MOST) {
        let Suspect { name, uid, provider_id, lease } = &suspect;
        if !absent(&accounts, provider_id).await {
            continue;
        }
        match cluster.delete_node(name, uid).await {
            Ok(()) => {
                info!(node = name, provider_id, lease, "orphan Node removed: lease and machine are gone");
                events.publish(Notice::orphan_removed(name, uid, lease));
            }
            Err(failure) if failure.is_gone() || failure.is_conflict() => {}
            Err(failure) => warn!(node = name, error = failure.line(), "orphan Node not removed"),
        }
    }
}

/// Nodes of leases that are over, whose machines no provider has listed.
fn suspects(world: &World, leases: &Leases) -> Vec<Suspect> {
    let lives =
        |name: &str| leases.values().any(|lease| lease.name == name && lease.status.released_at.is_none());
    let suspect = |node: &Node| {
        let lease = node.labels.get(label::LEASE).filter(|lease| !lives(lease))?;
        let provider_id = node.provider_id().filter(|id| !listed(world, id))?;
        Some(Suspect {
            name: node.name.clone(),
            uid: node.uid.clone(),
            provider_id: provider_id.into(),
            lease: lease.clone(),
        })
    };
    world.nodes.values().filter_map(suspect).collect()
}

fn listed(world: &World, provider_id: &str) -> bool {
    world.providers.values().any(|provider| {
        let id = provider.account.as_ref().and_then(|account| account.driver().server_id(provider_id));
        let servers = provider.servers.as_ref().map(|listed| &listed.servers);
        id.zip(servers).is_some_and(|(id, servers)| servers.contains_key(&id))
    })
}

/// Of every provider that is configured; `None` if one of them has none.
fn accounts(world: &World) -> Option<Vec<Arc<Account>>> {
    world.providers.values().map(|provider| provider.account.clone()).collect()
}

async fn absent(accounts: &[Arc<Account>], provider_id: &str) -> bool {
    let asked: Vec<(&Arc<Account>, ServerId)> = accounts
        .iter()
        .filter_map(|account| Some((account, account.driver().server_id(provider_id)?)))
        .collect();
    for (account, id) in &asked {
        if !account.read(*id, Urgency::Look).await.is_err_and(|error| error.is_gone()) {
            return false;
        }
    }
    !asked.is_empty()
}

/// In one round. The others have time.
const AT_MOST: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixture::{node, world},
        sweep::fixture::{leases, released},
    };

    fn of_lease(name: &str, lease: Option<&str>, provider_id: Option<&str>) -> Node {
        let mut node = node(name, &[]);
        node.labels.extend(lease.map(|lease| (label::LEASE.to_owned(), lease.to_owned())));
        node.full =
            node.full.map(|full| crate::observe::Full { provider_id: provider_id.map(Into::into), ..full });
        node
    }

    #[test]
    fn only_a_node_of_a_lease_that_is_over_is_suspected() {
        let nodes = [
            of_lease("lives", Some("a"), Some("hcloud://1")),
            of_lease("released", Some("b"), Some("hcloud://2")),
            of_lease("gone", Some("c"), Some("hcloud://3")),
            of_lease("adopted", None, Some("hcloud://4")),
            of_lease("unknown", Some("c"), None),
        ];
        let leases = leases(&["a"]).into_iter().chain(released("b")).collect();
        let found = suspects(&world([], nodes), &leases);
        assert_eq!(found.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["gone", "released"]);
    }

    #[test]
    fn without_a_provider_nothing_is_proven() {
        assert!(accounts(&world([], [])).is_some_and(|accounts| accounts.is_empty()));
        let mut one = world([], []);
        one.providers.insert("hetzner".into(), crate::observe::Provider::default());
        assert!(accounts(&one).is_none(), "one that cannot be asked keeps every Node");
    }
}
