//! Under construction.

pub mod clocks;
pub mod fuse;
pub mod ledger;
pub mod time;
