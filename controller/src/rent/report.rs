//! What the status says of a lease's machines: what it said, and what was learnt since. Pure.
//!
//! Attempts are made here: a slot's time of attempt is in the status, and comes back from the API server, before anybody
//! calls the provider.

use jiff::Timestamp;

use super::{
    name,
    reason::Reason,
    slot::{Slot, surplus},
};
use crate::{
    clock::Reading,
    crd::{Attachment, Instance, InstancePhase, Receipt},
    observe::{Lease, World},
    release::residue,
    status::whole,
};

/// The machines of a lease that is accepted, by slot.
pub(crate) fn instances(lease: &Lease, world: &World, now: Timestamp, reading: Reading) -> Vec<Instance> {
    let slots = world.slots(lease);
    let ended = world.end(lease).is_some_and(|end| end <= now);
    let rent = lease.terms.as_ref().and_then(|terms| terms.rent());
    let surplus = rent.map(|rent| surplus(&slots, rent.replicas, reading)).unwrap_or_default();
    let reason = |slot: &Slot<'_>| match slot.fault(reading) {
        _ if ended && lease.deleting.is_some() => Some(Reason::Deleted),
        _ if ended => Some(Reason::Ended),
        Some(fault) => Some(fault),
        None => surplus.contains(&slot.number).then_some(Reason::Surplus),
    };
    let mut instances: Vec<_> = slots.iter().map(|slot| instance(slot, reason(slot))).collect();
    if lease.finalized() && !ended && lease.deleting.is_none() {
        let new =
            (0..rent.map_or(0, |rent| rent.replicas)).filter(|n| slots.iter().all(|slot| slot.number != *n));
        instances.extend(new.map(|number| Instance {
            slot: number,
            name: Some(name::of(&lease.name, &lease.uid, number)),
            phase: Some(InstancePhase::Launching),
            attempted_at: Some(whole(now)),
            ..Instance::default()
        }));
    }
    instances.sort_by_key(|instance| instance.slot);
    instances
}

/// Notes that this controller has persisted attempts: those that are in the status `new`, and were not in the `old` one.
pub(crate) fn attempted(lease: &mut Lease, old: &[Instance], new: &[Instance]) {
    for instance in new.iter().filter(|new| old.iter().all(|old| old.slot != new.slot)) {
        lease.learnt.entry(instance.slot).or_default().ours = true;
    }
}

fn instance(slot: &Slot<'_>, reason: Option<Reason>) -> Instance {
    let Slot { kept, learnt, node, .. } = *slot;
    let new = Instance {
        provider_id: slot.provider_id().map(Into::into),
        node_name: node.map(|node| node.name.clone()).or_else(|| kept.node_name.clone()),
        created_at: slot.created().map(whole),
        node_ready_at: slot.ready().map(whole),
        labelled_until: slot.labelled_until().map(whole),
        releasing: kept.releasing.clone().or_else(|| Some(reason?.as_str().into())),
        last_error: learnt.removal.error.clone().or_else(|| learnt.error.clone()).or_else(|| {
            // What was said stands until something has gone better.
            kept.last_error.clone().filter(|_| learnt.server.is_none())
        }),
        receipt: receipt(slot),
        attached: attached(slot),
        ..kept.clone()
    };
    Instance { phase: Some(phase(slot, &new)), ..new }
}

/// What may outlive it, as last seen before it was told to go: a server on its way out has let go of everything.
fn attached(slot: &Slot<'_>) -> Vec<Attachment> {
    let Slot { kept, learnt, listed, .. } = *slot;
    let server = listed.or(learnt.server.as_ref());
    match server.filter(|_| kept.attached.is_empty() || learnt.removal.accepted.is_none()) {
        Some(server) => residue::attachments(&server.attached),
        None => kept.attached.clone(),
    }
}

/// Times of the end, as they become known; what they amount to is concluded once it is over.
fn receipt(slot: &Slot<'_>) -> Option<Receipt> {
    let removal = &slot.learnt.removal;
    let kept = slot.kept.receipt.clone();
    if removal.accepted.is_none() && removal.absent.is_none() {
        return kept;
    }
    let kept = kept.unwrap_or_default();
    Some(Receipt {
        delete_accepted_at: kept.delete_accepted_at.or_else(|| removal.accepted.map(whole)),
        absent_at: kept.absent_at.or_else(|| removal.absent.map(whole)),
        action_id: kept.action_id.or_else(|| removal.action.map(|action| action.to_string())),
        ..kept
    })
}

fn phase(slot: &Slot<'_>, said: &Instance) -> InstancePhase {
    let lost = said.releasing.as_deref().is_some_and(Reason::is_loss);
    match () {
        () if slot.absent().is_some() && lost => InstancePhase::Failed,
        () if slot.absent().is_some() => InstancePhase::Released,
        () if said.releasing.is_some() => InstancePhase::Releasing,
        () if slot.ready().is_some() => InstancePhase::Ready,
        () if slot.launched() => InstancePhase::Registering,
        () => InstancePhase::Launching,
    }
}
