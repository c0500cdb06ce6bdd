//! Moves work away before a machine is deleted: one job a Node, all Nodes at once, each bounded by its machine's end.
//!
//! Nothing waits for a drain: not the deletion, which comes at its time, not a renewal, not another Node. Only what the
//! controller deletes is drained by it; an adopted machine follows its last deadline, and its agent drains it.

use std::{sync::Arc, time::Duration};

use curfew_contract::label;
use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use tokio::time::timeout;
use tracing::{info, warn};

use super::{
    cordon::{Action, Cordon, cordon, decide, is_for, mark},
    pods::{Fate, Pod, SHORTEST, wait_after},
};
use crate::{
    apply::{Cluster, Failure},
    clock::{Reading, Uptime},
    crd::Instance,
    event::{Events, Notice},
    observe::{Lease, Node, World},
    pass::{Plan, drive},
    shared::Shared,
};

/// How far a Node's drain has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moving {
    /// No look before.
    again: Uptime,
    /// Pods whose eviction was refused, by uid, and when each may be tried again.
    put_off: Vec<(String, Uptime)>,
}

/// One look at a Node, and what follows from it.
#[derive(Clone, Debug)]
struct Round {
    node: String,
    uid: String,
    /// Name, UID and generation: read again before work is moved, since a view that lags must not empty a machine whose
    /// lease has just been extended.
    lease: (String, String, i64),
    /// `None`: it does not end yet, and our own cordon is taken off.
    end: Option<Timestamp>,
}

/// Drains, for ever.
pub(crate) async fn run(shared: Arc<Shared>, cluster: Cluster, events: Events) {
    let act = {
        let shared = Arc::clone(&shared);
        move |round: Round| {
            let (shared, cluster, events) = (Arc::clone(&shared), cluster.clone(), events.clone());
            async move { work(&shared, &cluster, &events, &round).await }
        }
    };
    drive(shared, plan, act).await;
}

/// The lease and the entry in its status whose machine this Node is, unless that is gone.
fn machine<'a>(world: &'a World, node: &Node) -> Option<(&'a Lease, &'a Instance)> {
    let lease = world.leases.get(node.labels.get(label::LEASE)?)?;
    lease
        .instance(node)
        .filter(|instance| super::absent(instance).is_none())
        .map(|instance| (lease, instance))
}

fn action(world: &World, lease: &Lease, node: &Node, now: Timestamp) -> Action {
    let Some(end) = world.end(lease) else { return Action::Rest(None) };
    let grace = lease.terms.as_ref().map_or(SignedDuration::ZERO, |terms| terms.teardown_grace);
    decide(end, grace, node.drained_for.is_some(), now)
}

fn plan(world: &World, reading: Reading) -> Plan<Round> {
    let mut plan = Plan::empty();
    let Some(now) = reading.now.filter(|_| world.listed()) else { return plan };
    for node in world.nodes.values() {
        let Some((lease, _)) = machine(world, node) else { continue };
        let end = match action(world, lease, node, now) {
            Action::Rest(until) => {
                plan.wake_at(until.and_then(|at| reading.uptime_at(at)));
                continue;
            }
            Action::Drain(end) => Some(end),
            Action::Undo => None,
        };
        if end.is_some() && node.moving.again > reading.up {
            plan.wake_at(Some(node.moving.again));
            continue;
        }
        let lease = (lease.name.clone(), lease.uid.clone(), lease.generation);
        let round = Round { node: node.name.clone(), uid: node.uid.clone(), lease, end };
        plan.jobs.push((node.name.clone(), round));
    }
    plan
}

async fn work(shared: &Shared, cluster: &Cluster, events: &Events, round: &Round) -> bool {
    let node = round.node.as_str();
    let Some(end) = round.end else {
        return match undo(cluster, round).await {
            Ok(()) => true,
            Err(failure) if failure.is_gone() || failure.is_conflict() => false,
            Err(failure) => {
                warn!(node, error = failure.line(), "our own cordon cannot be taken off yet");
                false
            }
        };
    };
    let left = |reading: Reading| reading.now.map_or(SignedDuration::ZERO, |now| end.duration_since(now));
    let longest = left(shared.clock.read()).max(SignedDuration::ZERO).unsigned_abs().min(LONGEST_ROUND);
    let pause = match timeout(longest, drain(shared, cluster, events, round, end)).await {
        Ok(Ok(pause)) => pause,
        Ok(Err(failure)) if failure.is_conflict() || failure.is_gone() => SHORTEST,
        Ok(Err(failure)) => {
            warn!(
                node,
                error = failure.line(),
                "work cannot be moved away yet; the machine goes at its time"
            );
            wait_after(failure.retry_after(), left(shared.clock.read()))
        }
        Err(_) => SHORTEST,
    };
    shared.change(|world, reading| {
        if let Some(known) = world.nodes.get_mut(node).filter(|known| known.uid == round.uid) {
            known.moving.again = after(reading.up, pause);
        }
    });
    true
}

/// Takes our own cordon off, if it is still there by then, and the lease still does not end.
async fn undo(cluster: &Cluster, round: &Round) -> Result<(), Failure> {
    let seen = cluster.cordoned(&round.node).await?;
    if seen.uid != round.uid || seen.mark.is_none() || !is_current(cluster, round).await? {
        return Ok(());
    }
    cluster.cordon(&round.node, &seen, None).await?;
    info!(node = round.node, "the end is no longer near: the Node takes work again");
    Ok(())
}

