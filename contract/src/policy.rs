//! The watchdog policy of a lease: how far ahead the deadline is written, and how often.
//!
//! Pure arithmetic on times that are given. A [`Watchdog`] cannot be invalid: its constructor is the only door.

use jiff::{SignedDuration, Timestamp};

use crate::{Deadline, Grace, Refusal, duration};

/// A policy that keeps its own promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    renew_interval: SignedDuration,
    slack: SignedDuration,
    grace: Option<Grace>,
}

/// Why a policy cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWatchdog {
    /// Each renewal is a write to the API server.
    #[error("renewInterval {} is shorter than 10s", duration::format(*.0))]
    RenewsTooOften(SignedDuration),
    /// One missed renewal must not delete a machine.
    #[error("slack {} is not longer than renewInterval", duration::format(*.0))]
    SlackTooShort(SignedDuration),
    /// With both controllers and cluster dead, slack is what the bill may run on.
    #[error("slack {} is longer than 24h", duration::format(*.0))]
    SlackTooLong(SignedDuration),
    /// The drain would begin while renewals are merely late.
    #[error("grace {} is negative or longer than half of slack", duration::format(*.0))]
    GraceTooLong(SignedDuration),
}

/// Where nobody says otherwise: `renewInterval` 1 m, `slack` 10 m, and the usual grace.
impl Default for Watchdog {
    fn default() -> Self {
        let grace = Grace::new(USUAL_GRACE).unwrap_or_default();
        Self { renew_interval: SignedDuration::from_mins(1), slack: SignedDuration::from_mins(10), grace }
    }
}

impl Watchdog {
    /// Checks the bounds that `deploy/` also states as CEL: `slack > renewInterval ≥ 10 s`, `slack ≤ 24 h`,
    /// `0 ≤ grace ≤ slack/2`.
    pub fn new(
        renew_interval: SignedDuration,
        slack: SignedDuration,
        grace: SignedDuration,
    ) -> Result<Self, InvalidWatchdog> {
        if renew_interval < SignedDuration::from_secs(10) {
            Err(InvalidWatchdog::RenewsTooOften(renew_interval))
        } else if slack <= renew_interval {
            Err(InvalidWatchdog::SlackTooShort(slack))
        } else if slack > SignedDuration::from_hours(24) {
            Err(InvalidWatchdog::SlackTooLong(slack))
        } else if grace > slack / 2 {
            Err(InvalidWatchdog::GraceTooLong(grace))
        } else {
            let grace = Grace::new(grace).map_err(|_| InvalidWatchdog::GraceTooLong(grace))?;
            Ok(Self { renew_interval, slack, grace })
        }
    }

    /// The grace of a lease that names none: two minutes, but no more than a policy with this slack may have.
    #[must_use]
    pub fn usual_grace(slack: SignedDuration) -> SignedDuration {
        (slack / 2).min(USUAL_GRACE)
    }

    /// How often the deadline is moved.
    #[must_use]
    pub const fn renew_interval(self) -> SignedDuration {
        self.renew_interval
    }

    /// How long a control-plane outage may last before every leased machine is deleted.
    #[must_use]
    pub const fn slack(self) -> SignedDuration {
        self.slack
    }

    /// With less than this left, the agent moves its work away. `None`: it moves none.
    #[must_use]
    pub const fn grace(self) -> Option<Grace> {
        self.grace
    }

    /// The deadline to write at `now` for a lease that ends at `expiry`.
    pub fn deadline(self, now: Timestamp, expiry: Timestamp) -> Result<Deadline, Refusal> {
        let rolling = now.checked_add(self.renew_interval + self.slack).unwrap_or(Timestamp::MAX);
        Deadline::new(rolling.min(expiry))
    }

    /// When the deadline `current` must have been rewritten: once less than `slack` remains.
    #[must_use]
    pub fn renew_at(self, current: Deadline) -> Timestamp {
        current.at().checked_sub(self.slack).unwrap_or(Timestamp::MIN)
    }
}

/// The notice that clouds give of a spot machine's end.
const USUAL_GRACE: SignedDuration = SignedDuration::from_mins(2);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::constant(1_796_068_800, 0);
    const fn secs(s: i64) -> SignedDuration {
        SignedDuration::from_secs(s)
    }

    #[test]
    fn a_policy_that_would_delete_on_one_missed_renewal_is_refused() {
        assert!(Watchdog::new(secs(60), secs(600), secs(300)).is_ok());
        assert!(Watchdog::new(secs(9), secs(600), secs(0)).is_err());
        assert!(Watchdog::new(secs(60), secs(60), secs(0)).is_err());
        assert!(Watchdog::new(secs(60), secs(86_401), secs(0)).is_err());
        assert!(Watchdog::new(secs(60), secs(600), secs(301)).is_err());
        assert!(Watchdog::new(secs(60), secs(600), secs(-1)).is_err());
    }

    #[test]
    fn the_policy_of_those_who_say_nothing_is_one_that_could_be_asked_for() {
        assert_eq!(Ok(Watchdog::default()), Watchdog::new(secs(60), secs(600), secs(120)));
    }

    #[test]
    fn the_usual_grace_is_one_that_a_policy_may_have() {
        for (slack, grace) in [(11, 5_500), (240, 120_000), (600, 120_000), (86_400, 120_000)] {
            let usual = Watchdog::usual_grace(secs(slack));
            assert_eq!(usual.as_millis(), grace);
            let policy = Watchdog::new(secs(10), secs(slack), usual).unwrap();
            assert_eq!(policy.grace().map(Grace::length), Some(usual));
        }
    }

    proptest! {
        #[test]
        fn between_two_renewals_at_least_slack_remains_and_never_more_than_the_lease(
            renew in 10_i64..3600, extra in 1_i64..7200, left in 0_i64..100_000
        ) {
            let policy = Watchdog::new(secs(renew), secs((renew + extra).min(86_400)), secs(0)).unwrap();
            let expiry = NOW + secs(left);
            let deadline = policy.deadline(NOW, expiry).unwrap();
            prop_assert!(deadline.at() <= expiry);
            let renewal = policy.renew_at(deadline).max(NOW);
            prop_assert!(deadline.at() == expiry || deadline.at().duration_since(renewal) >= policy.slack());
        }
    }
}
