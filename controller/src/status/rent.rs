//! What only a lease that rents says of itself. Pure.

use curfew_contract::duration;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{ACCEPTED, Said, whole};
use crate::{
    crd::Instance,
    observe::{Lease, World},
    rent::{Reason, Refusal, Slot},
};

/// When the lease ends, as it is shown. A later end is shown only once it holds: the label at the provider first, then
/// the deadlines, then this. Whoever reads it may rely upon it.
pub(super) fn expires_at(lease: &Lease, world: &World, now: Timestamp) -> Option<Time> {
    let end = world.end(lease).map(whole)?;
    let shown = lease.status.expires_at.clone().filter(|_| lease.rents());
    let Some(shown) = shown.filter(|shown| shown.0 < end.0) else { return Some(end) };
    let follows = |slot: &Slot<'_>| {
        let labelled = slot.labelled_until().is_some_and(|until| until >= end.0);
        let capped = slot.node.and_then(|node| node.deadline(now)) == Some(shown.0);
        labelled && !capped
    };
    let held = world.slots(lease).into_iter().filter(|slot| slot.id().is_some() && !slot.is_releasing());
    let all = held.into_iter().all(|slot| follows(&slot));
    Some(if all { end } else { shown })
}

/// When the last of all machines became Ready. Noted once.
pub(super) fn ready_at(lease: &Lease, instances: &[Instance]) -> Option<Time> {
    let all = || instances.iter().map(|instance| instance.node_ready_at.clone()).collect::<Option<Vec<_>>>();
    lease.status.ready_at.clone().or_else(|| all()?.into_iter().max_by_key(|time| time.0))
}

/// Why a lease that rents is not taken on.
pub(super) fn refused(refusal: &Refusal) -> Said {
    Said::new(ACCEPTED, false, refusal.reason(), refusal.to_string())
}

pub(super) fn instances_ready(lease: &Lease, instances: &[Instance]) -> Said {
    let said = |holds, reason, message: String| Said::new(INSTANCES_READY, holds, reason, message);
    let wanted: Vec<_> = instances.iter().filter(|instance| instance.releasing.is_none()).collect();
    let ready = wanted.iter().filter(|instance| instance.node_ready_at.is_some()).count();
    let of = wanted.len();
    match wanted.iter().find(|instance| instance.node_ready_at.is_none()) {
        _ if lease.status.accepted_at.is_none() => said(false, "NotAccepted", "nothing is rented".into()),
        None if of == 0 => said(false, "NoInstances", "no machine is held".into()),
        None => said(true, "Ready", format!("{ready} of {of} machines")),
        Some(first) => {
            let name = first.name.as_deref().unwrap_or_default();
            let why = first.last_error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            said(false, "Provisioning", format!("{ready} of {of} machines; {name} is not Ready{why}"))
        }
    }
}

pub(super) fn expiry_clamped(lease: &Lease, world: &World) -> Said {
    let asked = lease.status.accepted_at.as_ref().zip(lease.terms.as_ref());
    let asked = asked.and_then(|(accepted, terms)| terms.expiry(accepted.0));
    match asked.zip(world.expiry(lease)).filter(|(asked, expiry)| expiry < asked) {
        None => Said::new(EXPIRY_CLAMPED, false, "NotClamped", "the lease ends when it asks to"),
        Some((asked, expiry)) => {
            let short = duration::format(asked.duration_since(expiry));
            let message = format!(
                "no machine lives longer than maxLifetime of the ProviderConfig: the lease ends {short} before \
                 spec.duration is over"
            );
            Said::new(EXPIRY_CLAMPED, true, "MaxLifetime", message)
        }
    }
}

/// The worst first: machines whose bill nobody here can end.
pub(super) fn degraded(lease: &Lease, world: &World, instances: &[Instance]) -> Said {
    let provider =
        lease.provider().filter(|name| world.providers_listed && !world.providers.contains_key(*name));
    let left = instances.iter().filter(|instance| crate::release::absent(instance).is_none()).count();
    if let Some(provider) = provider.filter(|_| left > 0) {
        let message = format!(
            "the ProviderConfig {provider} is gone, and with it the means to delete {left} machines: create it again, \
             with a token of the same project, or delete them at the provider"
        );
        return Said::new(DEGRADED, true, PROVIDER_GONE, message);
    }
    let lost = |instance: &&Instance| instance.releasing.as_deref().is_some_and(Reason::is_loss);
    let mut lost = instances.iter().filter(lost);
    let Some(first) = lost.next() else {
        return Said::new(DEGRADED, false, "Complete", "no machine was lost");
    };
    let (of, n) = (instances.len(), 1 + lost.count());
    let (name, reason) = (first.name.as_deref(), first.releasing.as_deref());
    let (name, reason) = (name.unwrap_or_default(), reason.unwrap_or_default());
    let why = first.last_error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
    let message = format!("{n} of {of} machines are lost and not replaced, first {name}: {reason}{why}");
    Said::new(DEGRADED, true, reason, message)
}

/// `InstancesReady`: every machine that is held has a Node, and it is or was Ready.
pub(crate) const INSTANCES_READY: &str = "InstancesReady";
/// `ExpiryClamped`: the lease asks for more time than any machine has.
pub(crate) const EXPIRY_CLAMPED: &str = "ExpiryClamped";
/// `Degraded`: fewer machines than were asked for, and none will come in their place.
pub(crate) const DEGRADED: &str = "Degraded";
/// Its reason where machines bill and nothing here can delete them.
pub(crate) const PROVIDER_GONE: &str = "ProviderConfigGone";

#[cfg(test)]
mod tests;
