//! This machine's own Node, spoken to with the credential the kubelet already has.
//!
//! Owns the kubeconfig, the requests and the reading of their answers. Touches two annotations and the
//! cordon of one Node, and its pods. Decides nothing: it hands on what was said, and when.

mod api;
mod connection;
mod error;
mod items;
pub mod kubeconfig;
mod name;
mod pods;
mod seen;
mod watch;
mod work;

pub use api::{NodeApi, Options};
pub use error::ApiError;
pub use name::{NodeName, NodeNameError};
pub use pods::Pod;
pub use seen::Seen;
pub use watch::{Ended, Event};

#[cfg(test)]
mod testing;
