//! Moving work away before the machine goes: the Node cordoned, its pods evicted, and both only while there is time.
//!
//! ```text
//! Node ─▶ follow ─▶ Orders ─┐
//! fuse ─▶ View ─────────────┴─▶ decide ─▶ Rest | Drain ─▶ cordon, pods ─▶ node (eviction API)
//!                                                | Undo ──▶ node (uncordon)
//! ```
//!
//! `decide` and `pods` are pure. The fuse neither waits for this nor knows of it: whatever hangs here, the machine goes at
//! its time. Nothing here touches a Node that carries no grace, and nothing uncordons what the agent did not cordon.

mod decide;
mod drainer;
mod pods;
mod tries;

pub use decide::{Action, Announced, Cordon, Mark, Orders, Situation, cordon, decide};
pub use drainer::Drainer;
pub use pods::{Fate, fate};
