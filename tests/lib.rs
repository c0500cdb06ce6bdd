//! What the promises are tested with: a loopback cloud, a loopback cluster, and machines with real processes.
//!
//! Holds no promise itself. Whatever it reads, it reads from outside: the cloud's ledger, the Node, the machine's files.

mod call;
mod run;
pub mod told;
mod world;

pub use call::call;
pub use run::{Kept, Promise, run};
pub use world::{PROVIDER, World, agent_deletes, is_in_time, without_backstop};

use std::{path::Path, time::Duration};

/// The workspace.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| Path::new("."))
}

/// Seconds.
#[must_use]
pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Lists promises by the names of their functions.
#[macro_export]
macro_rules! promises {
    ($($name:ident),* $(,)?) => {
        &[$($crate::Promise { name: stringify!($name), keep: || Box::pin($name()) }),*]
    };
}
