//! The ledger: what the agent must still know after it was killed or the machine was rebooted.
//!
//! `record` says what is remembered and what it means later (pure); `store` keeps it on disk; `scribe` are the threads that
//! write it, so that nobody waits for a disk.

mod record;
mod scribe;
mod store;

pub use record::{LONGEST_LIFETIME, Machine, Record, Restored, SHORTEST_LIFETIME, spent};
pub use scribe::Scribe;
pub use store::{Found, Ledger};

#[cfg(test)]
mod tests;
