//! Under construction.

pub mod clocks;
pub mod time;
