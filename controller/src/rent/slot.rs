//! One machine of a lease, as all that is known of it says together: the status, what calls told since, the provider's
//! list, its Node. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use curfew_contract::label;
use curfew_provider::{Server, ServerId, ServerStatus};
use jiff::{SignedDuration, Timestamp};

use super::{
    census::{Census, Concern},
    learnt::Learnt,
    reason::Reason,
};
use crate::{
    clock::Reading,
    crd::Instance,
    observe::{Lease, Node, World},
};

/// One machine of a lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    pub(crate) number: u32,
    /// As the status has it.
    pub(crate) kept: &'a Instance,
    pub(crate) learnt: &'a Learnt,
    /// As the provider lists it.
    pub(crate) listed: Option<&'a Server>,
    /// The provider's list is younger than what is known of the server, and lacks it.
    pub(crate) missed: bool,
    /// What its label says by a list that is younger than what is known of the server.
    pub(crate) told: Option<Timestamp>,
    /// It had a Node, and has none: a cloud's own controller removes the Node of a server that is gone.
    pub(crate) left: bool,
    pub(crate) node: Option<&'a Node>,
    /// A Node says that it is this lease's, and was not read yet.
    pub(crate) unread: bool,
}

/// Servers that say they are this lease's, and that no slot of it owns: as listed, or as this controller created them itself
/// while another one filled the slot.
pub(super) fn strays<'a>(
    lease: &'a Lease,
    concern: &Concern<'a>,
    slots: &[Slot<'a>],
    end: Option<Timestamp>,
    now: Timestamp,
) -> BTreeMap<ServerId, &'a Server> {
    let replicas = lease.terms.as_ref().and_then(|terms| terms.rent()).map_or(u32::MAX, |rent| rent.replicas);
    let ended = lease.deleting.is_some() || end.is_some_and(|end| end <= now);
    let gone = |server: &Server| lease.strays.get(&server.id).is_some_and(|known| known.absent.is_some());
    let ids: BTreeSet<_> = slots.iter().filter_map(Slot::id).collect();
    let owned = |server: &Server| {
        // By its id, whatever its label says by now: a slip of a person's hand must not cost a machine that works.
        if ids.contains(&server.id) {
            return true;
        }
        let Some(number) = slot_of(server) else { return false };
        match slots.iter().find(|slot| slot.number == number) {
            Some(slot) => slot.id().map_or_else(|| slot.absent().is_none(), |id| id == server.id),
            // An attempt that a restored status has forgotten: it is made again, and the server adopted.
            None => number < replicas && !ended,
        }
    };
    let known = lease.learnt.values().filter_map(|learnt| learnt.server.as_ref());
    let all = concern.servers.iter().copied().chain(known.filter(|server| is_of(server, lease)));
    all.filter(|server| !owned(server) && !gone(server)).map(|server| (server.id, server)).collect()
}

impl<'a> Slot<'a> {
    pub(super) fn of(kept: &'a Instance, lease: &'a Lease, concern: &Concern<'a>) -> Self {
        let learnt = lease.learnt.get(&kept.slot).unwrap_or_else(|| &NOTHING);
        let mut slot = Self {
            number: kept.slot,
            kept,
            learnt,
            listed: None,
            missed: false,
            told: None,
            left: false,
            node: None,
            unread: false,
        };
        if let Some(list) = concern.list {
            slot.listed = match slot.id() {
                Some(id) => list.servers.get(&id),
                None => concern.servers.iter().find(|server| slot_of(server) == Some(kept.slot)).copied(),
            };
            let younger = list.at > learnt.seen;
            slot.missed = slot.id().is_some() && slot.listed.is_none() && younger;
            slot.told = slot.listed.filter(|_| younger).and_then(expires_at);
        }
        let nodes = &concern.nodes;
        slot.unread = nodes.iter().any(|node| node.full.is_none());
        let provider_id = slot.provider_id();
        slot.node =
            nodes.iter().find(|node| provider_id.is_some() && node.provider_id() == provider_id).copied();
        slot.left = slot.node.is_none() && kept.node_name.is_some() && !slot.unread;
        slot
    }

