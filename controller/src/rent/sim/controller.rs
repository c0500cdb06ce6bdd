//! A controller as far as it is pure, with the shell around it played; and the API server's one lease.

use std::collections::BTreeSet;

use curfew_contract::label;
use curfew_provider::{Server, ServerId};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::cloud::Cloud;
use crate::{
    clock::Reading,
    crd::Instance,
    fixture::{NOW, lease, secs},
    observe::{Full, Lease, Listed, Node, World},
    provider::fixture::provider,
    publish::{Publication, plan},
    rent::{
        attempted,
        jobs::{Due, Machine, due},
        learnt::{Heard, Learnt},
        order::is_wanted,
        plan::{Next, Step},
    },
};

/// What the API server has.
pub(super) struct Store {
    pub(super) lease: Lease,
    spec: Value,
    replicas: u32,
    /// The object is gone.
    gone: bool,
}

impl Store {
    /// A lease that was accepted at [`NOW`], and whose finalizer is not written yet.
    pub(super) fn new(replicas: u32, duration: &str) -> Self {
        let rent = json!({ "providerRef": { "name": "hetzner" }, "region": "fsn1", "size": "cpx22", "replicas": replicas });
        let spec = json!({ "duration": duration, "teardownGrace": "30s", "rent": rent });
        let lease = lease("burst", duration, |object| {
            object["spec"] = spec.clone();
            object["metadata"]["uid"] = "8c5f1e02-77aa".into();
            object["status"]["selection"] = json!({ "chosen": "cpx22" });
        });
        Self { lease, spec, replicas, gone: false }
    }

    /// A controller that has just started.
    pub(super) fn controller(&self) -> Controller {
        let mut world = crate::fixture::world([], []);
        world.providers.insert("hetzner".into(), provider("hetzner"));
        world.attachments_listed = true;
        let mut controller = Controller { world };
        controller.watch(self);
        controller
    }

    /// A person edits the spec.
    pub(super) fn edit(&mut self, edit: impl FnOnce(&mut Value)) {
        edit(&mut self.spec);
        let name = self.lease.name.clone();
        let read = lease(&name, "1h", |object| object["spec"] = self.spec.clone());
        self.lease.terms = read.terms;
        self.lease.generation += 1;
        self.bump();
    }

    pub(super) fn lower(&mut self, replicas: u32) {
        if replicas < self.replicas {
            self.replicas = replicas;
            self.edit(|spec| spec["rent"]["replicas"] = replicas.into());
        }
    }

    pub(super) fn delete(&mut self, now: Timestamp) {
        if self.lease.deleting.is_none() {
            self.lease.deleting = Some(now);
            self.lease.generation += 1;
            self.gone = !self.lease.finalized();
            self.bump();
        }
    }

    fn bump(&mut self) {
        let version: u64 = self.lease.resource_version.parse().unwrap();
        self.lease.resource_version = (version + 1).to_string();
    }

    pub(super) fn instance(&self, slot: u32) -> Option<&Instance> {
        self.lease.status.instances.iter().find(|instance| instance.slot == slot)
    }

    /// Whether the status names this server.
    pub(super) fn names(&self, id: ServerId) -> bool {
        let name = format!("hcloud://{id}");
        self.lease.status.instances.iter().any(|instance| instance.provider_id.as_ref() == Some(&name))
    }

    /// When its machines are to be deleted.
    pub(super) fn end(&self) -> Option<Timestamp> {
        self.controller().world.end(&self.lease)
    }

    /// As the shell asks before an order.
    pub(super) fn wants(&self, machine: Machine, now: Timestamp) -> bool {
        let Machine::Slot(slot) = machine else { return false };
        !self.gone && is_wanted(&self.lease, slot) && self.end().is_some_and(|end| now < end)
    }

    pub(super) fn assert_attempted(&self, slot: u32) {
        assert!(self.lease.finalized(), "ordered without the finalizer");
        assert!(
            self.instance(slot).is_some_and(|known| known.attempted_at.is_some()),
            "ordered without an attempt"
        );
    }

    pub(super) fn is_over(&self) -> bool {
        self.gone || self.lease.status.released_at.is_some()
    }
}

