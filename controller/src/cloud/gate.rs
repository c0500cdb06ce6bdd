//! Who may call now: budget and breaker under one lock, and the ticket that hands a call's end back to both.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use curfew_provider::Answer;
use jiff::SignedDuration;

use super::{
    Urgency,
    breaker::{Breaker, End, Pass},
    budget::Budget,
};
use crate::clock::{Uptime, uptime};

/// Why a call was not made. It costs nothing to ask again after `wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Held {
    /// What is left of the rate limit is kept for more urgent calls.
    #[error("little is left of the provider's rate limit, and it is kept for deletions")]
    Budget { wait: SignedDuration },
    /// The provider failed several times in a row.
    #[error("the provider failed several times in a row and is asked again soon")]
    Breaker { wait: SignedDuration },
}

/// Shared by everyone who uses one account.
#[derive(Clone, Debug, Default)]
pub(super) struct Gate(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    budget: Budget,
    breaker: Breaker,
    denied: Option<Uptime>,
}

impl Gate {
    pub(super) fn enter(&self, urgency: Urgency) -> Result<Ticket, Held> {
        let pass = self.lock().enter(urgency, uptime())?;
        Ok(Ticket { gate: self.clone(), pass, settled: false })
    }

    /// When the credential was refused last.
    pub(super) fn denied(&self) -> Option<Uptime> {
        self.lock().denied
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The budget is asked last: what the breaker holds back must not be taken out of it; and what the budget holds
    /// back must not be the probe.
    fn enter(&mut self, urgency: Urgency, up: Uptime) -> Result<Pass, Held> {
        let pass = self.breaker.admit(urgency, up).map_err(|wait| Held::Breaker { wait })?;
        self.budget.take(urgency, up).map_err(|wait| {
            self.breaker.ended(pass, End::Abandoned, up);
            Held::Budget { wait }
        })?;
        Ok(pass)
    }
}

/// One call under way. Dropped without an answer, it says nothing about the provider, and makes room.
#[derive(Debug)]
pub(super) struct Ticket {
    gate: Gate,
    pass: Pass,
    settled: bool,
}

impl Ticket {
    /// An answer came. `denied`: it faults the credential.
    pub(super) fn answered(mut self, answer: &Answer, denied: bool) {
        let end = if answer.status() >= 500 { End::Failed } else { End::Answered };
        self.settle(end, Some(answer));
        if denied {
            self.gate.lock().denied = Some(uptime());
        }
    }

    /// None came.
    pub(super) fn failed(mut self) {
        self.settle(End::Failed, None);
    }

    fn settle(&mut self, end: End, answer: Option<&Answer>) {
        let up = uptime();
        let mut inner = self.gate.lock();
        inner.breaker.ended(self.pass, end, up);
        inner.budget.ended(answer.and_then(Answer::budget), up);
        if answer.is_some_and(|answer| answer.status() == 429 && answer.budget().is_none()) {
            inner.budget.exhausted(up);
        }
        drop(inner);
        self.settled = true;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.settled {
            self.settle(End::Abandoned, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_the_budget_holds_back_makes_room_for_the_next() {
        let (mut inner, up) = (Inner::default(), Uptime::default());
        for _ in 0..5 {
            inner.breaker.ended(Pass::Ordinary, End::Failed, up);
        }
        inner.budget.exhausted(up);
        let later = up.after(SignedDuration::from_secs(5));
        assert!(matches!(inner.enter(Urgency::Look, later), Err(Held::Budget { .. })));
        let refilled = up.after(SignedDuration::from_hours(1));
        assert!(matches!(inner.enter(Urgency::Look, refilled), Ok(Pass::Probe(_))));
    }
}