    /// As a Node's `spec.providerID` names it.
    pub(crate) fn provider_id(&self) -> Option<&'a str> {
        self.kept.provider_id.as_deref().or(self.learnt.provider_id.as_deref())
    }

    /// The server, once it is known. Never looked up by its name again from then on.
    pub(crate) fn id(&self) -> Option<ServerId> {
        let known =
            self.learnt.server.as_ref().filter(|_| self.kept.provider_id.is_none()).map(|server| server.id);
        known.or_else(|| self.provider_id()?.rsplit('/').next()?.parse().ok())
    }

    /// When the provider was first going to be asked for it, as persisted.
    pub(crate) fn attempted(&self) -> Option<Timestamp> {
        self.kept.attempted_at.as_ref().map(|time| time.0)
    }

    /// When the provider created it.
    pub(crate) fn created(&self) -> Option<Timestamp> {
        let kept = self.kept.created_at.as_ref().map(|time| time.0);
        kept.or_else(|| self.learnt.server.as_ref()?.created)
    }

    /// Until when the label at the provider shields it, as last confirmed.
    pub(crate) fn labelled_until(&self) -> Option<Timestamp> {
        let read = self.learnt.server.as_ref().and_then(expires_at);
        read.or_else(|| self.kept.labelled_until.as_ref().map(|time| time.0))
    }

    /// When its Node became Ready, for the first time that anybody knows of.
    pub(crate) fn ready(&self) -> Option<Timestamp> {
        let kept = self.kept.node_ready_at.as_ref().map(|time| time.0);
        kept.or_else(|| self.node?.full.as_ref()?.ready_since)
    }

    /// Whether its creation ended well.
    pub(crate) fn launched(&self) -> bool {
        let running = self.listed.is_some_and(|server| server.status == ServerStatus::Running);
        self.learnt.launched || running || self.node.is_some() || self.kept.node_ready_at.is_some()
    }

    /// Since when the provider says that there is no such machine, or that none came of the attempt.
    pub(crate) fn absent(&self) -> Option<Timestamp> {
        let kept = self.kept.receipt.as_ref().and_then(|receipt| receipt.absent_at.as_ref());
        kept.map(|time| time.0).or(self.learnt.removal.absent)
    }

    /// Whether the status says that it is given back.
    pub(crate) const fn is_releasing(&self) -> bool {
        self.kept.releasing.is_some()
    }

    /// By when it must have got further, and what it is if it has not.
    pub(crate) fn limit(&self) -> Option<(Timestamp, Reason)> {
        if self.absent().is_some() || self.ready().is_some() {
            return None;
        }
        if self.launched() {
            let from = self.created().or_else(|| self.attempted())?;
            return Some((from.checked_add(REGISTRATION).ok()?, Reason::RegistrationTimeout));
        }
        Some((self.attempted()?.checked_add(LAUNCH).ok()?, Reason::LaunchTimeout))
    }

    /// Why it is to be given back, though its lease goes on. That it is late is concluded only from what was seen since:
    /// a controller that was away finds out first what has become of it.
    pub(crate) fn fault(&self, reading: Reading) -> Option<Reason> {
        let gone = || self.absent().map(|_| Reason::Gone);
        let late = || {
            let (limit, reason) = self.limit()?;
            let limit = reading.uptime_at(limit).filter(|limit| *limit <= reading.up)?;
            let seen = match reason {
                Reason::LaunchTimeout if self.id().is_none() => {
                    self.learnt.searched.is_some_and(|searched| searched >= limit)
                }
                Reason::LaunchTimeout => self.learnt.waited >= limit,
                _ => !self.unread,
            };
            seen.then_some(reason)
        };
        // That none was to be had is no fault of one that another controller got.
        let failed =
            self.learnt.failed.filter(|reason| self.id().is_none() || *reason == Reason::CreationFailed);
        failed.or_else(gone).or_else(late)
    }
}

/// Whether nothing of a lease's machines is left at the provider, as far as is known, and nothing can come any more.
pub(crate) fn is_over(lease: &Lease, world: &World, now: Timestamp) -> bool {
    let concern = Census::of(world).concern(lease, world);
    let slots = concern.slots(lease);
    let gone = slots.iter().all(|slot| slot.absent().is_some());
    gone && strays(lease, &concern, &slots, world.end(lease), now).is_empty()
}

/// Of `slots`, those that are too many for `replicas`: first those that were never created, then the newest.
pub(crate) fn surplus(slots: &[Slot<'_>], replicas: u32, reading: Reading) -> BTreeSet<u32> {
    let mut kept: Vec<_> =
        slots.iter().filter(|slot| !slot.is_releasing() && slot.fault(reading).is_none()).collect();
    kept.sort_by_key(|slot| (slot.created().unwrap_or(Timestamp::MAX), slot.number));
    kept.iter().skip(usize::try_from(replicas).unwrap_or(usize::MAX)).map(|slot| slot.number).collect()
}

/// Whether the server consented to be deleted, and says that it is this lease's.
pub(crate) fn is_of(server: &Server, lease: &Lease) -> bool {
    label::Consent::read(&server.labels).is_ok() && server.labels.get(label::LEASE_UID) == Some(&lease.uid)
}

/// The slot a server says it is of.
pub(crate) fn slot_of(server: &Server) -> Option<u32> {
    server.labels.get(label::SLOT)?.parse().ok()
}

/// What a server's label says.
pub(crate) fn expires_at(server: &Server) -> Option<Timestamp> {
    Timestamp::from_second(server.labels.get(label::EXPIRES_AT)?.parse().ok()?).ok()
}

/// Of a slot of which nothing was learnt.
static NOTHING: LazyLock<Learnt> = LazyLock::new(Learnt::default);

/// From the attempt to a created server.
pub(crate) const LAUNCH: SignedDuration = SignedDuration::from_mins(5);
/// From the creation to a Ready Node.
pub(crate) const REGISTRATION: SignedDuration = SignedDuration::from_mins(15);
