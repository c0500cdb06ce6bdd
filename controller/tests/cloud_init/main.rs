//! The renderer's documents, and the bootstrap script in them, run as it is shipped on machines that lack this or that.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "tests")]

mod again;
mod delivery;
mod elsewhere;
mod joining;
mod machine;
mod mirror;
mod rendering;
