//! The machine's clocks: the only file of the agent that reads them. Decides nothing.

use std::{fs, path::Path};

use nix::time::{ClockId, clock_gettime};

use crate::time::{Boot, Reading, Span, Wall};

/// Reads the clocks.
#[must_use]
pub fn read() -> Reading {
    let (boot, real, monotonic) =
        (millis(ClockId::CLOCK_BOOTTIME), millis(ClockId::CLOCK_REALTIME), millis(ClockId::CLOCK_MONOTONIC));
    Reading {
        boot: Boot::from_millis(boot),
        real: Wall::from_millis(real),
        suspended: Span::from_millis(boot.saturating_sub(monotonic).max(0)),
    }
}

/// Which boot this is: the kernel's random `boot_id`. `None` where `/proc` hides it; then the ledger is read as
/// another boot's, which costs precision and never the guarantee.
#[must_use]
pub fn boot_id() -> Option<String> {
    let id = fs::read_to_string(Path::new("/proc/sys/kernel/random/boot_id")).ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// The kernel refuses to read a clock only where it does not exist; all three have since Linux 2.6.39. A clock that
/// could not be read would be zero, that is: 1970, or just booted. Neither can delete a machine early.
fn millis(clock: ClockId) -> i64 {
    clock_gettime(clock)
        .map_or(0, |t| t.tv_sec().saturating_mul(1000).saturating_add(t.tv_nsec() / 1_000_000))
}