async fn drain(
    shared: &Shared,
    cluster: &Cluster,
    events: &Events,
    round: &Round,
    end: Timestamp,
) -> Result<Duration, Failure> {
    let node = round.node.as_str();
    let seen = cluster.cordoned(node).await?;
    if seen.uid != round.uid {
        return Ok(SHORTEST);
    }
    let begun = seen.mark.as_deref().is_some_and(|mark| is_for(mark, end));
    if !begun && !is_current(cluster, round).await? {
        return Ok(SHORTEST);
    }
    match cordon(seen.unschedulable, seen.mark.as_deref(), end) {
        Cordon::Stands => {}
        Cordon::Set => {
            cluster.cordon(node, &seen, Some(&mark(end))).await?;
            info!(node, end = mark(end), "cordoned: work is moved away before the machine is deleted");
            events.publish(Notice::draining(node, &round.uid, end));
        }
        Cordon::TakenBack => {
            warn!(node, "somebody has uncordoned the Node: for this end, no work is moved away");
            return Ok(EMPTY);
        }
    }
    let pods = cluster.pods(node).await?;
    let moves: Vec<_> = pods.iter().map(|pod| move_away(shared, cluster, round, end, pod)).collect();
    let pauses = stream::iter(moves);
    let pause = pauses.buffer_unordered(AT_ONCE).fold(EMPTY, |least, pause| async move { least.min(pause) });
    Ok(pause.await.max(SHORTEST))
}

async fn is_current(cluster: &Cluster, round: &Round) -> Result<bool, Failure> {
    let (lease, uid, generation) = &round.lease;
    cluster.is_unchanged(lease, uid, *generation).await
}

/// Asks for one pod's eviction, if it is to go and it is its turn. Returns when to look again.
async fn move_away(shared: &Shared, cluster: &Cluster, round: &Round, end: Timestamp, pod: &Pod) -> Duration {
    let turn = shared.with(|world, reading| turn(world, reading, round, end, pod));
    let period = match turn {
        Turn::Wait(pause) => return pause,
        Turn::Ask(period) => period,
    };
    let (node, namespace, name) = (round.node.as_str(), &pod.namespace, &pod.name);
    match cluster.evict(pod, period).await {
        Ok(()) => info!(node, namespace, name, period, "pod evicted"),
        Err(failure) if failure.is_gone() => {}
        Err(failure) if failure.is_conflict() => return SHORTEST,
        Err(failure) => {
            return shared.with(|world, reading| {
                let left = reading.now.map_or(SignedDuration::ZERO, |now| end.duration_since(now));
                let pause = wait_after(failure.retry_after(), left);
                let known = world.nodes.get_mut(node).filter(|known| known.uid == round.uid);
                if known.is_some_and(|known| known.moving.put_off(&pod.uid, after(reading.up, pause))) {
                    let error = failure.line();
                    warn!(node, namespace, name, error, "pod not evicted yet; it will be tried again");
                }
                pause
            });
        }
    }
    LEAVING
}

/// What to do about a pod now.
enum Turn {
    /// Ask for its eviction, with that period if not its own.
    Ask(Option<u32>),
    Wait(Duration),
}

/// Looks at the lease once more: it may have been extended since the round began.
fn turn(world: &World, reading: Reading, round: &Round, end: Timestamp, pod: &Pod) -> Turn {
    let node = world.nodes.get(&round.node).filter(|node| node.uid == round.uid);
    let (Some(node), Some(now)) = (node, reading.now) else { return Turn::Wait(SHORTEST) };
    let still = machine(world, node).map(|(lease, _)| action(world, lease, node, now));
    if still != Some(Action::Drain(end)) {
        return Turn::Wait(SHORTEST);
    }
    if let Some(left) = node.moving.left(&pod.uid, reading.up) {
        return Turn::Wait(left);
    }
    match pod.fate(end, now) {
        Fate::Stays => Turn::Wait(EMPTY),
        Fate::Leaves => Turn::Wait(LEAVING),
        Fate::Evict => Turn::Ask(None),
        Fate::Hurry(seconds) => Turn::Ask(Some(seconds)),
    }
}

impl Moving {
    /// How long the pod is still to be left alone, if it is.
    fn left(&self, uid: &str, up: Uptime) -> Option<Duration> {
        let (_, not_before) = self.put_off.iter().find(|(known, at)| known == uid && *at > up)?;
        Some(not_before.since(up).unsigned_abs())
    }

    /// Notes a refusal. Whether it is the first one of this pod.
    fn put_off(&mut self, uid: &str, until: Uptime) -> bool {
        let known = self.put_off.iter_mut().find(|(known, _)| known == uid);
        let first = known.map(|(_, at)| *at = until).is_none();
        if first {
            self.put_off.push((uid.into(), until));
        }
        first
    }
}

fn after(up: Uptime, pause: Duration) -> Uptime {
    up.after(SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX))
}

/// A round that hangs gives its place to another Node's.
const LONGEST_ROUND: Duration = Duration::from_secs(15);
/// Evictions of one Node in flight: one that hangs holds up no other.
const AT_ONCE: usize = 16;
/// While pods are on their way out: one may have to hurry.
const LEAVING: Duration = Duration::from_secs(5);
/// With nothing left to do.
const EMPTY: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
