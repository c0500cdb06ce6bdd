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
mod pods;
pub(crate) mod receipt;
pub(crate) mod residue;

use jiff::Timestamp;

use crate::{crd::Instance, observe::Lease};

pub(crate) use drain::Moving;
pub(crate) use pods::Pod;
pub(crate) use residue::Looked;

/// Since when the provider says that there is no such machine: as persisted, else as this controller was told.
pub(crate) fn absent(lease: &Lease, instance: &Instance) -> Option<Timestamp> {
    let kept = instance.receipt.as_ref().and_then(|receipt| receipt.absent_at.as_ref());
    let learnt = || lease.learnt.get(&instance.slot)?.removal.absent;
    kept.map(|at| at.0).or_else(learnt)
}
