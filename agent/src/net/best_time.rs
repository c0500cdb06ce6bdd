//! The agent's best time, shared with TLS. Owns one number; who sets it decides what it is.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use rustls::{pki_types::UnixTime, time_provider::TimeProvider};

use crate::{
    clocks,
    time::{Boot, Offset, Reading, Wall},
};

/// Cluster time where it is known, else the machine's wall clock.
#[derive(Debug)]
pub struct BestTime(AtomicI64);

impl BestTime {
    /// With no offset yet: the machine's wall clock.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicI64::new(UNSET))
    }

    /// From now on, wall time is the boot clock plus `offset`.
    pub fn set(&self, offset: Offset) {
        self.0.store(offset.wall(Boot::START).millis(), Ordering::Relaxed);
    }

    /// The time it was at `reading`.
    #[must_use]
    pub fn at(&self, reading: Reading) -> Wall {
        match self.0.load(Ordering::Relaxed) {
            UNSET => reading.real,
            millis => Offset::between(Wall::from_millis(millis), Boot::START).wall(reading.boot),
        }
    }
}

impl Default for BestTime {
    fn default() -> Self {
        Self::new()
    }
}

impl TimeProvider for BestTime {
    /// TLS knows no time before 1970; a clock that far off reads as 1970.
    fn current_time(&self) -> Option<UnixTime> {
        let millis = u64::try_from(self.at(clocks::read()).millis()).unwrap_or(0);
        Some(UnixTime::since_unix_epoch(Duration::from_millis(millis)))
    }
}

const UNSET: i64 = i64::MIN;
