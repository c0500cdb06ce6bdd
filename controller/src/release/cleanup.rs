//! Takes what is left of a machine out of the cluster, once the provider has said that its server is gone.
//!
//! First the Node is told that its machine is gone for good, so that volumes which can be attached only once are let go;
//! when none names it any more, or after two minutes, the Node is deleted. Without that proof of absence nothing here
//! touches a Node: a Node out of service whose machine still runs would let two machines write to one volume.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tracing::{info, warn};

use crate::{
    apply::{Cluster, Failure},
    clock::Reading,
    crd::Instance,
    observe::{Lease, Node, World},
    pass::{Plan, drive},
    shared::Shared,
};

/// What is to be done about a machine's Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Volumes are still attached to it: nothing, until then.
    Wait(Timestamp),
    /// Say that it is out of service.
    Taint,
    /// Delete it, whatever still names it.
    Delete,
    /// It is gone, and nothing names it any more, or has for too long.
    Done,
}

/// A machine that is gone, as the cluster has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remnant<'a> {
    /// When the provider first said that its server is gone.
    pub(crate) absent: Timestamp,
    pub(crate) node: Option<&'a Node>,
    /// Whether `VolumeAttachment`s name its Node, or may.
    pub(crate) held: bool,
}

/// Decides at `now`.
pub(crate) fn decide(remnant: Remnant<'_>, now: Timestamp) -> Step {
    let Remnant { absent, node, held } = remnant;
    let since = match node {
        Some(node) => match node.out_of_service {
            Some(since) => since,
            None => return Step::Taint,
        },
        None => absent,
    };
    let until = since.saturating_add(PATIENCE).unwrap_or(Timestamp::MAX);
    match node {
        _ if held && now < until => Step::Wait(until),
        Some(_) => Step::Delete,
        None => Step::Done,
    }
}

/// The `VolumeAttachment`s that name a Node. `None`: they could not be listed.
pub(crate) fn attachments<'a>(world: &'a World, node: &str) -> Option<Vec<&'a str>> {
    let on = world.attachments.iter().filter(|(_, on)| *on == node).map(|(name, _)| name.as_str());
    world.attachments_listed.then(|| on.collect())
}

/// The Node of this machine: it bears the lease's label, and the provider's identifiers are the same.
pub(crate) fn node<'a>(world: &'a World, lease: &Lease, instance: &Instance) -> Option<&'a Node> {
    let is_its = |node: &&Node| lease.instance(node).is_some_and(|of| of.slot == instance.slot);
    match &instance.node_name {
        Some(name) => world.nodes.get(name).filter(is_its),
        None => instance.provider_id.as_ref().and_then(|_| world.nodes.values().find(is_its)),
    }
}

/// What is left of the machine of `instance`, if its server is proven absent.
pub(crate) fn remnant<'a>(world: &World, instance: &Instance, node: Option<&'a Node>) -> Option<Remnant<'a>> {
    let absent = super::absent(instance)?;
    let name = instance.node_name.as_deref().or_else(|| node.map(|node| node.name.as_str()));
    let held = name.is_some_and(|name| attachments(world, name).is_none_or(|names| !names.is_empty()));
    Some(Remnant { absent, node, held })
}

/// One thing to do to one Node.
#[derive(Clone, Debug)]
struct Job {
    node: String,
    uid: String,
    provider_id: String,
    step: Step,
}

/// Clears away, for ever.
pub(crate) async fn run(shared: Arc<Shared>, cluster: Cluster) {
    let act = {
        let shared = Arc::clone(&shared);
        move |job: Job| {
            let (shared, cluster) = (Arc::clone(&shared), cluster.clone());
            async move {
                match clear(&shared, &cluster, &job).await {
                    Ok(done) => done,
                    Err(failure) => {
                        if !failure.is_gone() && !failure.is_conflict() {
                            let (node, error) = (job.node.as_str(), failure.line());
                            warn!(
                                node,
                                error, "the Node of a machine that is gone cannot be cleared away yet"
                            );
                        }
                        false
                    }
                }
            }
        }
    };
    drive(shared, plan, act).await;
}

fn plan(world: &World, reading: Reading) -> Plan<Job> {
    let mut plan = Plan::empty();
    let Some(now) = reading.now.filter(|_| world.listed()) else { return plan };
    for lease in world.leases.values() {
        for instance in &lease.status.instances {
            let node = node(world, lease, instance);
            let Some(remnant) = remnant(world, instance, node) else { continue };
            let step = decide(remnant, now);
            match (step, node.and_then(|node| Some((node, node.provider_id()?)))) {
                (Step::Wait(until), _) => plan.wake_at(reading.uptime_at(until)),
                (Step::Taint | Step::Delete, Some((node, provider_id))) => {
                    let (name, uid) = (node.name.clone(), node.uid.clone());
                    let job = Job { node: name.clone(), uid, provider_id: provider_id.into(), step };
                    plan.jobs.push((name, job));
                }
                _ => {}
            }
        }
    }
    plan
}

/// Whether it was done. The Node is read once more: neither a successor of its name nor another machine's is touched.
async fn clear(shared: &Shared, cluster: &Cluster, job: &Job) -> Result<bool, Failure> {
    let Job { node, uid, provider_id, step } = job;
    let Some(seen) = cluster.remains(node).await? else { return Ok(true) };
    if seen.uid != *uid || seen.provider_id.as_ref() != Some(provider_id) {
        warn!(node, provider_id, "the Node is another machine's by now, and is left alone");
        return Ok(false);
    }
    let Some(now) = shared.clock.read().now else { return Ok(false) };
    if let Some(since) = seen.out_of_service(now) {
        note(shared, job, since);
    } else {
        cluster.put_out_of_service(node, &seen, now).await?;
        info!(node, "out of service: its volumes are let go");
        note(shared, job, now);
        return Ok(true);
    }
    if *step == Step::Delete {
        cluster.delete_node(node, uid).await?;
        info!(node, "the Node of a machine that is gone was deleted");
    }
    Ok(true)
}

fn note(shared: &Shared, job: &Job, since: Timestamp) {
    shared.change(|world, _| {
        if let Some(node) = world.nodes.get_mut(&job.node).filter(|node| node.uid == job.uid) {
            node.out_of_service = Some(since);
        }
    });
}

/// Within it the attach-detach controller has noticed the taint, once the Node is not Ready: 40 to 50 seconds.
const PATIENCE: SignedDuration = SignedDuration::from_mins(2);

#[cfg(test)]
mod tests;
