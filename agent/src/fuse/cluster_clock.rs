//! Cluster time: what the wall clock says where the deadline was written. Pure.
//!
//! The machine's own wall clock may say anything. So cluster time is learnt from the `Date` of authenticated answers
//! of the API server and carried by `CLOCK_BOOTTIME` between them. `Date` has whole seconds; each answer therefore
//! bounds the offset between the two clocks from both sides, and the bounds of several answers, whose fractions
//! differ, narrow each other. The machine's own clock only chooses *within* those bounds: where it agrees with every
//! answer it supplies the fraction of the second, and where it does not it is ignored.

use serde::{Deserialize, Serialize};

use crate::time::{Boot, Offset, Reading, Span, Wall};

/// What one authenticated 2xx answer of the API server says of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Its `Date` header: the second in which it was stamped, cut.
    pub date: Wall,
    /// Just before the request was sent.
    pub sent: Boot,
    /// Just after the head of the answer had come.
    pub received: Boot,
}

/// Bounds of the offset, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    least: Offset,
    most: Offset,
}

/// Cluster time, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterClock {
    /// Until a first answer in this boot: never less than the ledger's high-water mark, carried by uptime.
    floor: Option<Offset>,
    known: Option<Known>,
    step: Option<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    bounds: Bounds,
    at: Boot,
}

/// A change too large to be believed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    bounds: Bounds,
    since: Boot,
}

impl Bounds {
    /// An answer stamped at `date` was stamped between sending and receiving, in the second that began at `date`.
    fn from_answer(answer: Answered) -> Self {
        Self {
            least: Offset::between(answer.date, answer.received),
            most: Offset::between(answer.date.plus(DATE_RESOLUTION), answer.sent),
        }
    }

    const fn exactly(offset: Offset) -> Self {
        Self { least: offset, most: offset }
    }

    /// The bounds after `elapsed`, in which two good clocks may have drifted apart.
    fn drifted(self, elapsed: Span) -> Self {
        let drift = Span::from_millis(elapsed.millis().max(0) / DRIFT);
        Self { least: self.least.plus(drift.reversed()), most: self.most.plus(drift) }
    }

    fn intersection(self, other: Self) -> Option<Self> {
        let both = Self { least: self.least.max(other.least), most: self.most.min(other.most) };
        (both.least <= both.most).then_some(both)
    }

    /// How far apart two bounds lie; zero if they overlap.
    fn gap(self, other: Self) -> Span {
        self.least.ahead_of(other.most).max(other.least.ahead_of(self.most)).max(Span::ZERO)
    }
}

impl ClusterClock {
    /// A clock before any answer in this boot. `floor` is the ledger's high-water mark as an offset.
    #[must_use]
    pub const fn guessing(floor: Option<Offset>) -> Self {
        Self { floor, known: None, step: None }
    }

    /// A clock that was authenticated earlier in this boot, by bounds last confirmed at `at`.
    #[must_use]
    pub const fn restored(bounds: Bounds, at: Boot) -> Self {
        Self { floor: None, known: Some(Known { bounds, at }), step: None }
    }

    /// Takes an answer into account. Small changes count as they come. A step of more than 5 s counts once
    /// later answers have confirmed it for a minute: one API server with a wrong clock must not take a
    /// fleet with it. It fails towards the old time, and says so in the heartbeat.
    ///
    /// A first answer that contradicts what the ledger and the machine's own clock say together is such a step too;
    /// until it is confirmed, the earlier of the two counts. That costs a minute of bill, and nobody a machine.
    pub fn answered(&mut self, answer: Answered, now: Reading) {
        let heard = Bounds::from_answer(answer);
        let at = answer.received;
        let own = Offset::between(now.real, now.boot);
        let believed = match (self.known, self.floor) {
            (Some(known), _) => {
                let current = known.bounds.drifted(at.since(known.at));
                if current.gap(heard) <= STEP {
                    current.intersection(heard).unwrap_or(heard)
                } else if self.confirms_step(heard, at) {
                    heard
                } else {
                    return;
                }
            }
            (None, Some(floor))
                if own >= floor
                    && Bounds::exactly(own).gap(heard) > STEP
                    && !self.confirms_step(heard, at) =>
            {
                return;
            }
            (None, _) => heard,
        };
        self.known = Some(Known { bounds: believed, at });
        self.step = None;
    }

    fn confirms_step(&mut self, heard: Bounds, now: Boot) -> bool {
        let since = match self.step {
            Some(step) if step.bounds.gap(heard) <= STEP => step.since,
            _ => now,
        };
        self.step = Some(Step { bounds: heard, since });
        now.since(since) >= STEP_CONFIRMED
    }

    /// Whether an answer has come in this boot.
    #[must_use]
    pub const fn is_authenticated(&self) -> bool {
        self.known.is_some()
    }

    /// Whether a step is being confirmed.
    #[must_use]
    pub const fn is_stepping(&self) -> bool {
        self.step.is_some()
    }

    /// Cluster time less boot time.
    #[must_use]
    pub fn offset(&self, now: Reading) -> Offset {
        let own = Offset::between(now.real, now.boot);
        match (self.known, self.floor) {
            (Some(Known { bounds, .. }), _) if own < bounds.least || own > bounds.most => bounds.least,
            (Some(_), _) | (None, None) => own,
            (None, Some(floor)) => {
                let guess = own.max(floor);
                self.step.map_or(guess, |step| guess.min(step.bounds.least).max(floor))
            }
        }
    }

    /// Cluster time.
    #[must_use]
    pub fn wall(&self, now: Reading) -> Wall {
        self.offset(now).wall(now.boot)
    }

    /// How far the machine's own clock is ahead of cluster time, if both are known and differ by more than the
    /// resolution of either.
    #[must_use]
    pub fn skew(&self, now: Reading) -> Option<Span> {
        let skew = Offset::between(now.real, now.boot).ahead_of(self.offset(now));
        (self.is_authenticated() && skew.magnitude() > DATE_RESOLUTION).then_some(skew)
    }

    /// For the ledger: the bounds and when they were last confirmed.
    #[must_use]
    pub fn bounds(&self) -> Option<(Bounds, Boot)> {
        self.known.map(|known| (known.bounds, known.at))
    }

    /// A time that cluster time is certainly not before, for the ledger.
    #[must_use]
    pub fn high_water(&self, now: Boot) -> Option<Wall> {
        self.known.map(|known| known.bounds.least).or(self.floor).map(|offset| offset.wall(now))
    }
}

/// A `Date` header is cut to whole seconds.
const DATE_RESOLUTION: Span = Span::from_millis(1000);

/// Two clocks that are each within 100 ppm of the truth drift by one part in this many.
const DRIFT: i64 = 5_000;

/// A change by more than this is a step.
pub(super) const STEP: Span = Span::from_millis(5_000);

/// For how long a step must be confirmed.
const STEP_CONFIRMED: Span = Span::from_millis(60_000);

#[cfg(test)]
mod tests;
