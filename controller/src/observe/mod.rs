//! What is known of the cluster: every lease, every Node, every provider's configuration, and who the cluster is.
//!
//! Filled by the watches ([`crate::watch`]) and by the answers to our own writes. Holds facts and decides nothing.

mod checks;
mod departed;
mod lease;
mod node;
mod provider;

use std::collections::BTreeMap;

pub(crate) use checks::{Checked, Checks, Fault};
pub(crate) use departed::{Departed, LastWord};
pub(crate) use lease::{FINALIZER, Lease};
pub(crate) use node::{Full, Node};
pub(crate) use provider::{IN_USE, Listed, Provider, References, Swept};

/// Everything that decisions are made from.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own: whether a kind has been listed once"
)]
pub(crate) struct World {
    pub(crate) leases: BTreeMap<String, Lease>,
    pub(crate) nodes: BTreeMap<String, Node>,
    pub(crate) providers: BTreeMap<String, Provider>,
    /// UID of the namespace `kube-system`: which cluster this is.
    pub(crate) cluster: Option<String>,
    pub(crate) leases_listed: bool,
    pub(crate) nodes_listed: bool,
    pub(crate) providers_listed: bool,
    /// `VolumeAttachment`s, and the Node that each names.
    pub(crate) attachments: BTreeMap<String, String>,
    pub(crate) attachments_listed: bool,
    /// What was last heard of machines whose Nodes are gone, by providerID.
    pub(crate) departed: Departed,
}

impl World {
    /// Whether leases and Nodes have been listed once: nothing is concluded from half a view. Deadlines do not wait
    /// for providers.
    pub(crate) const fn listed(&self) -> bool {
        self.leases_listed && self.nodes_listed
    }
}
