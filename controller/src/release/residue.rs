//! What outlives a machine at its provider and goes on costing: looked up ([`super::lookup`]) by the ids that were noted
//! while the machine was still there. Pure.
//!
//! Only named, never deleted: a volume may be somebody's data. Looked up soon after the machine is gone, and what still
//! exists every ten minutes, also after the lease was released, for as long as it is listed and at most for a day.

use std::collections::{BTreeMap, BTreeSet};

use curfew_provider::{Attached, ResidueKind};
use jiff::SignedDuration;

use crate::{
    clock::{Reading, Uptime},
    crd,
    observe::Lease,
};

/// A thing at the provider.
pub(crate) type Thing = (ResidueKind, u64);

/// What was found of the things of one lease.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Looked {
    /// What still exists, and when that was seen.
    found: BTreeMap<Thing, (crd::Residue, Uptime)>,
    /// What does not.
    gone: BTreeSet<Thing>,
    /// What nobody could tell of, and when that was asked.
    unknown: BTreeMap<Thing, Uptime>,
}

impl Looked {
    /// Nobody could tell.
    pub(super) fn failed(&mut self, thing: Thing, up: Uptime) {
        self.unknown.insert(thing, up);
    }

    /// Notes an answer.
    pub(super) fn note(&mut self, thing: Thing, residue: Option<crd::Residue>, up: Uptime) {
        self.unknown.remove(&thing);
        if let Some(residue) = residue {
            self.found.insert(thing, (residue, up));
        } else {
            self.found.remove(&thing);
            self.gone.insert(thing);
        }
    }
}

/// What may outlive a server, for its entry in the status.
pub(crate) fn attachments(attached: &Attached) -> Vec<crd::Attachment> {
    let Attached { volumes, floating_ips, primary_ips, load_balancers } = attached;
    let all = [
        (ResidueKind::Volume, volumes),
        (ResidueKind::PrimaryIp, primary_ips),
        (ResidueKind::FloatingIp, floating_ips),
        (ResidueKind::LoadBalancer, load_balancers),
    ];
    let each = all.into_iter().flat_map(|(kind, ids)| ids.iter().map(move |id| (kind, *id)));
    each.map(|(kind, id)| crd::Attachment { kind: written(kind).into(), id }).collect()
}

/// What was attached to the machines of a lease that are gone, and when the last of them went.
fn things(lease: &Lease, reading: Reading) -> BTreeMap<Thing, Uptime> {
    let mut things = BTreeMap::new();
    for instance in &lease.status.instances {
        let absent = super::absent(instance).and_then(|absent| reading.uptime_at(absent));
        let Some(absent) = absent else { continue };
        for attachment in &instance.attached {
            if let Some(kind) = read(&attachment.kind) {
                let last: &mut Uptime = things.entry((kind, attachment.id)).or_default();
                *last = absent.max(*last);
            }
        }
    }
    things
}

/// What is to be looked up now, and when the next is.
pub(super) fn due(lease: &Lease, reading: Reading) -> (Vec<Thing>, Option<Uptime>) {
    let (mut due, mut next) = (Vec::new(), None);
    for (thing, absent) in things(lease, reading) {
        let Looked { found, gone, unknown } = &lease.looked;
        if gone.contains(&thing) || reading.up.since(absent) > FOLLOWED_FOR {
            continue;
        }
        let again = |seen: &Uptime| seen.after(if seen.since(absent) < LINGERS { SOON } else { AGAIN });
        let at = found.get(&thing).map_or_else(|| absent.after(SETTLED), |(_, seen)| again(seen));
        let at = unknown.get(&thing).map_or(at, |asked| at.max(asked.after(SOON)));
        if at <= reading.up {
            due.push(thing);
        } else {
            next = [next, Some(at)].into_iter().flatten().min();
        }
    }
    (due, next)
}

/// What is left of the machines of a lease, as far as is known: what the last look found, and what an earlier controller
/// had found and this one has not looked up yet.
pub(crate) fn left(lease: &Lease) -> Vec<crd::Residue> {
    let Looked { found, gone, .. } = &lease.looked;
    let earlier =
        lease.status.residue.iter().filter_map(|residue| Some(((read(&residue.kind)?, residue.id), residue)));
    let mut left: BTreeMap<Thing, &crd::Residue> =
        earlier.filter(|(thing, _)| !gone.contains(thing)).collect();
    left.extend(found.iter().map(|(thing, (residue, _))| (*thing, residue)));
    left.into_values().cloned().collect()
}

/// Whether a lease that is being deleted may go: what it left behind was looked up and said, or nobody could for a while.
pub(crate) fn was_told(lease: &Lease, reading: Reading) -> bool {
    let last = things(lease, reading).into_values().max();
    let said = || is_known(lease, reading) && left(lease) == lease.status.residue;
    said() || last.is_none_or(|absent| reading.up.since(absent) > PATIENCE)
}

/// Whether everything was looked up that machines which are gone may have left behind.
pub(crate) fn is_known(lease: &Lease, reading: Reading) -> bool {
    let Looked { found, gone, .. } = &lease.looked;
    things(lease, reading).keys().all(|thing| gone.contains(thing) || found.contains_key(thing))
}

/// As the status has it.
pub(super) const fn written(kind: ResidueKind) -> &'static str {
    match kind {
        ResidueKind::Volume => "Volume",
        ResidueKind::PrimaryIp => "PrimaryIP",
        ResidueKind::FloatingIp => "FloatingIP",
        ResidueKind::LoadBalancer => "LoadBalancer",
    }
}

fn read(text: &str) -> Option<ResidueKind> {
    use ResidueKind::{FloatingIp, LoadBalancer, PrimaryIp, Volume};
    [Volume, PrimaryIp, FloatingIp, LoadBalancer].into_iter().find(|kind| written(*kind) == text)
}

/// What goes with a server goes some seconds after it.
const SETTLED: SignedDuration = SignedDuration::from_secs(10);
/// So long after a server what was its own may still be on its way out, and is looked up sooner.
const LINGERS: SignedDuration = SignedDuration::from_secs(30);
const SOON: SignedDuration = SignedDuration::from_mins(1);
const AGAIN: SignedDuration = SignedDuration::from_mins(10);
/// An account that cannot be asked must not keep a deleted lease for ever.
const PATIENCE: SignedDuration = SignedDuration::from_mins(1);
const FOLLOWED_FOR: SignedDuration = SignedDuration::from_hours(24);

#[cfg(test)]
mod tests;
