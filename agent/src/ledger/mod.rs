//! The ledger: what the agent must still know after it was killed or the machine was rebooted.
//!
//! `record` says what is remembered and what it means later (pure); `store` keeps it on disk.

mod record;
mod store;

pub use record::{Machine, Record, Restored, VERSION, spent};
pub use store::{Found, Ledger};

#[cfg(test)]
mod tests;
