//! Which calls are due, of all leases. Pure.

use std::sync::Arc;

use curfew_provider::ServerId;
use jiff::Timestamp;

use super::{
    plan::{Course, Next, Step, next, removal},
    slot::Slot,
};
use crate::{
    clock::Reading,
    cloud::Account,
    observe::{Lease, World},
    pass::Plan,
    status::whole,
};

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Name, UID and generation of the lease that the decision was made from.
    pub(crate) lease: String,
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) machine: Machine,
    pub(crate) step: Step,
    /// The reason for a deletion is not persisted: the lease must be read again first.
    pub(crate) confirm: bool,
    pub(crate) account: Arc<Account>,
}

/// What a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// A slot's.
    Slot(u32),
    /// One that no slot owns.
    Stray(ServerId),
}

/// A call that is due, or when the next is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due<'a> {
    pub(super) lease: &'a Lease,
    pub(super) machine: Machine,
    pub(super) next: Next,
    /// See [`Job::confirm`].
    pub(super) confirm: bool,
}

/// The calls that are due, of those for which `which` holds.
pub(super) fn plan(world: &World, reading: Reading, which: impl Fn(Step) -> bool) -> Plan<Job> {
    let mut plan = Plan::empty();
    for Due { lease, machine, next, confirm } in due(world, reading) {
        match next {
            Next::Do(step) if which(step) => {
                let Some(account) = account(lease, world) else { continue };
                let key = format!("{}/{machine:?}/{}", lease.name, step.kind());
                let Lease { name, uid, generation, .. } = lease;
                let (lease, uid, generation) = (name.clone(), uid.clone(), *generation);
                let account = Arc::clone(account);
                plan.jobs.push((key, Job { lease, uid, generation, machine, step, confirm, account }));
            }
            Next::Wake(at) => plan.wake_at(Some(at)),
            Next::Do(_) | Next::Rest => {}
        }
    }
    let ends = world.leases.values().filter(|lease| lease.rents()).filter_map(|lease| world.end(lease));
    for end in ends.filter_map(|end| reading.uptime_at(end)).filter(|end| *end > reading.up) {
        plan.wake_at(Some(end));
    }
    plan
}

/// What is next for every machine of every lease that rents.
pub(super) fn due(world: &World, reading: Reading) -> Vec<Due<'_>> {
    let mut due = Vec::new();
    let Some(now) = reading.now.filter(|_| world.listed()) else { return due };
    for lease in world.leases.values().filter(|lease| lease.rents() && lease.status.released_at.is_none()) {
        let Some(course) = Course::of(lease, world, now) else { continue };
        for slot in world.slots(lease) {
            let (machine, confirm) = (Machine::Slot(slot.number), !slot.is_releasing());
            due.push(Due { lease, machine, next: next(&slot, course, now, reading), confirm });
        }
        for id in world.strays(lease, now).into_keys() {
            let known = lease.strays.get(&id).cloned().unwrap_or_default();
            let next = removal(id, &known, reading);
            due.push(Due { lease, machine: Machine::Stray(id), next, confirm: true });
        }
    }
    due
}

/// A lease whose terms cannot be read any more still has its machines; those are found by whoever can reach them.
fn account<'a>(lease: &Lease, world: &'a World) -> Option<&'a Arc<Account>> {
    world.providers.get(lease.provider()?)?.account.as_ref()
}

impl Course {
    /// What the lease asks at `now`, once it is accepted.
    pub(super) fn of(lease: &Lease, world: &World, now: Timestamp) -> Option<Self> {
        let (end, expiry) = (world.end(lease)?, whole(world.expiry(lease)?).0);
        let told = lease.status.expires_at.as_ref().is_some_and(|told| told.0 <= expiry);
        let later =
            |slot: &Slot<'_>| slot.node.and_then(|node| node.deadline(now)).is_some_and(|at| at > expiry);
        let shortened = told && !world.slots(lease).iter().any(later);
        Some(Self { end, expiry, shortened, finalized: lease.finalized() })
    }
}
