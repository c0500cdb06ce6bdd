//! Under construction.

pub mod clocks;
pub mod net;
pub mod node;
pub mod time;
