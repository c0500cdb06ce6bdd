//! A provider: servers by id, names that are unique, and answers that come, or do not.

use std::collections::{BTreeMap, BTreeSet};

use curfew_contract::label;
use curfew_provider::{ActionId, NotCreated, Outcome, Progress, Server, ServerId, ServerStatus};
use jiff::Timestamp;
use proptest::prelude::*;

use super::controller::{Controller, Store};
use crate::{
    fixture::secs,
    rent::{
        jobs::Machine,
        learnt::Heard,
        name,
        plan::{Search, Step},
        slot::{is_of, slot_of},
    },
};

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// It is carried out, and the answer is lost.
    Lost,
    /// It arrives only later, and the answer is lost.
    Late,
    /// It is not carried out.
    Refused,
    /// There will never be such a server.
    OutOfStock,
    /// The server's creation ends in an error.
    Fails,
    /// It is accepted, and comes to nothing.
    Hollow,
    Locked,
}

pub(super) fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        8 => Just(Fault::None),
        2 => Just(Fault::Lost),
        1 => Just(Fault::Late),
        1 => Just(Fault::Refused),
        1 => Just(Fault::OutOfStock),
        1 => Just(Fault::Fails),
        1 => Just(Fault::Hollow),
        1 => Just(Fault::Locked),
    ]
}

/// The provider.
#[derive(Default)]
pub(super) struct Cloud {
    last: u64,
    /// With whether its creation fails.
    pub(super) servers: BTreeMap<ServerId, (Server, bool)>,
    /// Whose Node is Ready.
    pub(super) ready: BTreeSet<ServerId>,
    /// Orders that are still on their way.
    late: Vec<(Timestamp, Server)>,
}

impl Cloud {
    /// What has been on its way arrives.
    pub(super) fn arrivals(&mut self, now: Timestamp) {
        let (due, late) = std::mem::take(&mut self.late).into_iter().partition(|(at, _)| *at <= now);
        self.late = late;
        let due: Vec<(Timestamp, Server)> = due;
        for (_, server) in due {
            drop(self.take(server, false));
        }
    }

    pub(super) fn nth(&self, n: usize) -> Option<ServerId> {
        self.servers.keys().nth(n).copied()
    }

    pub(super) fn is_healthy(&self, id: ServerId) -> bool {
        self.servers.get(&id).is_some_and(|(_, fails)| !fails)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.late.is_empty()
    }

    pub(super) fn vanish(&mut self, id: ServerId) {
        self.servers.remove(&id);
        self.ready.remove(&id);
    }

    fn take(&mut self, mut server: Server, fails: bool) -> Result<Server, NotCreated> {
        if self.servers.values().any(|(other, _)| other.name == server.name) {
            return Err(NotCreated::NameTaken);
        }
        self.last += 1;
        server.id = ServerId::try_from(self.last).unwrap();
        self.servers.insert(server.id, (server.clone(), fails));
        Ok(server)
    }

    /// Carries a call out. The request is on its way already: what is checked before is not checked here.
    pub(super) fn call(
        &mut self,
        store: &Store,
        machine: Machine,
        step: Step,
        fault: Fault,
        now: Timestamp,
        by: &Controller,
    ) -> Heard {
        let failed = || Heard::Failed("no answer".into());
        match (step, machine) {
            (Step::Create, Machine::Slot(slot)) => self.create(store, slot, fault, now),
            (Step::Adopt(id), _) => by.listed(id).map_or_else(failed, found),
            (Step::Find(search), Machine::Slot(slot)) => match fault {
                Fault::Refused | Fault::Lost => failed(),
                _ => self.find(store, slot, search),
            },
            _ if matches!(fault, Fault::Refused | Fault::Late) => failed(),
            (Step::Delete(id), _) => self.delete(id, fault),
            (Step::Label(id, until), _) => {
                if let Some((server, _)) = self.servers.get_mut(&id) {
                    server.labels.insert(label::EXPIRES_AT.into(), until.as_second().to_string());
                }
                if fault == Fault::Lost { failed() } else { self.read(id) }
            }
            (Step::Poll(id, Some(_)), _) => match self.servers.get(&id) {
                Some((_, true)) => {
                    Heard::Progress(Progress::Failed { code: "x".into(), message: "y".into() })
                }
                Some(_) if fault == Fault::Locked => Heard::Progress(Progress::Running),
                Some(_) => Heard::Progress(Progress::Done),
                None => Heard::Gone,
            },
            (Step::Poll(id, None) | Step::Look(id) | Step::Confirm(id), _) => self.read(id),
            (Step::Create | Step::Find(_), Machine::Stray(_)) => {
                unreachable!("nothing is ordered for a stray")
            }
        }
    }

