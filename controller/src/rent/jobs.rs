//! Which calls are due, of all leases. Pure.

use std::sync::Arc;

use curfew_provider::ServerId;
use jiff::Timestamp;

use super::{
    learnt::Removal,
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

/// The calls that are due, of those for which `which` holds.
pub(crate) fn plan(world: &World, reading: Reading, which: impl Fn(Step) -> bool) -> Plan<Job> {
    let mut plan = Plan::empty();
    let Some(now) = reading.now.filter(|_| world.listed()) else { return plan };
    for lease in world.leases.values().filter(|lease| lease.rents() && lease.status.released_at.is_none()) {
        let Some((course, account)) = Course::of(lease, world, now).zip(account(lease, world)) else {
            continue;
        };
        plan.wake_at(reading.uptime_at(course.end).filter(|end| *end > reading.up));
        let mut add = |machine, next, confirm| match next {
            Next::Do(step) if which(step) => {
                let key = format!("{}/{machine:?}/{}", lease.name, step.kind());
                plan.jobs.push((key, job(lease, machine, step, confirm, account)));
            }
            Next::Wake(at) => plan.wake_at(Some(at)),
            Next::Do(_) | Next::Rest => {}
        };
        for slot in world.slots(lease) {
            let machine = Machine::Slot(slot.number);
            add(machine, next(&slot, course, now, reading), !slot.is_releasing());
        }
        for stray in world.strays(lease) {
            let nothing = Removal::default();
            let known = lease.strays.get(&stray.id).unwrap_or(&nothing);
            add(Machine::Stray(stray.id), removal(stray.id, known, reading), true);
        }
    }
    plan
}

/// A lease whose terms cannot be read any more still has its machines; those are found by whoever can reach them.
fn account<'a>(lease: &Lease, world: &'a World) -> Option<&'a Arc<Account>> {
    world.providers.get(lease.provider()?)?.account.as_ref()
}

fn job(lease: &Lease, machine: Machine, step: Step, confirm: bool, account: &Arc<Account>) -> Job {
    let Lease { name, uid, generation, .. } = lease;
    let (lease, uid, generation) = (name.clone(), uid.clone(), *generation);
    Job { lease, uid, generation, machine, step, confirm, account: Arc::clone(account) }
}

impl Course {
    /// What the lease asks at `now`, once it is accepted.
    fn of(lease: &Lease, world: &World, now: Timestamp) -> Option<Self> {
        let (end, expiry) = (world.end(lease)?, whole(world.expiry(lease)?).0);
        let told = lease.status.expires_at.as_ref().is_some_and(|told| told.0 <= expiry);
        let later =
            |slot: &Slot<'_>| slot.node.and_then(|node| node.deadline(now)).is_some_and(|at| at > expiry);
        let shortened = told && !world.slots(lease).iter().any(later);
        Some(Self { end, expiry, shortened, finalized: lease.finalized() })
    }
}
