//! Rents a lease's machines, and has each of them deleted: at the lease's end, to the second, or when it is of no use.
//!
//! ```text
//! accept ─▶ (status: acceptedAt, selection, an attempt for each slot)         before any call
//! status + learnt + the provider's list + Nodes ─▶ slot ─▶ plan ─▶ act ─▶ learnt ─▶ report ─▶ status
//! ```
//!
//! `accept`, `slot`, `plan`, `report` are pure; `act` is the shell. Never orders what it could not find again, and never
//! deletes a server that does not say it is this very lease's.

mod accept;
mod act;
mod census;
mod jobs;
mod learnt;
mod name;
mod order;
mod plan;
mod reason;
mod report;
#[cfg(test)]
mod sim;
mod slot;
mod user_data;

pub(crate) use accept::{Refusal, verdict};
pub(crate) use act::run;
pub(crate) use learnt::{Learnt, Removal};
pub(crate) use reason::Reason;
pub(crate) use report::{attempted, instances};
pub(crate) use slot::{Slot, is_over};
pub(crate) use user_data::fault as template_fault;
