//! Whose Node and whose server is whose, found out once for all leases: with a thousand of each, a pass must not look at
//! every one of them for every lease. Pure.

use std::collections::BTreeMap;

use curfew_contract::label;
use curfew_provider::Server;

use super::slot::{Slot, is_of};
use crate::observe::{Lease, Listed, Node, World};

/// What says that it is a lease's.
#[derive(Clone, Debug, Default)]
pub(super) struct Census<'a> {
    /// By the lease's name.
    nodes: BTreeMap<&'a str, Vec<&'a Node>>,
    /// By the lease's UID.
    servers: BTreeMap<&'a str, Vec<&'a Server>>,
}

/// What concerns one lease.
#[derive(Clone, Debug, Default)]
pub(super) struct Concern<'a> {
    pub(super) nodes: Vec<&'a Node>,
    /// That are listed, and say they are the lease's.
    pub(super) servers: Vec<&'a Server>,
    pub(super) list: Option<&'a Listed>,
}

impl<'a> Census<'a> {
    pub(super) fn of(world: &'a World) -> Self {
        let mut census = Self::default();
        for node in world.nodes.values() {
            if let Some(lease) = node.labels.get(label::LEASE) {
                census.nodes.entry(lease).or_default().push(node);
            }
        }
        let lists = world.providers.values().filter_map(|provider| provider.servers.as_ref());
        for server in lists.flat_map(|list| list.servers.values()) {
            if let Some(uid) = server.labels.get(label::LEASE_UID) {
                census.servers.entry(uid).or_default().push(server);
            }
        }
        census
    }

    /// What concerns this lease.
    pub(super) fn concern(&self, lease: &Lease, world: &'a World) -> Concern<'a> {
        let list = world.listed_for(lease);
        let listed = |server: &&&Server| list.is_some_and(|list| list.servers.contains_key(&server.id));
        let servers = self.servers.get(lease.uid.as_str()).into_iter().flatten();
        Concern {
            nodes: self.nodes.get(lease.name.as_str()).cloned().unwrap_or_default(),
            servers: servers.filter(|server| is_of(server, lease)).filter(listed).copied().collect(),
            list,
        }
    }
}

impl World {
    /// The provider's list of servers, as far as it concerns the lease.
    pub(super) fn listed_for(&self, lease: &Lease) -> Option<&Listed> {
        self.providers.get(lease.provider()?)?.servers.as_ref()
    }

    /// The machines of a lease, by slot: those in its status.
    pub(crate) fn slots<'a>(&'a self, lease: &'a Lease) -> Vec<Slot<'a>> {
        Census::of(self).concern(lease, self).slots(lease)
    }
}

impl<'a> Concern<'a> {
    /// The machines of the lease, by slot: those in its status.
    pub(super) fn slots(&self, lease: &'a Lease) -> Vec<Slot<'a>> {
        lease.status.instances.iter().map(|kept| Slot::of(kept, lease, self)).collect()
    }
}
