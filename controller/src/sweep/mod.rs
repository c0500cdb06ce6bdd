//! The sweep: what outlived its lease goes. The last layer, for whatever every other one missed.
//!
//! ```text
//! provider's list ─▶ doubt ─▶ plan ─▶ run       in the cluster, each minute; orphan Nodes: nodes
//! provider's list ──────────▶ plan ─▶ outside   anywhere, with a token and nothing else
//! ```
//!
//! `plan` and `doubt` are pure. Nothing is ever deleted that did not consent, or that another cluster rented.

mod doubt;
#[cfg(test)]
mod fixture;
mod plan;
