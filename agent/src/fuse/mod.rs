//! The fuse: the part of the agent that must work when nothing else does.
//!
//! ```text
//! Date headers ─▶ ClusterClock ─┐
//! deadlines ────▶ Held ─────────┼─▶ Fuse ─▶ verdict(fuse, now) ─▶ Wait | Confirm | Fire
//! ledger, flags ─▶ lifetime ────┘                    ▲
//!                        burning, thread, alarms: an OS thread, timers, and nothing that can block
//! ```
//!
//! `cluster_clock`, `held` and `verdict` are pure; the others are the thread. Nothing here may open a file or a connection, or wait for anybody who does.

mod alarms;
mod burning;
mod cluster_clock;
mod held;
mod thread;
mod verdict;

use alarms::Alarms;
use burning::Burning;
pub use burning::View;
use cluster_clock::STEP;
pub use cluster_clock::{Answered, Bounds, ClusterClock};
pub use held::{Held, LATER_AT_MOST, RESPITE};
pub use thread::{FuseHandle, Tell, light};
pub use verdict::{CONFIRM_WITHIN, Fuse, Verdict, verdict};
