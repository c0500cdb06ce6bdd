//! Under construction.
pub mod cluster;
