//! A loopback cloud and a loopback cluster, in which real agents and controllers keep the promise.

pub mod cloud;
pub mod cluster;
