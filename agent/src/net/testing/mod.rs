//! Real TLS servers on loopback for the tests, with certificates of their own making. Their only script is a function
//! from what was asked to what goes out on the wire.

mod authority;
mod server;

use std::{path::PathBuf, sync::Arc};

use jiff::Timestamp;
use tempfile::TempDir;

pub(crate) use authority::{Authority, Pair};
pub(crate) use server::{Asked, Reply, Server};

use crate::{clocks, net::BestTime, time::Offset};

/// A best time at which it now is `at`.
pub(crate) fn best_time(at: &str) -> Arc<BestTime> {
    let best_time = BestTime::new();
    let at: Timestamp = at.parse().unwrap();
    best_time.set(Offset::between(at.into(), clocks::read().boot));
    Arc::new(best_time)
}

/// Some time within every certificate's validity, unless the test says otherwise.
pub(crate) const NOW: &str = "2026-05-01T12:00:00Z";

/// Writes a file.
pub(crate) fn file(dir: &TempDir, name: &str, content: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}
