//! The fuse: the part of the agent that must work when nothing else does.
//!
//! ```text
//! Date headers ─▶ ClusterClock ─┐
//! deadlines ────▶ Held ─────────┼─▶ Fuse ─▶ verdict(fuse, now) ─▶ Wait | Confirm | Fire
//! ledger, flags ─▶ lifetime ────┘                    ▲
//!                                    thread.rs: an OS thread, timers, and nothing that can block
//! ```
//!
//! Everything but `thread` is pure. Nothing here may open a file or a connection, or wait for anybody who does.

mod cluster_clock;
mod held;
mod verdict;

pub use cluster_clock::{Answered, Bounds, ClusterClock};
pub use held::{Held, LATER_AT_MOST, RESPITE};
pub use verdict::{CONFIRM_WITHIN, Fuse, Verdict, verdict};
