//! # The wire contract of curfew
//!
//! Two programs that never talk to each other directly agree on a few strings. This crate owns those strings
//! and what they mean; nothing else in the workspace spells them. It does no I/O, reads no clock, and knows
//! nothing of Kubernetes clients or HTTP: every time is an argument.
//!
//! ```text
//! controller ──[annotation::DEADLINE, DEADLINE_FOR, GRACE]─▶ Node ──▶ agent  deadline.rs grace.rs policy.rs
//! controller ◀──────[annotation::HEARTBEAT]─────────── Node ◀── agent      heartbeat.rs
//! agent ──[annotation::CORDONED_FOR]──▶ Node ──▶ agent, after a restart
//! controller ──[annotation::DRAINED_FOR]──▶ Node ──▶ controller, after a restart
//! controller ──[WatchdogArmed, from condition::assess]─▶ Node, CapacityLease  condition.rs
//! whoever rents ──[label::*]──▶ server at the provider ──▶ agent, sweeper   label.rs
//! ```
//!
//! **One writer for each fact.** Each key names who writes it, who reads it and what happens when it cannot be
//! read. None of these strings may ever change: a machine that was rented yesterday reads them today.

pub mod annotation;
pub mod condition;
pub mod deadline;
pub mod duration;
pub mod grace;
pub mod heartbeat;
pub mod label;
pub mod note;
pub mod policy;

pub use condition::{Assessment, Expected, Freshness, Reason};
pub use deadline::{Deadline, Instruction, Refusal};
pub use grace::{Grace, GraceRefusal};
pub use heartbeat::{Authority, Backstop, Cause, Heartbeat, Identity, Phase};
pub use note::Note;
pub use policy::Watchdog;
