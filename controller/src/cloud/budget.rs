//! What is left of the provider's rate limit, as its answers told. Pure.
//!
//! The limit is the project's: every agent and every other program draws from it too. A deletion is never held back.

use curfew_provider::RateBudget;
use jiff::SignedDuration;

use super::Urgency;
use crate::clock::Uptime;

/// A token bucket in the provider's hands, as seen from here. Nothing is known before the first answer, and then
/// nothing is held back: that answer will tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget {
    known: Option<Known>,
    /// Sent and not answered: an answer may or may not have counted them.
    in_flight: u32,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// Calls an hour. At least one.
    limit: u32,
    /// In calls times [`HOUR`]: the bucket grows by `limit` each millisecond. Below zero where deletions overdrew it.
    level: i64,
    at: Uptime,
}

impl Budget {
    /// Takes one call out, or says how long to wait until there is one for this urgency.
    pub(crate) fn take(&mut self, urgency: Urgency, up: Uptime) -> Result<(), SignedDuration> {
        if let Some(known) = &mut self.known {
            known.refill(up);
            let after = known.level - HOUR;
            let missing = known.reserve(urgency).map_or(0, |reserve| reserve - after);
            if missing > 0 {
                let grows = SignedDuration::from_millis(missing.div_euclid(known.limit.into()) + 1);
                return Err(known.at.since(up) + grows);
            }
            known.level = after.max(-known.full());
        }
        self.in_flight = self.in_flight.saturating_add(1);
        Ok(())
    }

    /// A call has ended; `told` is what its answer said, if it came and said so.
    pub(crate) fn ended(&mut self, told: Option<RateBudget>, up: Uptime) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(RateBudget { limit, remaining }) = told {
            let known = Known { limit: limit.max(1), level: 0, at: up };
            let level = (i64::from(remaining) - i64::from(self.in_flight)) * HOUR;
            self.known = Some(Known { level: level.min(known.full()), ..known });
        }
    }

    /// The provider answered that nothing is left, without saying of how much.
    pub(crate) fn exhausted(&mut self, up: Uptime) {
        let limit = self.known.map_or(USUAL_LIMIT, |known| known.limit);
        self.known = Some(Known { limit, level: 0, at: up });
    }

    /// Calls left now, if that is known.
    #[cfg(test)]
    fn left(&mut self, up: Uptime) -> Option<i64> {
        self.known.as_mut().map(|known| {
            known.refill(up);
            known.level.div_euclid(HOUR)
        })
    }
}

impl Known {
    fn full(&self) -> i64 {
        i64::from(self.limit) * HOUR
    }

    fn refill(&mut self, up: Uptime) {
        let passed = up.since(self.at).as_millis().clamp(0, i128::from(LONG));
        let grown = i64::from(self.limit) * i64::try_from(passed).unwrap_or(LONG);
        self.level = (self.level + grown).min(self.full());
        self.at = self.at.max(up);
    }

    /// What must be left after a call, if it may be held back at all.
    fn reserve(&self, urgency: Urgency) -> Option<i64> {
        match urgency {
            Urgency::Deletion => None,
            Urgency::Work => Some(self.full() / 10),
            Urgency::Look => Some(self.full() / 4),
        }
    }
}

/// In milliseconds.
const HOUR: i64 = 3_600_000;
/// Long enough for any bucket to be full, however overdrawn.
const LONG: i64 = 4 * HOUR;
/// Calls an hour in a new project. Source: <https://docs.hetzner.cloud/reference/cloud#rate-limiting>.
const USUAL_LIMIT: u32 = 3600;

#[cfg(test)]
mod tests;
