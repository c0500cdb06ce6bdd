//! Writes down in the status what became of machines that are gone. Pure.

use jiff::Timestamp;

use super::{
    absent,
    cleanup::{Step, attachments, decide, node, remnant},
    receipt::{Accepted, Ended, receipt},
};
use crate::{
    clock::Reading,
    crd::{Instance, Receipt},
    observe::{LastWord, Lease, Node, World},
    status::whole,
};

/// `instances`, with the receipts of those that are gone, the `VolumeAttachment`s that outlived them, and when their
/// Nodes were gone.
pub(crate) fn record(
    lease: &Lease,
    world: &World,
    instances: Vec<Instance>,
    reading: Reading,
) -> Vec<Instance> {
    let is_gone = |instance: &Instance| absent(instance).is_some();
    let Some(now) = reading.now.filter(|_| instances.iter().any(is_gone)) else { return instances };
    let recorded = instances.into_iter().map(|instance| {
        let node = node(world, lease, &instance);
        let Some(remnant) = remnant(world, &instance, node) else { return instance };
        let over = matches!(decide(remnant, now), Step::Delete | Step::Done);
        let deleted_now = node.is_none() && instance.node_name.is_some() && world.listed();
        Instance {
            receipt: Some(concluded(lease, world, &instance, node, reading, now)),
            volume_attachments: if over { left(world, &instance) } else { vec![] },
            node_deleted_at: instance.node_deleted_at.clone().or_else(|| deleted_now.then(|| whole(now))),
            ..instance
        }
    });
    recorded.collect()
}

/// Whether every machine of the lease is gone, as persisted, and nothing of it is left to be cleared away.
pub(crate) fn is_cleared(lease: &Lease, world: &World, now: Timestamp) -> bool {
    lease.status.instances.iter().all(|instance| {
        let node = node(world, lease, instance);
        remnant(world, instance, node).is_some_and(|remnant| decide(remnant, now) == Step::Done)
    })
}

fn left(world: &World, instance: &Instance) -> Vec<String> {
    let Some(node) = instance.node_name.as_deref() else { return vec![] };
    attachments(world, node).map_or_else(
        || vec!["not known: VolumeAttachments cannot be listed".into()],
        |names| names.into_iter().map(Into::into).collect(),
    )
}

/// A conclusion is drawn once and stands.
fn concluded(
    lease: &Lease,
    world: &World,
    instance: &Instance,
    node: Option<&Node>,
    reading: Reading,
    now: Timestamp,
) -> Receipt {
    let kept = instance.receipt.clone().unwrap_or_default();
    let Some(absent_at) = kept.absent_at.as_ref().filter(|_| kept.evidence.is_none()) else { return kept };
    let Some(provider_id) = instance.provider_id.as_deref() else {
        return Receipt { evidence: Some("no machine came of the attempt".into()), ..kept };
    };
    let present = node.map(|node| LastWord::of(node, reading, now));
    let last = present.as_ref().or_else(|| world.departed.of(provider_id));
    let written = lease.status.nodes.iter().find(|entry| entry.provider_id.as_deref() == Some(provider_id));
    let written = written.and_then(|entry| Some(entry.deadline.as_ref()?.0));
    let told = last.and_then(|last| last.deadline).or(written);
    receipt(&Ended {
        deadline: [told, world.end(lease)].into_iter().flatten().min(),
        accepted: kept
            .delete_accepted_at
            .as_ref()
            .map(|at| Accepted { at: at.0, action: kept.action_id.as_deref() }),
        shielded_until: instance.labelled_until.as_ref().map(|until| until.0),
        absent_at: absent_at.0,
        beat: last.and_then(|last| last.beat.as_ref()),
    })
}

#[cfg(test)]
mod tests;
