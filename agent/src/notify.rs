//! What systemd is told. Without systemd every call does nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use sd_notify::NotifyState;

use crate::clocks;

/// The lifetime clock runs: the unit counts as started.
pub fn ready() {
    send(&[NotifyState::Ready]);
}

/// Says in words what is going on: `systemctl status` shows it.
pub fn status(words: &str) {
    send(&[NotifyState::Status(words)]);
}

/// The fuse's thread turns. Called by that thread only: a watchdog fed by another would outlive the fuse.
pub fn alive() {
    let (now, last) = (clocks::read().boot.millis().unsigned_abs(), LAST_ALIVE.load(Ordering::Relaxed));
    if now.abs_diff(last) >= ALIVE_EVERY_MILLIS {
        LAST_ALIVE.store(now, Ordering::Relaxed);
        send(&[NotifyState::Watchdog]);
    }
}

fn send(state: &[NotifyState<'_>]) {
    // Nobody depends on it: a service manager that hears nothing restarts the agent, which is what it is for.
    let _ = sd_notify::notify(state);
}

static LAST_ALIVE: AtomicU64 = AtomicU64::new(0);

/// `WatchdogSec` must be well above this and above one attempt to delete.
const ALIVE_EVERY_MILLIS: u64 = 1_000;
