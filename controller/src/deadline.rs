//! When a Node's deadline is rewritten, and to what. Pure.
//!
//! The value is a function of the present time and the leases alone, so two controllers that both write it agree
//! to within their clocks, and a write that is repeated does no harm.

use curfew_contract::{Deadline, Grace, Instruction};
use jiff::{SignedDuration, Timestamp};

use crate::{
    hold::{Claim, Wish},
    observe::{Lease, Node},
};

/// What is to be done about a Node's deadline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision<'a> {
    /// Nothing, until then.
    Stand(Option<Timestamp>),
    /// Nothing can be written: the Node has no `spec.providerID` yet.
    AwaitProviderId,
    /// This, now.
    Write(Write<'a>),
}

/// A deadline to be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write<'a> {
    pub(crate) instruction: Instruction,
    /// With less than this left, the machine moves its work away.
    pub(crate) grace: Option<Grace>,
    /// The deadline moves nearer on the word of this lease, which must be read again first: a stale view may
    /// lengthen a life, but never shorten one.
    pub(crate) shortens_for: Option<&'a Lease>,
}

/// Decides for one Node. Of several leases the earliest deadline counts, and with it the grace of its lease.
pub(crate) fn decide<'a>(node: &Node, claims: &[Claim<'a>], now: Timestamp) -> Decision<'a> {
    let Some(provider_id) = node.provider_id() else {
        return if claims.is_empty() { Decision::Stand(None) } else { Decision::AwaitProviderId };
    };
    let ours = node.deadline_for.as_deref() == Some(provider_id);
    let stands = node.instruction(now).ok().filter(|_| ours);
    let current = match stands {
        Some(Instruction::At(deadline)) => Some(deadline),
        _ => None,
    };
    let earliest = claims.iter().filter_map(|claim| Bound::of(claim, now)).min_by_key(|bound| bound.target);
    match (earliest, current) {
        (Some(bound), None) if bound.rolls.is_none() => Decision::Stand(None),
        (Some(bound), Some(current)) if bound.satisfied_by(current, now) => {
            let grace = bound.grace;
            if node.grace == grace.map(|grace| grace.to_string()) {
                Decision::Stand(bound.renewal(current))
            } else {
                Decision::Write(Write { instruction: Instruction::At(current), grace, shortens_for: None })
            }
        }
        (Some(bound), current) => Decision::Write(Write {
            instruction: Instruction::At(bound.target),
            grace: bound.grace,
            shortens_for: current.filter(|current| bound.target < *current).map(|_| bound.lease),
        }),
        (None, Some(_)) if claims.iter().any(|claim| claim.wish == Wish::Free) => {
            Decision::Write(Write { instruction: Instruction::NoDeadline, grace: None, shortens_for: None })
        }
        (None, _) => Decision::Stand(None),
    }
}

/// The deadline that one lease asks for.
struct Bound<'a> {
    lease: &'a Lease,
    grace: Option<Grace>,
    /// What is written.
    target: Deadline,
    /// What stands already may be as late as this.
    furthest: Deadline,
    /// No deadline may be later.
    limit: Option<Timestamp>,
    /// None is moved beyond it.
    shield: Option<Timestamp>,
    /// None: it only caps the deadline that stands.
    rolls: Option<curfew_contract::Watchdog>,
}

impl<'a> Bound<'a> {
    fn of(claim: &Claim<'a>, now: Timestamp) -> Option<Self> {
        let (furthest, limit, rolls) = match claim.wish {
            Wish::Roll(limit) => {
                let furthest = claim.watchdog.deadline(now, limit.unwrap_or(Timestamp::MAX));
                (furthest.ok()?, limit, Some(claim.watchdog))
            }
            Wish::Cap(expiry) => (Deadline::new(expiry).ok()?, Some(expiry), None),
            Wish::Free => return None,
        };
        let shield = claim.shield.filter(|_| rolls.is_some());
        let target = match shield {
            Some(until) => Deadline::new(until.min(furthest.at())).ok()?,
            None => furthest,
        };
        let grace = claim.watchdog.grace();
        Some(Self { lease: claim.lease, grace, target, furthest, limit, shield, rolls })
    }

    fn satisfied_by(&self, current: Deadline, now: Timestamp) -> bool {
        let within = self.limit.is_none_or(|limit| current.at() <= limit);
        match self.rolls {
            None => within,
            Some(watchdog) => {
                let too_far =
                    current.at() > self.furthest.at().saturating_add(TOLERANCE).unwrap_or(Timestamp::MAX);
                let due = current < self.target && watchdog.renew_at(current) < now;
                within && !too_far && !due
            }
        }
    }

    fn renewal(&self, current: Deadline) -> Option<Timestamp> {
        let last = [self.limit, self.shield].into_iter().flatten().min();
        let at_the_end = last.is_some_and(|last| last.duration_since(current.at()) < ONE_SECOND);
        let watchdog = self.rolls.filter(|_| !at_the_end)?;
        watchdog.renew_at(current).checked_add(SignedDuration::from_millis(10)).ok()
    }
}

/// The cluster's clock may be read a little earlier than at the last renewal: no reason to shorten.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(6);
/// A deadline has whole seconds; an end may have a fraction.
const ONE_SECOND: SignedDuration = SignedDuration::from_secs(1);

#[cfg(test)]
mod tests;
