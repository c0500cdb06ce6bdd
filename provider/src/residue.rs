//! What outlives a deleted server, and keeps costing.

use crate::Price;

/// A kind of thing that outlives a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResidueKind {
    /// A disk of its own.
    Volume,
    /// A server's public address, kept apart from it.
    PrimaryIp,
    /// An address that moves.
    FloatingIp,
    /// A load balancer that had the server as its target.
    LoadBalancer,
}

impl ResidueKind {
    /// As a person says it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Volume => "volume",
            Self::PrimaryIp => "primary IP",
            Self::FloatingIp => "floating IP",
            Self::LoadBalancer => "load balancer",
        }
    }
}

/// A thing that belongs to no server any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residue {
    /// What it is.
    pub kind: ResidueKind,
    /// Its id, unique among its kind.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// What it costs a month, where the provider says so.
    pub monthly: Option<Price>,
}