/// One controller.
pub(super) struct Controller {
    world: World,
}

impl Controller {
    fn lease(&self) -> Option<&Lease> {
        self.world.leases.get("burst")
    }

    pub(super) fn with_nodes_of(mut self, other: &Self) -> Self {
        self.world.nodes.clone_from(&other.world.nodes);
        self
    }

    pub(super) fn watch(&mut self, store: &Store) {
        if store.gone {
            self.world.leases.clear();
            return;
        }
        let known = self.lease().cloned().unwrap_or_default();
        self.world.leases.insert("burst".into(), store.lease.clone().knowing(&known));
    }

    pub(super) fn list(&mut self, cloud: &Cloud, reading: Reading) {
        let servers = cloud.servers.iter().map(|(id, (server, _))| (*id, server.clone())).collect();
        let provider = self.world.providers.get_mut("hetzner").unwrap();
        provider.servers = Some(Listed { servers, at: reading.up });
    }

    pub(super) fn listed(&self, id: ServerId) -> Option<Server> {
        self.world.providers["hetzner"].servers.as_ref()?.servers.get(&id).cloned()
    }

    /// Writes what is to be written, if nobody was faster.
    pub(super) fn publish(&mut self, store: &mut Store, reading: Reading, heard: bool) {
        for (_, publication) in plan(&self.world, reading).jobs {
            let (lease, status) = match &publication {
                Publication::Status { lease, status, .. } => (lease, Some(status)),
                Publication::Finalizer { lease, .. } => (lease, None),
                Publication::Condition { .. } => continue,
            };
            if store.gone || lease.resource_version != store.lease.resource_version {
                continue;
            }
            if let Some(status) = status {
                store.lease.status = (**status).clone();
            }
            if let Publication::Finalizer { hold, .. } = publication {
                store.lease.finalizers = if hold { vec![crate::observe::FINALIZER.into()] } else { vec![] };
                store.gone = store.lease.deleting.is_some() && !hold;
            }
            store.bump();
            if let (true, Some(status), Some(known)) = (heard, status, self.world.leases.get_mut("burst")) {
                attempted(known, &lease.status.instances, &status.instances);
            }
        }
    }

    pub(super) fn due(&self, reading: Reading) -> Vec<(Machine, Step, bool)> {
        let step = |due: Due<'_>| match due.next {
            Next::Do(step) => Some((due.machine, step, due.confirm)),
            Next::Wake(_) | Next::Rest => None,
        };
        due(&self.world, reading).into_iter().filter_map(step).collect()
    }

    /// As the shell asks before a deletion.
    pub(super) fn confirms(&mut self, store: &Store) -> bool {
        let current =
            store.gone || self.lease().is_some_and(|known| known.generation == store.lease.generation);
        if !current {
            self.watch(store);
        }
        current
    }

    pub(super) fn hear(&mut self, machine: Machine, heard: Heard, reading: Reading) {
        let Some(lease) = self.world.leases.get_mut("burst") else { return };
        match machine {
            Machine::Slot(slot) => lease.learnt.entry(slot).or_default().hear(heard, reading.up, reading),
            Machine::Stray(id) => {
                let removal = lease.strays.remove(&id).unwrap_or_default();
                let mut learnt = Learnt { removal, ..Learnt::default() };
                learnt.hear(heard, reading.up, reading);
                lease.strays.insert(id, learnt.removal);
            }
        }
    }

    /// The Node of a server is Ready.
    pub(super) fn join(&mut self, id: ServerId, second: i64) {
        let full = Full {
            provider_id: Some(format!("hcloud://{id}")),
            ready_since: Some(NOW + secs(second)),
            ..Full::default()
        };
        let name = format!("node-{id}");
        let labels = [(label::LEASE.to_owned(), "burst".to_owned())].into();
        let node =
            Node { name: name.clone(), uid: name.clone(), labels, full: Some(full), ..Node::default() };
        self.world.nodes.insert(name, node);
    }

    pub(super) fn leave(&mut self, there: &BTreeSet<ServerId>) {
        let names: BTreeSet<_> = there.iter().map(|id| format!("node-{id}")).collect();
        self.world.nodes.retain(|name, _| names.contains(name));
    }
}
