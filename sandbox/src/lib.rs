//! Under construction.
pub mod cloud;
