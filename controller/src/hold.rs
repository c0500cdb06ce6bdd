//! Which lease holds which Node, and what it asks for it. Pure.

use curfew_contract::Watchdog;
use jiff::Timestamp;

use crate::{
    crd::{NodeStatus, OnRelease},
    observe::{Lease, Node, World},
};

/// Where a lease stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not accepted, or it cannot be read when it ends.
    Pending,
    /// Until then.
    Running(Timestamp),
    /// Since then; or it is being deleted.
    Ended(Timestamp),
    /// Over.
    Released,
}

/// What one lease asks for one Node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Claim<'a> {
    pub(crate) lease: &'a Lease,
    pub(crate) wish: Wish,
}

/// A lease's wish for a Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// A deadline that rolls ahead, never beyond `limit`.
    Roll {
        /// How far ahead, how often.
        watchdog: Watchdog,
        /// The lease's end. None: `onRelease: Keep`, whose machines do not end with it.
        limit: Option<Timestamp>,
    },
    /// No later than the end that has passed.
    Cap(Timestamp),
    /// The deadline taken back.
    Free,
}

impl Lease {
    /// When the lease ends. If its duration cannot be read, the end that was accepted last stands.
    pub(crate) fn expiry(&self) -> Option<Timestamp> {
        let accepted = self.status.accepted_at.as_ref()?.0;
        let stands = self.status.expires_at.as_ref().map(|time| time.0);
        self.terms.as_ref().and_then(|terms| terms.expiry(accepted)).or(stands)
    }

    /// Where the lease stands at `now`.
    pub(crate) fn stage(&self, now: Timestamp) -> Stage {
        match self.expiry() {
            _ if self.status.released_at.is_some() => Stage::Released,
            None => Stage::Pending,
            Some(expiry) if self.deleting.is_some() || expiry <= now => Stage::Ended(expiry),
            Some(expiry) => Stage::Running(expiry),
        }
    }

    /// Whether its machines outlive it.
    pub(crate) fn keeps(&self) -> bool {
        self.terms.as_ref().is_some_and(|terms| terms.on_release == OnRelease::Keep)
    }

    /// Whether the Node is meant by the selector, whatever its role.
    pub(crate) fn selects(&self, node: &Node) -> bool {
        self.terms.as_ref().is_some_and(|terms| terms.selects(&node.labels))
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

    /// Whether the lease holds the Node. A lease that ended takes on no new machine: one that joins later with
    /// the same labels is another lease's business.
    pub(crate) fn holds(&self, node: &Node, now: Timestamp) -> bool {
        match self.stage(now) {
            Stage::Released => false,
            Stage::Ended(_) => self.lists(node),
            Stage::Pending | Stage::Running(_) => self.selects(node) && !node.is_control_plane(),
        }
    }

    /// What the lease asks for the Node at `now`.
    pub(crate) fn wish(&self, node: &Node, now: Timestamp) -> Option<Wish> {
        let holds = self.holds(node, now);
        let watchdog = self.terms.as_ref()?.watchdog;
        match self.stage(now) {
            Stage::Running(_) if holds && self.keeps() => {
                // Without the finalizer a deletion could not take the deadline back.
                self.finalized().then_some(Wish::Roll { watchdog, limit: None })
            }
            Stage::Running(limit) if holds => Some(Wish::Roll { watchdog, limit: Some(limit) }),
            Stage::Running(_) if self.keeps() => self.lists(node).then_some(Wish::Free),
            Stage::Ended(_) if self.keeps() => (self.lists(node) || self.selects(node)).then_some(Wish::Free),
            Stage::Ended(expiry) if holds && self.deleting.is_none() => Some(Wish::Cap(expiry)),
            _ => None,
        }
    }
}

impl World {
    /// What every lease asks for the Node.
    pub(crate) fn claims(&self, node: &Node, now: Timestamp) -> Vec<Claim<'_>> {
        self.leases.values().filter_map(|lease| Some(Claim { lease, wish: lease.wish(node, now)? })).collect()
    }

    /// Whether anything about this Node concerns us.
    pub(crate) fn concerns(&self, node: &Node) -> bool {
        let told = node.full.as_ref().is_some_and(|full| full.condition.is_some());
        let meant = || !node.is_control_plane() && self.leases.values().any(|lease| lease.selects(node));
        node.sighting.is_some() || told || meant()
    }
}
