//! The whole of renting in one process, without sockets or clocks: two controllers, an API server and a provider, and
//! everything that may go wrong between them, in any order. After every event it is checked what must never be.
//!
//! The controllers are the real ones as far as they are pure: what is due, what is published. The shell around them is
//! played here, and takes the same precautions as the real one.

mod cloud;
mod controller;

use std::collections::BTreeSet;

use jiff::Timestamp;
use proptest::prelude::*;

use self::{
    cloud::{Cloud, Fault},
    controller::{Controller, Store},
};
use super::{Reason, jobs::Machine, plan::Step};
use crate::{
    clock::Reading,
    crd::Instance,
    fixture::{NOW, reading, secs},
};

/// What may happen.
#[derive(Clone, Debug)]
enum Event {
    /// Time passes.
    Pass(i64),
    /// A controller sees the lease as it is.
    Watch(usize),
    /// A controller lists the provider's servers.
    List(usize),
    /// A controller writes what it has to say; whether it hears that it was written.
    Publish {
        who: usize,
        heard: bool,
    },
    /// A controller makes one of the calls that are due.
    Call {
        who: usize,
        which: usize,
        fault: Fault,
    },
    /// A controller is killed and started again.
    Crash(usize),
    /// A machine's Node becomes Ready.
    Ready(usize),
    /// A person deletes a server.
    Lost(usize),
    /// A person edits the lease.
    Duration(i64),
    Replicas(u32),
    Delete,
}

struct Sim {
    second: i64,
    store: Store,
    cloud: Cloud,
    controllers: [Controller; 2],
    /// Slots that were given back since the lease was over: that is final, though it may be extended afterwards.
    ended: BTreeSet<u32>,
}

impl Sim {
    fn new() -> Self {
        let store = Store::new(REPLICAS, "20m");
        let controllers = [store.controller(), store.controller()];
        Self { second: 0, store, cloud: Cloud::default(), controllers, ended: BTreeSet::new() }
    }

    fn reading(&self) -> Reading {
        reading(self.second)
    }

