//! Which lease holds which Node, and what it asks for it. Pure.
//!
//! A lease that adopts holds by labels. One that rents holds the Nodes of the machines that it rented and no other: a
//! label alone proves nothing, since a Node can write its own.

use curfew_contract::{Watchdog, label};
use jiff::Timestamp;

use crate::{
    crd::{Instance, NodeStatus, OnRelease},
    observe::{Lease, Node, World},
    terms::{Config, Holding, USUAL_TEARDOWN},
};

/// Where a lease stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not accepted, or it cannot be read when it ends.
    Pending,
    /// Until then.
    Running(Timestamp),
    /// Since then; or one that adopts is being deleted.
    Ended(Timestamp),
    /// Over.
    Released,
}

/// What one lease asks for one Node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Claim<'a> {
    pub(crate) lease: &'a Lease,
    /// How far ahead, how often.
    pub(crate) watchdog: Watchdog,
    /// Until when the label at the provider keeps the sweeper off: no deadline is moved beyond it. One that is beyond is
    /// not moved back for it, since the label is read later than it is written.
    pub(crate) shield: Option<Timestamp>,
    pub(crate) wish: Wish,
}

/// A lease's wish for a Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// A deadline that rolls ahead, never beyond this: the lease's end. None: `onRelease: Keep`, whose machines do not
    /// end with it.
    Roll(Option<Timestamp>),
    /// No later than the end that has passed.
    Cap(Timestamp),
    /// The deadline taken back.
    Free,
}

impl Lease {
    /// Whether it rents its machines. One whose terms cannot be read still has those that it rented.
    pub(crate) fn rents(&self) -> bool {
        self.terms.as_ref().is_some_and(|terms| terms.rent().is_some()) || !self.status.instances.is_empty()
    }

    /// Whether its machines outlive it.
    pub(crate) fn keeps(&self) -> bool {
        let holding = self.terms.as_ref().map(|terms| &terms.holding);
        matches!(holding, Some(Holding::Adopt { on_release: OnRelease::Keep, .. }))
    }

    /// Whether the Node is meant by the selector, whatever its role.
    pub(crate) fn selects(&self, node: &Node) -> bool {
        self.terms.as_ref().is_some_and(|terms| terms.selects(&node.labels))
    }

    /// The machine that this lease rented and whose Node this is: the Node says so, and so do the provider's identifiers.
    /// A Node that has not been read in full yet is taken for the machine it was.
    pub(crate) fn instance(&self, node: &Node) -> Option<&Instance> {
        let same = |instance: &&Instance| match &node.full {
            Some(full) => full.provider_id.is_some() && full.provider_id == instance.provider_id,
            None => instance.node_name.as_ref() == Some(&node.name),
        };
        let ours = node.labels.get(label::LEASE) == Some(&self.name);
        self.status.instances.iter().filter(|_| ours).find(same)
    }

    /// The entry of this very machine in the status as last written. A Node that has not been read in full yet is
    /// taken for the machine it was: after a restart nothing must look gone.
    pub(crate) fn entry(&self, node: &Node) -> Option<&NodeStatus> {
        let same = |entry: &NodeStatus| match &node.full {
            Some(full) => full.provider_id.is_some() && full.provider_id == entry.provider_id,
            None => true,
        };
        self.status.nodes.iter().find(|entry| entry.name == node.name && !entry.gone && same(entry))
    }

    /// Whether the lease held this very machine when its status was last written.
    pub(crate) fn lists(&self, node: &Node) -> bool {
        self.entry(node).is_some()
    }
}

impl World {
    /// The policy in force: the lease's own, else that of its provider's configuration, else the default.
    pub(crate) fn watchdog(&self, lease: &Lease) -> Watchdog {
        let own = lease.terms.as_ref().and_then(|terms| terms.watchdog);
        own.or_else(|| Some(self.config(lease)?.watchdog)).unwrap_or_default()
    }

