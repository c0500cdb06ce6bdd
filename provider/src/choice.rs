//! Which size to order: the cheapest that does, and for each other why not. Pure; the same catalogue in any order
//! gives the same choice.

use std::cmp::Ordering;

use crate::{Architecture, Catalogue, CpuKind, Offer, Size};

/// What is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// Cores, at least.
    pub min_cpu: u32,
    /// MiB, at least.
    pub min_memory_mib: u64,
    /// `None`: either.
    pub architecture: Option<Architecture>,
    /// `None`: either.
    pub cpu: Option<CpuKind>,
    /// What "cheapest" means.
    pub strategy: Strategy,
}

/// What "cheapest" means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// An hour of the server.
    LowestPrice,
    /// An hour of one core.
    LowestPricePerCore,
}

/// What was chosen, and why nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<'c> {
    /// The cheapest that does.
    pub chosen: Option<Pick<'c>>,
    /// The next.
    pub runner_up: Option<Pick<'c>>,
    /// Those that do not do, by name.
    pub rejected: Vec<(&'c str, Why)>,
}

/// A size with what it costs where it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick<'c> {
    /// The size.
    pub size: &'c Size,
    /// Its price there.
    pub offer: &'c Offer,
}

/// Why a size does not do. Where several hold, the first of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Another processor.
    #[error("is {0}")]
    WrongArchitecture(Architecture),
    /// The other kind of cores.
    #[error("has {0} cores")]
    WrongCpu(CpuKind),
    /// So many cores only.
    #[error("has too few cores: {0}")]
    TooFewCores(u32),
    /// So many MiB only.
    #[error("has too little memory: {0} MiB")]
    TooLittleMemory(u64),
    /// Sold elsewhere, or nowhere.
    #[error("is not sold in this region")]
    NotInRegion,
    /// Will be withdrawn.
    #[error("is deprecated")]
    Deprecated,
    /// None to be had now.
    #[error("is out of stock")]
    OutOfStock,
}

/// Chooses. Equal prices: less memory (so as not to buy what is not needed), then the name.
#[must_use]
pub fn choose<'c>(catalogue: &'c Catalogue, region: &str, requirements: &Requirements) -> Choice<'c> {
    let (mut fit, mut rejected) = (Vec::new(), Vec::new());
    for size in &catalogue.sizes {
        match judge(size, region, requirements) {
            Ok(offer) => fit.push(Pick { size, offer }),
            Err(why) => rejected.push((size.name.as_str(), why)),
        }
    }
    fit.sort_by(|a, b| compare(a, b, requirements.strategy));
    rejected.sort_by_key(|(name, _)| *name);
    Choice { chosen: fit.first().copied(), runner_up: fit.get(1).copied(), rejected }
}

fn judge<'c>(size: &'c Size, region: &str, wanted: &Requirements) -> Result<&'c Offer, Why> {
    if wanted.architecture.is_some_and(|wanted| wanted != size.architecture) {
        return Err(Why::WrongArchitecture(size.architecture));
    }
    if wanted.cpu.is_some_and(|wanted| wanted != size.cpu) {
        return Err(Why::WrongCpu(size.cpu));
    }
    if size.cores < wanted.min_cpu {
        return Err(Why::TooFewCores(size.cores));
    }
    if size.memory_mib < wanted.min_memory_mib {
        return Err(Why::TooLittleMemory(size.memory_mib));
    }
    let offer = size.offers.get(region).ok_or(Why::NotInRegion)?;
    if size.deprecated || offer.deprecated {
        return Err(Why::Deprecated);
    }
    if offer.available { Ok(offer) } else { Err(Why::OutOfStock) }
}

fn compare(a: &Pick<'_>, b: &Pick<'_>, strategy: Strategy) -> Ordering {
    let price = match strategy {
        Strategy::LowestPrice => a.offer.hourly.cmp(&b.offer.hourly),
        Strategy::LowestPricePerCore => a.offer.hourly.cmp_per(a.size.cores, b.offer.hourly, b.size.cores),
    };
    price.then(a.size.memory_mib.cmp(&b.size.memory_mib)).then_with(|| a.size.name.cmp(&b.size.name))
}

#[cfg(test)]
mod tests;