    fn now(&self) -> Timestamp {
        NOW + secs(self.second)
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Pass(span) => {
                self.second += span;
                self.cloud.arrivals(self.now());
            }
            Event::Watch(who) => self.controllers[who].watch(&self.store),
            Event::List(who) => self.controllers[who].list(&self.cloud, reading(self.second)),
            Event::Publish { who, heard } => {
                let before = self.store.lease.status.instances.clone();
                self.controllers[who].publish(&mut self.store, reading(self.second), heard);
                before.iter().for_each(|before| self.may_give_up(before));
            }
            Event::Call { who, which, fault } => self.call(who, which, fault),
            Event::Crash(who) => {
                self.controllers[who] = self.store.controller().with_nodes_of(&self.controllers[who])
            }
            Event::Ready(which) => self.ready(which),
            Event::Lost(which) => {
                // One that no status names yet cannot be told from one that never was: another may come in its place.
                let id = self.cloud.nth(which).filter(|id| self.store.names(*id));
                id.into_iter().for_each(|id| self.cloud.vanish(id));
            }
            Event::Duration(minutes) => {
                self.store.edit(|spec| spec["duration"] = format!("{minutes}m").into())
            }
            Event::Replicas(replicas) => self.store.lower(replicas),
            Event::Delete => self.store.delete(self.now()),
        }
        self.nodes_of_what_is_gone();
        self.check();
    }

    fn call(&mut self, who: usize, which: usize, fault: Fault) {
        let due = self.controllers[who].due(self.reading());
        let Some((machine, step, confirm)) = due.get(which % due.len().max(1)).copied() else { return };
        match step {
            Step::Create if !self.store.wants(machine, self.now()) => return,
            Step::Delete(_) => {
                if confirm && !self.controllers[who].confirms(&self.store) {
                    return;
                }
                self.may_delete(machine);
            }
            _ => {}
        }
        if let (Step::Create, Machine::Slot(slot)) = (step, machine) {
            self.store.assert_attempted(slot);
            assert!(self.store.end().is_none_or(|end| self.now() < end), "ordered after the end");
        }
        let heard = self.cloud.call(&self.store, machine, step, fault, self.now(), &self.controllers[who]);
        self.controllers[who].hear(machine, heard, self.reading());
    }

    /// Before the end only what is of no use, or what no slot owns, and only for a reason that is persisted.
    fn may_delete(&self, machine: Machine) {
        let Machine::Slot(slot) = machine else { return };
        if self.store.end().is_none_or(|end| end <= self.now()) {
            return;
        }
        let instance = self.store.instance(slot);
        assert!(instance.is_some_and(|instance| instance.releasing.is_some()), "deleted for no reason");
    }

    /// A machine that works is not given up.
    fn may_give_up(&self, before: &Instance) {
        let now = self.store.instance(before.slot).and_then(|instance| instance.releasing.as_deref());
        let newly = now.filter(|reason| before.releasing.is_none() && Reason::is_loss(reason));
        let works = self.cloud.ready.iter().any(|id| before.provider_id == Some(format!("hcloud://{id}")));
        assert!(newly.is_none() || !works, "a healthy machine is given up: {newly:?}");
    }

    fn ready(&mut self, which: usize) {
        let Some(id) = self.cloud.nth(which).filter(|id| self.cloud.is_healthy(*id)) else { return };
        let created = self.cloud.servers[&id].0.created.unwrap_or(NOW);
        // One that joins too late may be given back.
        if self.now().duration_since(created) < super::slot::LAUNCH && self.cloud.ready.insert(id) {
            self.controllers.iter_mut().for_each(|controller| controller.join(id, self.second));
        }
    }

    /// The cloud's own controller removes the Nodes of servers that are gone.
    fn nodes_of_what_is_gone(&mut self) {
        let there: BTreeSet<_> = self.cloud.servers.keys().copied().collect();
        self.controllers.iter_mut().for_each(|controller| controller.leave(&there));
    }

    fn check(&mut self) {
        for instance in &self.store.lease.status.instances {
            let over = [Reason::Ended, Reason::Deleted].map(|reason| Some(reason.as_str()));
            if over.contains(&instance.releasing.as_deref()) && self.ended.insert(instance.slot) {
                assert!(self.store.end().is_some_and(|end| end <= self.now()), "given back before the end");
            }
        }
        let slots: Vec<_> =
            self.cloud.servers.values().filter_map(|(server, _)| super::slot::slot_of(server)).collect();
        let distinct: BTreeSet<_> = slots.iter().collect();
        assert_eq!(slots.len(), distinct.len(), "two servers for one slot: {slots:?}");
        if self.store.is_over() {
            assert!(self.cloud.is_empty(), "released while servers are there: {:?}", self.cloud.servers);
        }
    }

    /// From now on nothing goes wrong any more.
    fn settle(&mut self) {
        for _ in 0..SETTLED_WITHIN {
            for who in 0..2 {
                self.happen(&Event::Watch(who));
                self.happen(&Event::List(who));
                for which in 0..2 * REPLICAS as usize {
                    self.happen(&Event::Call { who, which, fault: Fault::None });
                }
                self.happen(&Event::Publish { who, heard: true });
            }
            self.happen(&Event::Pass(20));
            if self.store.is_over() {
                return;
            }
        }
        panic!("never released: {:#?}\n{:#?}", self.store.lease.status.instances, self.cloud.servers);
    }
}

fn event() -> impl Strategy<Value = Event> {
    let who = || 0..2_usize;
    prop_oneof![
        4 => (1_i64..20).prop_map(Event::Pass),
        1 => (20_i64..400).prop_map(Event::Pass),
        6 => who().prop_map(Event::Watch),
        3 => who().prop_map(Event::List),
        6 => (who(), prop::bool::weighted(0.8)).prop_map(|(who, heard)| Event::Publish { who, heard }),
        12 => (who(), 0..8_usize, cloud::fault()).prop_map(|(who, which, fault)| Event::Call { who, which, fault }),
        1 => who().prop_map(Event::Crash),
        2 => (0..4_usize).prop_map(Event::Ready),
        1 => (0..4_usize).prop_map(Event::Lost),
        1 => (1_i64..60).prop_map(Event::Duration),
        1 => (1..=REPLICAS).prop_map(Event::Replicas),
        1 => Just(Event::Delete),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_each_slot_has_one_machine_at_most_and_all_are_given_back(
        events in prop::collection::vec(event(), 0..160)
    ) {
        let mut sim = Sim::new();
        events.iter().for_each(|event| sim.happen(event));
        sim.settle();
    }
}

const REPLICAS: u32 = 2;
/// Rounds of 20 s: longer than any lease, and all that is waited for after it.
const SETTLED_WITHIN: usize = 400;
