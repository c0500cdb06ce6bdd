//! Gives a machine back: its work is moved away before, its remains are cleared away after, and what became of it is
//! written down.
//!
//! ```text
//! end − teardownGrace ─▶ drain (cordon, pods)      bounded by the end, waited for by nothing
//! end ─────────────────▶ rent deletes the server, and has its absence confirmed
//! absent ──────────────▶ cleanup (taint, volumes let go, Node deleted) ─▶ receipt
//!                    └─▶ residue (what goes on costing)
//! ```

pub(crate) mod cleanup;
mod cordon;
pub(crate) mod drain;
pub(crate) mod lookup;
mod pods;
mod receipt;
mod record;
pub(crate) mod residue;

use jiff::Timestamp;

use crate::crd::Instance;

pub(crate) use drain::Moving;
pub(crate) use pods::Pod;
pub(crate) use record::{is_cleared, record};
pub(crate) use residue::Looked;

/// Since when the provider says that there is no such machine, as persisted.
pub(crate) fn absent(instance: &Instance) -> Option<Timestamp> {
    instance.receipt.as_ref()?.absent_at.as_ref().map(|at| at.0)
}
