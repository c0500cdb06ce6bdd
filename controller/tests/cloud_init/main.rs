//! The renderer's documents, and the bootstrap script in them, run as it is shipped on machines that lack this or that.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "tests")]

mod again;
mod delivery;
mod elsewhere;
mod joining;
mod leases;
mod left_alone;
mod machine;
mod mirror;
mod rendering;

use std::io::Write;

/// Says loudly that this machine has not what a check takes. Not by `eprintln`, which is swallowed where a test passes.
pub(crate) fn not_checked(why: &str) {
    let _ = writeln!(std::io::stderr(), "NOT CHECKED: {why}");
}
