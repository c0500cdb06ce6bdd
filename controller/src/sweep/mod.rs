//! The sweep: what outlived its lease goes. The last layer, for whatever every other one missed.
//!
//! ```text
//! provider's list ─▶ leases ─▶ doubt ─▶ plan ─▶ ending   run: in the cluster, each minute; orphan Nodes: nodes
//! provider's list ────────────────────▶ plan ─▶ ending   outside: anywhere, with a token and nothing else
//! ```
//!
//! `plan` and `doubt` are pure. Nothing is ever deleted that did not consent, or that another cluster rented.

mod args;
mod doubt;
mod ending;
#[cfg(test)]
mod fixture;
mod found;
mod nodes;
mod outside;
mod plan;
mod report;
mod run;

pub(crate) use args::SweepArgs;
pub(crate) use outside::outside;
pub(crate) use run::run;