    fn create(&mut self, store: &Store, slot: u32, fault: Fault, now: Timestamp) -> Heard {
        let order = server(store, slot, now);
        match fault {
            Fault::Refused => return Heard::NotCreated(NotCreated::Refused(Outcome::Retry { after: None })),
            Fault::OutOfStock => return Heard::NotCreated(NotCreated::OutOfStock),
            Fault::Late => {
                self.late.push((now + secs(9), order));
                return Heard::Unanswered("time-out".into());
            }
            _ => {}
        }
        match self.take(order, fault == Fault::Fails) {
            Err(not) => Heard::NotCreated(not),
            Ok(_) if fault == Fault::Lost => Heard::Unanswered("reset".into()),
            Ok(server) => {
                let Heard::Server { server, provider_id, .. } = found(server) else { unreachable!() };
                Heard::Server { server, provider_id, action: ActionId::try_from(1).ok() }
            }
        }
    }

    fn find(&self, store: &Store, slot: u32, search: Search) -> Heard {
        let ours = |server: &&Server| is_of(server, &store.lease) && slot_of(server) == Some(slot);
        let all = self.servers.values().map(|(server, _)| server);
        all.clone().find(ours).map_or(Heard::Nothing(search), |server| found(server.clone()))
    }

    fn read(&self, id: ServerId) -> Heard {
        let read = |(server, fails): &(Server, bool)| {
            let status = if *fails { ServerStatus::Initializing } else { ServerStatus::Running };
            Heard::Read(Box::new(Server { status, ..server.clone() }))
        };
        self.servers.get(&id).map_or(Heard::Gone, read)
    }

    fn delete(&mut self, id: ServerId, fault: Fault) -> Heard {
        if !self.servers.contains_key(&id) {
            return Heard::Gone;
        }
        let (carried_out, heard) = match fault {
            Fault::Locked => (false, Heard::Deleted(Outcome::Locked, None)),
            Fault::Hollow => (false, Heard::Deleted(Outcome::Accepted, None)),
            Fault::Lost => (true, Heard::Failed("reset".into())),
            _ => (true, Heard::Deleted(Outcome::Accepted, None)),
        };
        if carried_out {
            self.vanish(id);
        }
        heard
    }
}

fn found(server: Server) -> Heard {
    Heard::Server { provider_id: format!("hcloud://{}", server.id), server: Box::new(server), action: None }
}

fn server(store: &Store, slot: u32, now: Timestamp) -> Server {
    let (lease, expiry) = (&store.lease, store.end().unwrap_or(now));
    let labels = [
        (label::MANAGED_BY, label::CURFEW.to_owned()),
        (label::LEASE, lease.name.clone()),
        (label::LEASE_UID, lease.uid.clone()),
        (label::SLOT, slot.to_string()),
        (label::EXPIRES_AT, expiry.as_second().to_string()),
    ];
    Server {
        id: ServerId::try_from(1).unwrap(),
        name: name::of(&lease.name, &lease.uid, slot),
        created: Some(now),
        labels: labels.map(|(key, value)| (key.to_owned(), value)).into(),
        public_ipv4: None,
        private_ipv4: vec![],
        protected: false,
        size: "cpx22".into(),
        region: "fsn1".into(),
        status: ServerStatus::Initializing,
        attached: curfew_provider::Attached::default(),
    }
}
