//! What becomes of a server that nobody takes care of any more. Pure, and the only place that says so, inside the cluster
//! and outside.
//!
//! **Why no server in the making can look orphaned.** The labels are in the create call, and they name a lease by UID.
//! Whoever makes that call has written its intent into that very lease before. So at the moment a server first exists,
//! its lease does. The provider is listed *before* the leases are, and the leases come from the API server and not from
//! a cache: a lease that is missing from the younger list, although a server of the older one names it, has ended in
//! between or before. It was not created in between. The other order would delete every server whose lease and create
//! call fell between the two lists. The rest, one by one:
//!
//! * *A create call in flight while its lease is released or deleted.* The server is in no list yet. It is in a later one,
//!   nobody owns it, and it goes when its own label says so. That is what the sweep is for.
//! * *A lease prolonged meanwhile.* It lives, and shields. Label first, status last: no order of the two lists shows a
//!   prolonged lease as released.
//! * *A lease that is just giving its server back.* It lives until the server's absence is confirmed, and shields till
//!   then: the two never delete side by side, except by id, which does no harm.
//! * *A lease re-created under its old name.* It has another UID, and shields only what names that one.
//! * *Labels changed after the list.* Each server is read again before it is deleted, and judged again by what it says.
//! * *An API server that tells an old story* (a restored backup, a lagging member): a single lease that it forgot is not
//!   noticed, and its server goes once its own label has passed; all leases forgotten at once is what [`super::doubt`]
//!   is for.

use std::{collections::BTreeMap, fmt};

use curfew_contract::{
    deadline::{Deadline, FURTHEST},
    label::{self, Consent, NoConsent},
};
use curfew_provider::Server;
use jiff::{SignedDuration, Timestamp};

use crate::observe::Lease;

/// Leases by UID, as listed after the servers were.
pub(crate) type Leases = BTreeMap<String, Lease>;

/// Whose servers may be touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose<'a> {
    /// Of the cluster with this id.
    Cluster(&'a str),
    /// Of whichever cluster.
    Any,
}

/// How long nobody interferes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    /// After the deadline in the label: machine, lease and backstop come first.
    pub(crate) overdue: SignedDuration,
    /// After creation, where no deadline can be read. None: such a server is for a person to judge.
    pub(crate) unreadable: Option<SignedDuration>,
}

/// What becomes of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is none of our business.
    NotOurs(NotOurs),
    /// The lease of this name lives, and takes care of it.
    Shielded(String),
    /// Nobody takes care of it; its time comes then.
    Wait(Timestamp, Basis),
    /// Its time cannot be told. A person must look: it bills.
    Unclear(Basis),
    /// Its time has come.
    Delete(Basis),
}

/// Why a server is left alone for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotOurs {
    /// It did not consent.
    NoConsent(NoConsent),
    /// No cluster rented it: it was rented by somebody else and adopted.
    Adopted,
    /// Another cluster's.
    OtherCluster(String),
}

/// What a server's time is told by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The deadline in its label.
    Label(Timestamp),
    /// When it was created, since the label holds this instead of a deadline.
    Created(Option<Timestamp>, Option<String>),
}

/// Judges a server. `leases`: none outside of the cluster, where the label alone decides.
pub(crate) fn judge(
    server: &Server,
    whose: Whose<'_>,
    leases: Option<&Leases>,
    now: Timestamp,
    patience: Patience,
) -> Verdict {
    if let Err(why) = ours(server, whose) {
        return Verdict::NotOurs(why);
    }
    if let Some(lease) = leases.and_then(|leases| shield(server, leases)) {
        return Verdict::Shielded(lease.name.clone());
    }
    let basis = basis(server, now);
    let (from, after) = match basis {
        Basis::Label(deadline) => (Some(deadline), Some(patience.overdue)),
        Basis::Created(created, _) => (created, patience.unreadable),
    };
    match from.zip(after).and_then(|(from, after)| from.checked_add(after).ok()) {
        None => Verdict::Unclear(basis),
        Some(due) if now < due => Verdict::Wait(due, basis),
        Some(_) => Verdict::Delete(basis),
    }
}

/// Whether the server is one that may be touched at all.
pub(crate) fn ours(server: &Server, whose: Whose<'_>) -> Result<(), NotOurs> {
    Consent::read(&server.labels).map_err(NotOurs::NoConsent)?;
    match (server.labels.get(label::CLUSTER).filter(|cluster| !cluster.is_empty()), whose) {
        (None, _) => Err(NotOurs::Adopted),
        (Some(cluster), Whose::Cluster(own)) if cluster != own => Err(NotOurs::OtherCluster(cluster.clone())),
        (Some(_), _) => Ok(()),
    }
}

/// The lease that takes care of the server. One that cannot be decoded lives: nothing is known of its end.
fn shield<'a>(server: &Server, leases: &'a Leases) -> Option<&'a Lease> {
    let lease = leases.get(server.labels.get(label::LEASE_UID)?)?;
    lease.status.released_at.is_none().then_some(lease)
}

/// A deadline before the server existed, or beyond any lease, is none: the first fails towards minutes more, the second
/// keeps a wrong digit from becoming a bill of years.
fn basis(server: &Server, now: Timestamp) -> Basis {
    let value = server.labels.get(label::EXPIRES_AT);
    let deadline = value.and_then(|value| value.parse().ok()).and_then(|at| Timestamp::from_second(at).ok());
    let sane = |at: &Timestamp| {
        let from = server.created.unwrap_or(now);
        at.duration_since(from) <= FURTHEST && server.created.is_none_or(|created| *at >= created)
    };
    match deadline.and_then(|at| Deadline::new(at).ok()).map(Deadline::at).filter(sane) {
        Some(deadline) => Basis::Label(deadline),
        None => Basis::Created(server.created, value.cloned()),
    }
}

/// For people: follows "left alone: ".
impl fmt::Display for NotOurs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConsent(why) => why.fmt(f),
            Self::Adopted => write!(f, "no cluster rented it (no label {})", label::CLUSTER),
            Self::OtherCluster(cluster) => write!(f, "it belongs to the cluster {cluster}"),
        }
    }
}

/// For people: a half sentence.
impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(deadline) => return write!(f, "deadline {deadline}"),
            Self::Created(_, None) => write!(f, "the label {} is missing", label::EXPIRES_AT)?,
            Self::Created(_, Some(value)) => {
                write!(f, "the label {} is no deadline: {value:?}", label::EXPIRES_AT)?;
            }
        }
        match self {
            Self::Created(Some(created), _) => write!(f, "; created at {created}"),
            _ => write!(f, "; nor is it known when it was created"),
        }
    }
}

#[cfg(test)]
mod tests;
