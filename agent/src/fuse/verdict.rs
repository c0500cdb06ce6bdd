//! The decision: wait, confirm, or fire. Pure: no I/O, no clock is read, nothing is logged.
//!
//! Two clocks; either fires; no third case. The lifetime is an instant of `CLOCK_BOOTTIME` that is only ever lowered.
//! The deadline is a [`Held`] that only the cluster's word moves. Nothing else in the agent decides when.

use curfew_contract::Cause;

use super::{ClusterClock, Held};
use crate::time::{Boot, Reading, Span, Wall};

/// Everything the decision depends on, besides cluster time and the clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fuse {
    /// When the lifetime ends. Only [`Fuse::cap_lifetime`] changes it, downwards.
    pub lifetime: Boot,
    /// First arming without a ledger: no deadline is acted upon before. It fails towards the bill, by ten minutes, so
    /// that an agent installed late on a machine in use shows itself before it does anything.
    pub hold_until: Option<Boot>,
    /// The last good deadline. `None`: none was ever learnt, or the cluster said `none`.
    pub deadline: Option<Held>,
    /// The deadline was read from the Node, in this process and since the last resume.
    pub confirmed: bool,
    /// Reading the Node was asked for before firing; the answer is awaited until then.
    pub confirm_by: Option<Boot>,
    /// Firing is final.
    pub firing: Option<Cause>,
    /// Suspended time already taken into account.
    pub suspended: Span,
    /// When the last resume was noticed.
    pub resumed: Option<Boot>,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Delete this machine.
    Fire(Cause),
    /// The deadline is about to pass, or has passed, but by a memory (the ledger's, or from before a suspend): read the
    /// Node once first.
    Confirm,
    /// Nothing before `until`.
    Wait {
        /// When to decide again at the latest.
        until: Boot,
        /// Which clock runs out first.
        cause: Cause,
    },
}

/// The decision.
#[must_use]
pub fn verdict(fuse: &Fuse, now: Boot) -> Verdict {
    if let Some(cause) = fuse.firing {
        return Verdict::Fire(cause);
    }
    if now >= fuse.lifetime {
        return Verdict::Fire(Cause::Lifetime);
    }
    let (fires, cause) = fuse.fires();
    let until = match (cause, fuse.confirmed, fuse.confirm_by) {
        // Lifetime asks nobody.
        (Cause::Lifetime, ..) | (_, true, _) => fires,
        (_, false, Some(by)) => fires.max(by).min(fuse.lifetime),
        // Asked early enough to fire on time where nobody answers.
        (_, false, None) if now.plus(CONFIRM_WITHIN) >= fires => return Verdict::Confirm,
        (_, false, None) => fires.plus(CONFIRM_WITHIN.reversed()),
    };
    if now < until { Verdict::Wait { until, cause } } else { Verdict::Fire(cause) }
}

impl Fuse {
    /// A fuse that knows nothing but a lifetime: armed before anything that can fail.
    #[must_use]
    pub const fn lit(lifetime: Boot, suspended: Span) -> Self {
        Self {
            lifetime,
            hold_until: None,
            deadline: None,
            confirmed: false,
            confirm_by: None,
            firing: None,
            suspended,
            resumed: None,
        }
    }

    /// When the machine will be deleted if nothing changes, and by which clock.
    #[must_use]
    pub fn fires(&self) -> (Boot, Cause) {
        let held = self.deadline.map(|held| self.hold_until.map_or(held.fires, |hold| held.fires.max(hold)));
        match held {
            Some(fires) if fires <= self.lifetime => (fires, Cause::Deadline),
            _ => (self.lifetime, Cause::Lifetime),
        }
    }

    /// Lowers the lifetime, for a bound that came from outside (the ledger's birth, the provider's creation time).
    /// Never below a minute from now, nor below the hold of a first arming: an outside bound is hearsay too.
    pub fn cap_lifetime(&mut self, cap: Boot, now: Boot) {
        let soonest = now.plus(super::RESPITE).max(self.hold_until.unwrap_or(now));
        self.lifetime = self.lifetime.min(cap.max(soonest));
    }

    /// The Node says `deadline` (`None`: the word `none`). A new one replaces the last, either way; the same one, seen
    /// again, changes no instant. `asked`: when the question was asked that this answers.
    pub fn learn(&mut self, deadline: Option<Wall>, asked: Option<Boot>, clock: &ClusterClock, now: Reading) {
        if self.deadline.map(|held| held.deadline) != deadline {
            let offset = clock.offset(now);
            let renews_what_is_due =
                |at: Wall| self.deadline.is_some_and(|held| held.fires <= now.boot && held.deadline < at);
            self.deadline = deadline.map(|at| {
                if renews_what_is_due(at) && at.at(offset) <= now.boot {
                    Held::missed(at, offset)
                } else {
                    Held::learnt(at, offset, now.boot)
                }
            });
        }
        if let Some(asked) = asked {
            self.confirm(asked);
        }
    }

    /// Cluster time has stepped. A deadline that only looked past on the time before is an ordinary one.
    pub fn reconsider(&mut self, clock: &ClusterClock, now: Reading) {
        let offset = clock.offset(now);
        self.deadline = self.deadline.map(|held| {
            let ahead = held.respite && held.deadline.at(offset) > now.boot;
            if ahead { Held::learnt(held.deadline, offset, now.boot) } else { held }
        });
    }

    /// A question that was asked then has been answered, and what is held is what the Node says, or the last good thing
    /// it said. An answer to a question from before a resume confirms nothing.
    pub fn confirm(&mut self, asked: Boot) {
        if self.resumed.is_none_or(|resumed| asked >= resumed) {
            self.confirmed = true;
            self.confirm_by = None;
        }
    }

    /// The Node is being read; its answer is awaited for [`CONFIRM_WITHIN`].
    pub fn await_confirmation(&mut self, now: Boot) {
        self.confirm_by = Some(now.plus(CONFIRM_WITHIN));
    }

    /// Takes the clocks into account: the deadline's instant follows cluster time, and after a suspend the Node is
    /// read again before its deadline is acted upon, since a renewal may have been missed.
    pub fn observe(&mut self, clock: &ClusterClock, now: Reading) {
        let offset = clock.offset(now);
        self.deadline = self.deadline.map(|held| held.adjusted(offset, clock.is_authenticated()));
        if now.suspended.millis() - self.suspended.millis() > RESUMED.millis() {
            self.confirmed = false;
            self.confirm_by = None;
            self.resumed = Some(now.boot);
        }
        self.suspended = now.suspended;
    }
}

/// How long whoever is about to fire on a memory waits for the Node to be read.
pub const CONFIRM_WITHIN: Span = Span::from_millis(10_000);

/// Suspended for longer than this is a resume; the difference of two clocks read one after the other is less.
const RESUMED: Span = Span::from_millis(1_000);
