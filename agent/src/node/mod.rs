//! This machine's own Node, spoken to with the credential the kubelet already has.
//!
//! Owns the kubeconfig, the requests and the reading of their answers. Touches one annotation of one Node. Decides
//! nothing about deadlines: it hands on what was said, and when.

mod api;
mod connection;
mod error;
pub mod kubeconfig;
mod name;
mod seen;
mod watch;

pub use api::{NodeApi, Options};
pub use error::ApiError;
pub use name::{NodeName, NodeNameError};
pub use seen::Seen;
pub use watch::{Ended, Event};

#[cfg(test)]
mod testing;
