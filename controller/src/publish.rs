//! Shows what is known: conditions on Nodes, status and finalizer of leases, events. Renewal never waits for it.

use std::{fmt, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::NodeCondition;
use tracing::{debug, info, warn};

use crate::{
    apply::{Cluster, Failure},
    clock::{Reading, Uptime},
    condition::{judge, to_write},
    crd::{CapacityLeaseStatus, Phase},
    distinct,
    event::{self, Events},
    observe::{Lease, Node, World},
    pass::{Plan, drive},
    release::residue,
    rent,
    shared::Shared,
    status::{self, Difference},
};

/// One thing to write.
#[derive(Clone, Debug)]
pub(crate) enum Publication {
    /// `WatchdogArmed` on a Node.
    Condition { node: Box<Node>, condition: Box<NodeCondition> },
    /// A lease's status.
    Status { lease: Box<Lease>, status: Box<CapacityLeaseStatus>, telling: bool },
    /// Whether the deletion of a lease waits for us.
    Finalizer { lease: Box<Lease>, hold: bool },
}

/// Publishes, for ever.
pub(crate) async fn run(shared: Arc<Shared>, cluster: Cluster, events: Events) {
    let act = {
        let shared = Arc::clone(&shared);
        move |publication: Publication| {
            let (shared, cluster, events) = (Arc::clone(&shared), cluster.clone(), events.clone());
            async move { report(&shared, &events, &publication, write(&cluster, &publication).await) }
        }
    };
    drive(shared, plan, act).await;
}

/// What does not say what is.
pub(crate) fn plan(world: &World, reading: Reading) -> Plan<Publication> {
    let mut plan = Plan::empty();
    let Some(now) = reading.now.filter(|_| world.listed()) else { return plan };
    for node in world.nodes.values().filter(|node| world.concerns(node)) {
        let judgement = judge(node, reading);
        plan.wake_at(judgement.until);
        if let Some(condition) = to_write(node, &judgement, now) {
            let (node, condition) = (Box::new(node.clone()), Box::new(condition));
            plan.jobs.push((format!("node/{}", node.name), Publication::Condition { node, condition }));
        }
    }
    let twins = distinct::twins(world, now);
    for lease in world.leases.values() {
        let key = format!("lease/{}", lease.name);
        if let Some(hold) = finalizer(lease, world, reading, now) {
            plan.jobs.push((key, Publication::Finalizer { lease: Box::new(lease.clone()), hold }));
        } else if let Some(status) = status::of(lease, world, &twins, reading) {
            match status::difference(&lease.status, &status) {
                Difference::Same => {}
                Difference::Rolling if !due(lease, reading.up) => {
                    plan.wake_at(lease.written.map(|at| at.after(ROLLING)));
                }
                difference => {
                    let telling = difference == Difference::Telling;
                    let (lease, status) = (Box::new(lease.clone()), Box::new(status));
                    plan.jobs.push((key, Publication::Status { lease, status, telling }));
                }
            }
        }
        plan.wake_at(world.end(lease).filter(|end| *end > now).and_then(|end| reading.uptime_at(end)));
    }
    plan
}

/// Whether our finalizer must be set or taken off. A deletion never waits longer than the last deadline could
/// have lasted: by then there is nothing left to take back. That of a lease that rents waits until its machines are gone,
/// for ever: without it nobody would know of them but the sweepers.
fn finalizer(lease: &Lease, world: &World, reading: Reading, now: Timestamp) -> Option<bool> {
    let finalized = lease.finalized();
    let rents = || {
        lease.status.accepted_at.is_some()
            || rent::verdict(lease, world).is_some_and(|verdict| verdict.is_ok())
    };
    let keeps = lease.status.released_at.is_none() && (lease.keeps() || (lease.rents() && rents()));
    let Some(asked) = lease.deleting else {
        return (finalized != keeps && lease.broken.is_none()).then_some(keeps);
    };
    if lease.rents() {
        let done = || status::let_go(lease, world, now) && residue::was_told(lease, reading);
        return (finalized && done()).then_some(false);
    }
    let watchdog = world.watchdog(lease);
    let longest = watchdog.renew_interval() + watchdog.slack();
    let done = !keeps || now.duration_since(asked) > longest || status::let_go(lease, world, now);
    (finalized && done).then_some(false)
}

fn due(lease: &Lease, up: Uptime) -> bool {
    lease.written.is_none_or(|at| up.since(at) >= ROLLING)
}

async fn write(cluster: &Cluster, publication: &Publication) -> Result<(), Failure> {
    match publication {
        Publication::Condition { node, condition } => cluster.write_condition(node, condition).await,
        Publication::Status { lease, status, .. } => cluster.write_status(lease, status).await,
        Publication::Finalizer { lease, hold } => cluster.finalize(lease, *hold).await,
    }
}

fn report(shared: &Shared, events: &Events, done: &Publication, result: Result<(), Failure>) -> bool {
    if let Err(failure) = result {
        if !failure.is_conflict() && !failure.is_gone() {
            warn!(what = done.to_string(), error = failure.line(), "not published; it will be tried again");
        }
        return false;
    }
    if matches!(done, Publication::Status { telling: false, .. }) {
        debug!(what = done.to_string(), "published");
    } else {
        info!(what = done.to_string(), "published");
    }
    match done {
        Publication::Condition { node, condition } => {
            if let Some(notice) = event::of_node(node, condition) {
                events.publish(notice);
            }
            let known = |world: &mut World, _: Reading| {
                let known = world.nodes.get_mut(&node.name).filter(|known| known.uid == node.uid);
                if let Some(full) = known.and_then(|known| known.full.as_mut()) {
                    full.condition = Some((**condition).clone());
                }
            };
            shared.change(known);
        }
        Publication::Status { lease, status, .. } => {
            for notice in event::of_lease(lease, status) {
                events.publish(notice);
            }
            shared.change(|world, reading| {
                if let Some(known) = world.leases.get_mut(&lease.name).filter(|known| known.uid == lease.uid)
                {
                    known.written = Some(reading.up);
                    rent::attempted(known, &lease.status.instances, &status.instances);
                }
            });
        }
        Publication::Finalizer { lease, hold: false } if lease.deleting.is_some() => {
            events.publish(event::Notice::released(lease));
        }
        Publication::Finalizer { .. } => {}
    }
    true
}

/// For the log.
impl fmt::Display for Publication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition { node, condition } => {
                let reason = condition.reason.as_deref().unwrap_or_default();
                write!(f, "node {}: {}={} {reason}", node.name, condition.type_, condition.status)
            }
            Self::Status { lease, status, .. } => {
                let armed = status.armed.as_deref().unwrap_or_default();
                write!(f, "lease {}: {:?}, armed {armed}", lease.name, status.phase.unwrap_or(Phase::Pending))
            }
            Self::Finalizer { lease, hold } => write!(f, "lease {}: finalizer {hold}", lease.name),
        }
    }
}

/// Times that move with each renewal are shown this often at most.
const ROLLING: SignedDuration = SignedDuration::from_secs(10);
