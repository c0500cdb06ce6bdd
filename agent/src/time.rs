//! The two kinds of time, as types that cannot be mixed. Pure: reading a clock is [`crate::clocks`]' alone.
//!
//! [`Boot`] is what the machine can vouch for: it runs through suspend and no change of the system time moves it.
//! [`Wall`] is what people and the API server speak. The difference between the two is an [`Offset`], and the only
//! way from one to the other is through one.

use std::{fmt, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Milliseconds of `CLOCK_BOOTTIME`. Negative for an instant before this boot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Boot(i64);

/// Milliseconds since 1970, UTC: cluster time, or the machine's own wall clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Wall(i64);

/// A span in milliseconds, either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(i64);

/// Wall time less boot time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offset(i64);

/// One look at the machine's clocks, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// `CLOCK_BOOTTIME`.
    pub boot: Boot,
    /// `CLOCK_REALTIME`: anything at all, in either direction.
    pub real: Wall,
    /// Time spent suspended in this boot: `CLOCK_BOOTTIME` less `CLOCK_MONOTONIC`.
    pub suspended: Span,
}

impl Boot {
    /// The start of this boot.
    pub const START: Self = Self(0);

    /// An instant, in milliseconds since the start of this boot.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the start of this boot.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The instant `span` later. Saturates.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The time from `earlier` to this. Saturates.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Wall {
    /// A time, in milliseconds since 1970.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The boot instant at which it is this time.
    #[must_use]
    pub const fn at(self, offset: Offset) -> Boot {
        Boot(self.0.saturating_sub(offset.0))
    }

    /// The time `span` later. Saturates.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The time from `earlier` to this. Saturates.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The same time for people and for the wire; the nearest there is if out of the calendar's range.
    #[must_use]
    pub fn timestamp(self) -> Timestamp {
        let edge = if self.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
        Timestamp::from_millisecond(self.0).unwrap_or(edge)
    }
}

impl From<Timestamp> for Wall {
    fn from(at: Timestamp) -> Self {
        Self(at.as_millisecond())
    }
}

impl Offset {
    /// The offset at which `wall` and `boot` are the same instant.
    #[must_use]
    pub const fn between(wall: Wall, boot: Boot) -> Self {
        Self(wall.0.saturating_sub(boot.0))
    }

    /// The wall time at a boot instant.
    #[must_use]
    pub const fn wall(self, boot: Boot) -> Wall {
        Wall(boot.0.saturating_add(self.0))
    }

    /// The offset `span` further. Saturates.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// How far this is ahead of `other`. Saturates.
    #[must_use]
    pub const fn ahead_of(self, other: Self) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of whole milliseconds.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// A span of whole seconds. Saturates.
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Whole milliseconds.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The same span the other way. Saturates.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self(self.0.saturating_neg())
    }

    /// Its length whichever way it points.
    #[must_use]
    pub const fn magnitude(self) -> Self {
        Self(self.0.saturating_abs())
    }

    /// As a time to wait: nothing if it points backwards.
    #[must_use]
    pub fn wait(self) -> Duration {
        Duration::from_millis(u64::try_from(self.0).unwrap_or(0))
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&curfew_contract::duration::format(jiff::SignedDuration::from_millis(self.0)))
    }
}

impl fmt::Debug for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "boot+{}", Span(self.0))
    }
}

impl fmt::Debug for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.timestamp())
    }
}
