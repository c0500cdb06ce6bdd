//! The timers that wake the fuse's thread. They only wake: what to do is decided from the clocks, every time.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::{
    time::TimeSpec,
    timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
};

use crate::time::{Boot, Wall};

/// A timer on `CLOCK_BOOTTIME`, which runs through suspend, and one on `CLOCK_REALTIME`, which also wakes when the
/// wall clock is set in either direction.
pub(super) struct Alarms {
    boot: TimerFd,
    real: TimerFd,
}

impl Alarms {
    /// Two timers, not set.
    pub(super) fn new() -> nix::Result<Self> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        Ok(Self {
            boot: TimerFd::new(ClockId::CLOCK_BOOTTIME, flags)?,
            real: TimerFd::new(ClockId::CLOCK_REALTIME, flags)?,
        })
    }

    /// Wakes at `until`, at the wall-clock time `deadline` if there is one, and whenever the wall clock is set.
    /// A timer that cannot be set is no disaster: the thread also turns by itself every two seconds.
    pub(super) fn set(&self, until: Boot, deadline: Option<Wall>, real: Wall) {
        for timer in [&self.boot, &self.real] {
            drain(timer);
        }
        let absolute = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
        let _ = self.boot.set(at(until.millis()), absolute);
        // One that is past already would wake for ever; the wall clock may be wrong, and the boot timer decides.
        let deadline = deadline.filter(|at| *at > real).map_or(FAR_FUTURE_MILLIS, Wall::millis);
        let _ = self.real.set(at(deadline), absolute | TimerSetTimeFlags::TFD_TIMER_CANCEL_ON_SET);
    }

    /// What to poll.
    pub(super) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.boot.as_fd(), self.real.as_fd()]
    }
}

/// A one-shot at an absolute time. Zero would disarm the timer, so what is past already is a moment after the epoch.
fn at(millis: i64) -> Expiration {
    let millis = millis.clamp(1, FAR_FUTURE_MILLIS);
    Expiration::OneShot(TimeSpec::new(millis / 1000, (millis % 1000) * 1_000_000))
}

/// Takes an expiry or a cancellation off the timer, so that it does not wake twice. `TimerFd::wait` would hide the
/// cancellation, and block where there is neither.
fn drain(timer: &TimerFd) {
    let _ = nix::unistd::read(timer.as_fd(), &mut [0; 8]);
}

/// The year 2200: `timerfd` counts in 64-bit nanoseconds, which end in 2262.
const FAR_FUTURE_MILLIS: i64 = 7_258_118_400_000;
