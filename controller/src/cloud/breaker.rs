//! Leaves a provider in peace that keeps failing, and finds out by one call at a time whether it is back. Pure.
//!
//! A deletion is never held back: it goes out while the breaker is open, and its success closes it.

use jiff::SignedDuration;

use super::Urgency;
use crate::clock::Uptime;

/// One breaker of one account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Breaker {
    state: State,
    /// Tells a probe from those of earlier outages, whose answers may come late.
    probes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed { failed: u32 },
    Open { until: Uptime, pause: SignedDuration },
    HalfOpen { probe: u64, pause: SignedDuration },
}

/// Leave to make one call. To be handed back with its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// One of many.
    Ordinary,
    /// The only call that is let through, to see.
    Probe(u64),
}

/// How a call ended, as far as the provider's health goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It was answered, with a refusal perhaps.
    Answered,
    /// It was not, or by an error of the provider's own.
    Failed,
    /// Nobody waited for the end: it says nothing.
    Abandoned,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { state: State::Closed { failed: 0 }, probes: 0 }
    }
}

impl Breaker {
    /// Lets a call through, or says how long to wait before asking again.
    pub(crate) fn admit(&mut self, urgency: Urgency, up: Uptime) -> Result<Pass, SignedDuration> {
        match self.state {
            _ if urgency == Urgency::Deletion => Ok(Pass::Ordinary),
            State::Closed { .. } => Ok(Pass::Ordinary),
            State::Open { until, pause } if until <= up => {
                self.probes += 1;
                self.state = State::HalfOpen { probe: self.probes, pause };
                Ok(Pass::Probe(self.probes))
            }
            State::Open { until, .. } => Err(until.since(up)),
            State::HalfOpen { .. } => Err(WHILE_PROBING),
        }
    }

    /// A call that was let through has ended.
    pub(crate) fn ended(&mut self, pass: Pass, end: End, up: Uptime) {
        let ours =
            matches!((self.state, pass), (State::HalfOpen { probe, .. }, Pass::Probe(p)) if p == probe);
        self.state = match (self.state, end) {
            (_, End::Answered) => State::Closed { failed: 0 },
            (State::Closed { failed }, End::Failed) if failed + 1 < OPENS_AFTER => {
                State::Closed { failed: failed + 1 }
            }
            (State::Closed { .. }, End::Failed) => {
                State::Open { until: up.after(FIRST_PAUSE), pause: FIRST_PAUSE }
            }
            (State::HalfOpen { pause, .. }, End::Failed) if ours => {
                let pause = (pause + pause).min(LAST_PAUSE);
                State::Open { until: up.after(pause), pause }
            }
            // The next one may try at once.
            (State::HalfOpen { pause, .. }, End::Abandoned) if ours => State::Open { until: up, pause },
            // A call from before the breaker opened, or a deletion: neither postpones the probe.
            (state, End::Failed | End::Abandoned) => state,
        };
    }
}

/// Failures in a row.
const OPENS_AFTER: u32 = 5;
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(5);
const LAST_PAUSE: SignedDuration = SignedDuration::from_secs(60);
/// A probe lasts at most one time-out; asking again costs nothing.
const WHILE_PROBING: SignedDuration = SignedDuration::from_secs(1);

#[cfg(test)]
mod tests;
