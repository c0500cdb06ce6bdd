//! What a provider sells, where, and for how much.

use std::{collections::BTreeMap, fmt};

use crate::Price;

/// Everything on sale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// ISO 4217.
    pub currency: String,
    /// The sizes.
    pub sizes: Vec<Size>,
    /// The regions, by name.
    pub regions: Vec<String>,
    /// What a server can leave behind costs.
    pub extras: Extras,
}

/// A kind of server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its name.
    pub name: String,
    /// Cores.
    pub cores: u32,
    /// MiB.
    pub memory_mib: u64,
    /// GB.
    pub disk_gb: u64,
    /// What it can run.
    pub architecture: Architecture,
    /// Whether its cores are its own.
    pub cpu: CpuKind,
    /// Will be withdrawn. Can still be ordered by name; is never chosen.
    pub deprecated: bool,
    /// Where it is sold, by region.
    pub offers: BTreeMap<String, Offer>,
}

/// A size in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// An hour.
    pub hourly: Price,
    /// At most this a calendar month.
    pub monthly: Price,
    /// In stock, as the provider believes.
    pub available: bool,
    /// Will be withdrawn in this region.
    pub deprecated: bool,
}

/// What is billed beside servers. Missing: the provider does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// A GB of a volume, a month.
    pub volume_gb_month: Option<Price>,
    /// A primary address, by kind and region.
    pub primary_ips: BTreeMap<(IpKind, String), Rate>,
    /// A floating address a month, by kind and region.
    pub floating_ips: BTreeMap<(IpKind, String), Price>,
    /// A load balancer a month, by its size and region.
    pub load_balancers: BTreeMap<(String, String), Price>,
}

/// The prices of a provider, apart from what it sells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pricing {
    /// ISO 4217.
    pub currency: String,
    /// What is billed beside servers.
    pub extras: Extras,
}

/// An hour and, at most, a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// An hour.
    pub hourly: Price,
    /// At most this a calendar month.
    pub monthly: Price,
}

/// Of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IpKind {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// What a machine runs. Named as Kubernetes names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Architecture {
    /// x86-64.
    Amd64,
    /// Arm, 64 bit.
    Arm64,
}

impl Architecture {
    /// As in the label `kubernetes.io/arch`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether cores are shared with strangers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CpuKind {
    /// With strangers.
    Shared,
    /// Its own.
    Dedicated,
}

impl CpuKind {
    /// As in a lease.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Dedicated => "dedicated",
        }
    }
}

impl fmt::Display for CpuKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Catalogue {
    /// Puts the parts together. Sizes are kept in the order of their names, so that two answers compare equal.
    #[must_use]
    pub fn new(pricing: Pricing, mut sizes: Vec<Size>, mut regions: Vec<String>) -> Self {
        sizes.sort_by(|a, b| a.name.cmp(&b.name));
        regions.sort();
        Self { currency: pricing.currency, sizes, regions, extras: pricing.extras }
    }

    /// A size by its name.
    #[must_use]
    pub fn size(&self, name: &str) -> Option<&Size> {
        self.sizes.iter().find(|size| size.name == name)
    }
}