    /// When the lease would end if it were left alone. If its duration cannot be read, the end that was accepted last
    /// stands. One that rents ends no later than the longest life that its provider's configuration allows; while that
    /// is unknown it ends no later than was accepted last.
    pub(crate) fn expiry(&self, lease: &Lease) -> Option<Timestamp> {
        let accepted = lease.status.accepted_at.as_ref()?.0;
        let stands = lease.status.expires_at.as_ref().map(|time| time.0);
        let wanted = lease.terms.as_ref().and_then(|terms| terms.expiry(accepted)).or(stands)?;
        if !lease.rents() {
            return Some(wanted);
        }
        let longest = match self.config(lease) {
            Some(config) => accepted.checked_add(config.max_lifetime).ok(),
            None => stands,
        };
        Some(longest.map_or(wanted, |longest| longest.min(wanted)))
    }

    /// When it ends: one that rents and is being deleted gives its machines `teardownGrace` more, one that adopts
    /// nothing.
    pub(crate) fn end(&self, lease: &Lease) -> Option<Timestamp> {
        let expiry = self.expiry(lease)?;
        let Some(asked) = lease.deleting.filter(|_| lease.rents()) else { return Some(expiry) };
        let grace = lease.terms.as_ref().map_or(USUAL_TEARDOWN, |terms| terms.teardown_grace);
        Some(asked.checked_add(grace).map_or(expiry, |end| end.min(expiry)))
    }

    /// Where the lease stands at `now`.
    pub(crate) fn stage(&self, lease: &Lease, now: Timestamp) -> Stage {
        let dropped = lease.deleting.is_some() && !lease.rents();
        match self.end(lease) {
            _ if lease.status.released_at.is_some() => Stage::Released,
            None => Stage::Pending,
            Some(end) if dropped || end <= now => Stage::Ended(end),
            Some(end) => Stage::Running(end),
        }
    }

    /// Whether the lease holds the Node. A lease that ended takes on no new machine: one that joins later with
    /// the same labels is another lease's business.
    pub(crate) fn holds(&self, lease: &Lease, node: &Node, now: Timestamp) -> bool {
        match self.stage(lease, now) {
            Stage::Released => false,
            _ if lease.rents() => lease.instance(node).is_some(),
            Stage::Ended(_) => lease.lists(node),
            Stage::Pending | Stage::Running(_) => lease.selects(node) && !node.is_control_plane(),
        }
    }

    /// What the lease asks for the Node at `now`.
    pub(crate) fn wish(&self, lease: &Lease, node: &Node, now: Timestamp) -> Option<Wish> {
        let (holds, keeps) = (self.holds(lease, node, now), lease.keeps());
        match self.stage(lease, now) {
            // Without the finalizer a deletion could not take the deadline back.
            Stage::Running(_) if holds && keeps => lease.finalized().then_some(Wish::Roll(None)),
            Stage::Running(end) if holds => Some(Wish::Roll(Some(end))),
            Stage::Running(_) if keeps => lease.lists(node).then_some(Wish::Free),
            Stage::Ended(_) if keeps => (lease.lists(node) || lease.selects(node)).then_some(Wish::Free),
            Stage::Ended(end) if holds && (lease.deleting.is_none() || lease.rents()) => Some(Wish::Cap(end)),
            _ => None,
        }
    }

    /// What every lease asks for the Node.
    pub(crate) fn claims(&self, node: &Node, now: Timestamp) -> Vec<Claim<'_>> {
        let claim = |lease| {
            let wish = self.wish(lease, node, now)?;
            let shield = lease.instance(node).and_then(|instance| Some(instance.labelled_until.as_ref()?.0));
            Some(Claim { lease, watchdog: self.watchdog(lease), shield, wish })
        };
        self.leases.values().filter_map(claim).collect()
    }

    /// Whether anything about this Node concerns us.
    pub(crate) fn concerns(&self, node: &Node) -> bool {
        let told = node.full.as_ref().is_some_and(|full| full.condition.is_some());
        let selected = |lease: &Lease| !node.is_control_plane() && lease.selects(node);
        let meant = || self.leases.values().any(|lease| selected(lease) || lease.instance(node).is_some());
        node.sighting.is_some() || told || meant()
    }

    fn config(&self, lease: &Lease) -> Option<&Config> {
        self.providers.get(&lease.terms.as_ref()?.rent()?.provider)?.config.as_ref()
    }
}

#[cfg(test)]
mod tests;
