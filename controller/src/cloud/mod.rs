//! A provider as reached from here: one [`Account`] for each credential, shared by everyone who uses it.
//!
//! ```text
//! Account (typed calls) ─▶ gate: budget, breaker (pure) ─▶ transport ─▶ the provider
//! ```
//!
//! What is said and what an answer means is the driver's. Nothing here decides to delete anything, and nothing here
//! ever holds a deletion back.

mod account;
mod breaker;
mod budget;
mod error;
mod gate;
#[cfg(test)]
mod testing;
mod transport;

pub(crate) use account::Account;
pub(crate) use error::CallError;
use error::TransportError;
pub(crate) use gate::Held;
pub(crate) use transport::{Endpoint, Plain};

/// How much a call matters: who goes first when little is left of the rate limit, or when the provider is failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// Ends a bill. Is never held back.
    Deletion,
    /// A machine waits for it. Leaves the deletions their reserve.
    Work,
    /// Can be asked again later. Leaves the work its share too.
    Look,
}
