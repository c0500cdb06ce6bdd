//! What is to be done about each machine of each lease that rents. Pure.
//!
//! A step is a function of what is persisted, what was learnt and the time: there is no order of phases to be lost in a
//! crash. A machine is ordered only once its attempt is persisted, and given back before the lease's end only once the
//! reason is.

use curfew_provider::{ActionId, ServerId};
use jiff::{SignedDuration, Timestamp};

use super::{learnt::Removal, reason::Reason, slot::Slot};
use crate::clock::{Reading, Uptime};

/// What a lease asks of its machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Course {
    /// When they are deleted.
    pub(crate) end: Timestamp,
    /// What their labels are to say. Whole seconds.
    pub(crate) expiry: Timestamp,
    /// A nearer expiry has reached the status and the Nodes: the labels may follow.
    pub(crate) shortened: bool,
    /// Our finalizer is persisted: nothing is ordered before.
    pub(crate) finalized: bool,
}

/// One call to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Orders it.
    Create,
    /// Takes on this server of ours, which the provider lists.
    Adopt(ServerId),
    /// Looks for a server of ours.
    Find(Search),
    /// Asks how its creation fares.
    Poll(ServerId, Option<ActionId>),
    /// Looks whether it is still there.
    Look(ServerId),
    /// Has the label at the provider shield it until then.
    Label(ServerId, Timestamp),
    /// Deletes it. There is no way back.
    Delete(ServerId),
    /// Looks whether the deletion had its effect.
    Confirm(ServerId),
}

/// For what a server of ours is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// The answer to a create call may have been lost.
    Lost,
    /// It is persisted that the machine is given back: nobody sends a create call any more.
    Closing,
    /// The last call that was sent has had its effect by now, if it had any.
    Last,
}

/// What is next for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Do(Step),
    /// Nothing before then.
    Wake(Uptime),
    /// Nothing, unless something happens.
    Rest,
}

impl Step {
    /// Two steps of one kind are never taken at once for one slot; those of different kinds do not wait for each other.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Adopt(_) => "adopt",
            Self::Find(_) => "find",
            Self::Poll(..) => "poll",
            Self::Look(_) => "look",
            Self::Label(..) => "label",
            Self::Delete(_) => "delete",
            Self::Confirm(_) => "confirm",
        }
    }

    /// Whether it ends a bill. Waits for nothing that does not.
    pub(crate) const fn ends_a_bill(self) -> bool {
        matches!(self, Self::Delete(_) | Self::Confirm(_))
    }
}

/// What is next for this slot.
pub(crate) fn next(slot: &Slot<'_>, course: Course, now: Timestamp, reading: Reading) -> Next {
    if slot.absent().is_some() {
        return Next::Rest;
    }
    let patient = |(step, from): (Step, Uptime)| (step, from.max(slot.learnt.patience));
    let step = match (slot.id(), slot.listed) {
        (None, Some(server)) => Some((Step::Adopt(server.id), Uptime::default())),
        (None, None) if course.end <= now || slot.is_releasing() => search(slot).map(patient),
        (None, None) => obtain(slot, course, reading).map(patient),
        (Some(id), _) if course.end <= now || slot.is_releasing() => {
            Some(give_back(id, &slot.learnt.removal))
        }
        (Some(id), _) => keep(slot, id, course).map(patient),
    };
    Next::at(step, reading)
}

/// What is next for a server that is to be deleted.
pub(crate) fn removal(id: ServerId, removal: &Removal, reading: Reading) -> Next {
    Next::at(removal.absent.is_none().then(|| give_back(id, removal)), reading)
}

impl Next {
    fn at(step: Option<(Step, Uptime)>, reading: Reading) -> Self {
        match step {
            Some((step, from)) if from <= reading.up => Self::Do(step),
            Some((_, from)) => Self::Wake(from),
            None => Self::Rest,
        }
    }
}

/// Gets a machine. Before a second call the server is looked for, also by a controller that did not make the first.
fn obtain(slot: &Slot<'_>, course: Course, reading: Reading) -> Option<(Step, Uptime)> {
    let attempted = slot.attempted().filter(|_| course.finalized)?;
    if slot.fault(reading).is_some() {
        return None;
    }
    let learnt = slot.learnt;
    let in_time =
        slot.limit().and_then(|(limit, _)| reading.uptime_at(limit)).is_some_and(|limit| reading.up < limit);
    if in_time && (learnt.searched.is_some() || (learnt.ours && learnt.sent == 0)) {
        return Some((Step::Create, learnt.again));
    }
    let others_turn = attempted.checked_add(OTHERS_TURN).ok().and_then(|at| reading.uptime_at(at));
    Some((
        Step::Find(Search::Lost),
        learnt.again.max(others_turn.filter(|_| !learnt.ours).unwrap_or_default()),
    ))
}

/// Makes sure that there is none. Not concluded before the giving back is persisted: a lease whose end has passed may still
/// be extended by somebody whom this controller has not seen.
fn search(slot: &Slot<'_>) -> Option<(Step, Uptime)> {
    let learnt = slot.learnt;
    match learnt.closed {
        Some(at) => Some((Step::Find(Search::Last), learnt.again.max(at.after(SETTLED)))),
        None if slot.is_releasing() => Some((Step::Find(Search::Closing), learnt.again)),
        None => learnt.searched.is_none().then_some((Step::Find(Search::Lost), learnt.again)),
    }
}

fn keep(slot: &Slot<'_>, id: ServerId, course: Course) -> Option<(Step, Uptime)> {
    if slot.missed {
        return Some((Step::Look(id), Uptime::default()));
    }
    let shielded = slot.labelled_until();
    // Somebody has put it back: a sweeper outside would take the machine for one that nobody needs.
    let put_back = slot.told.is_some_and(|told| told < course.expiry);
    if put_back
        || shielded.is_none_or(|until| until < course.expiry || (until > course.expiry && course.shortened))
    {
        return Some((Step::Label(id, course.expiry), Uptime::default()));
    }
    if slot.left {
        return Some((Step::Look(id), slot.learnt.seen.after(LOOK)));
    }
    (!slot.launched() && slot.learnt.failed != Some(Reason::CreationFailed))
        .then_some((Step::Poll(id, slot.learnt.action), slot.learnt.again))
}

const fn give_back(id: ServerId, removal: &Removal) -> (Step, Uptime) {
    match removal.looks {
        None => (Step::Delete(id), removal.again),
        Some(_) => (Step::Confirm(id), removal.again),
    }
}

/// Longer than from a controller's last look at the lease to the end of its create call, and than a provider takes to list
/// what it has accepted.
const SETTLED: SignedDuration = SignedDuration::from_secs(30);
/// A machine whose Node is gone may have lost its Node only.
const LOOK: SignedDuration = SignedDuration::from_mins(1);
/// A controller that finds the attempt of another lets it call first.
const OTHERS_TURN: SignedDuration = SignedDuration::from_secs(5);

#[cfg(test)]
mod tests;
