//! Whether a lease that rents can be taken on, and with which machine. Pure.
//!
//! Asked anew as long as the answer is no, and never again once it was yes: what is taken on is frozen in the status, so
//! that no later edit of a `ProviderConfig` and no new price changes what a lease rents.

use curfew_contract::duration;
use curfew_provider::{Capabilities, Catalogue, Offer, Size, Strategy, choose};

use crate::{
    crd::{self, Rejected, Selection},
    observe::{Lease, Provider, World},
    provider::READY,
    terms::{Config, RentTerms, Want},
};

/// Why not, or not yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("there is no ProviderConfig {0:?}; create it, or another lease that names another")]
    NoSuchProvider(String),
    #[error("ProviderConfig {0:?} is not ready: {1}")]
    ProviderNotReady(String, String),
    #[error(
        "ProviderConfig {0:?} has no spec.nodeCredential, and this provider bills a machine that is merely powered off: \
         without one no machine could end its own bill"
    )]
    NoNodeCredential(String),
    #[error(
        "the provider has no labels: nobody could tell the machines of ProviderConfig {0:?} from other servers"
    )]
    NoLabels(String),
    #[error(
        "spec.duration: {wanted} is longer than {longest}, the maxLifetime of ProviderConfig {provider:?}"
    )]
    BeyondMaxLifetime { wanted: String, longest: String, provider: String },
    #[error("the name is longer than the 63 characters that a label at the provider can hold")]
    NameTooLong,
    #[error("the provider has no region {0:?}; it has {1}")]
    NoSuchRegion(String, String),
    #[error("the provider offers no size {0:?}")]
    NoSuchSize(String),
    #[error("size {0:?} is not offered in region {1:?}; it is in {2}")]
    NotInRegion(String, String, String),
    #[error("the provider has no {0:?} in {1:?} to give now; the lease is taken on when it has")]
    OutOfStock(String, String),
    #[error("no size meets spec.rent.requirements in region {0:?}: {1}")]
    NothingFits(String, String),
}

impl Refusal {
    /// The reason, as the condition `Accepted` gives it.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::NoSuchProvider(_) => "NoSuchProvider",
            Self::ProviderNotReady(..) => "ProviderNotReady",
            Self::NoNodeCredential(_) => "NoNodeCredential",
            Self::NoLabels(_) => "NoLabels",
            Self::BeyondMaxLifetime { .. } => "BeyondMaxLifetime",
            Self::NameTooLong => "NameTooLong",
            Self::NoSuchRegion(..) => "NoSuchRegion",
            Self::NoSuchSize(_) => "NoSuchSize",
            Self::NotInRegion(..) => "NotInRegion",
            Self::OutOfStock(..) => "OutOfStock",
            Self::NothingFits(..) => "NothingFits",
        }
    }
}

/// The verdict on a lease that rents, as long as it is not taken on. `None`: there is nothing to judge.
pub(crate) fn verdict(lease: &Lease, world: &World) -> Option<Result<Selection, Refusal>> {
    let terms = lease.terms.as_ref().filter(|terms| terms.problems.is_empty())?;
    let open = lease.status.accepted_at.is_none() && lease.broken.is_none();
    Some(judge(lease, terms.rent().filter(|_| open)?, world))
}

fn judge(lease: &Lease, rent: &RentTerms, world: &World) -> Result<Selection, Refusal> {
    let provider = world.providers.get(&rent.provider);
    let provider = provider.ok_or_else(|| Refusal::NoSuchProvider(rent.provider.clone()))?;
    let not_ready = |why: &str| Refusal::ProviderNotReady(rent.provider.clone(), why.into());
    let config = provider.config.as_ref().ok_or_else(|| not_ready("it cannot be read"))?;
    let account = provider.account.as_ref().ok_or_else(|| not_ready("its credential is not known yet"))?;
    unready(provider).map_or(Ok(()), |why| Err(not_ready(&why)))?;
    if !provider.held() {
        return Err(not_ready(
            "it is not held yet: whoever deleted it would take away the means to end a bill",
        ));
    }
    can_end(account.capabilities(), config, &rent.provider)?;
    fits(lease, rent, config)?;
    let catalogue = provider.catalogue.as_ref().ok_or_else(|| not_ready("its catalogue is not known yet"))?;
    if world.cluster.is_none() {
        return Err(not_ready("the UID of the namespace kube-system is not known yet"));
    }
    select(catalogue, rent)
}

/// Whether what is rented can be found again, and can end its own bill.
fn can_end(able: Capabilities, config: &Config, provider: &str) -> Result<(), Refusal> {
    if !able.labels {
        return Err(Refusal::NoLabels(provider.into()));
    }
    if config.node_credential.is_none() && !able.powering_off_stops_billing {
        return Err(Refusal::NoNodeCredential(provider.into()));
    }
    Ok(())
}

/// Why a provider is not to be used, as its own condition says.
fn unready(provider: &Provider) -> Option<String> {
    let ready = provider.status.conditions.iter().find(|condition| condition.type_ == READY);
    match ready {
        Some(ready) if ready.status == "True" => None,
        Some(ready) => Some(format!("{}: {}", ready.reason, ready.message)),
        None => Some("it was not looked at yet".into()),
    }
}

fn fits(lease: &Lease, rent: &RentTerms, config: &Config) -> Result<(), Refusal> {
    if lease.name.len() > LABEL {
        return Err(Refusal::NameTooLong);
    }
    let wanted = lease.terms.as_ref().and_then(|terms| terms.duration);
    match wanted {
        Some(wanted) if wanted > config.max_lifetime => Err(Refusal::BeyondMaxLifetime {
            wanted: duration::format(wanted),
            longest: duration::format(config.max_lifetime),
            provider: rent.provider.clone(),
        }),
        _ => Ok(()),
    }
}

fn select(catalogue: &Catalogue, rent: &RentTerms) -> Result<Selection, Refusal> {
    let region = &rent.region;
    if !catalogue.regions.contains(region) {
        return Err(Refusal::NoSuchRegion(region.clone(), catalogue.regions.join(", ")));
    }
    match &rent.want {
        Want::Size(name) => {
            let size = catalogue.size(name).ok_or_else(|| Refusal::NoSuchSize(name.clone()))?;
            let elsewhere = || size.offers.keys().cloned().collect::<Vec<_>>().join(", ");
            let offer = size.offers.get(region);
            let offer =
                offer.ok_or_else(|| Refusal::NotInRegion(name.clone(), region.clone(), elsewhere()))?;
            if !offer.available {
                return Err(Refusal::OutOfStock(name.clone(), region.clone()));
            }
            Ok(selection(catalogue, size, *offer))
        }
        Want::Requirements(wanted) => {
            let choice = choose(catalogue, region, wanted);
            let rejected = choice
                .rejected
                .iter()
                .map(|(size, why)| Rejected { size: (*size).into(), reason: why.to_string() });
            let rejected: Vec<_> = rejected.collect();
            let Some(chosen) = choice.chosen else {
                let why: Vec<_> =
                    rejected.iter().map(|size| format!("{} {}", size.size, size.reason)).collect();
                return Err(Refusal::NothingFits(region.clone(), why.join("; ")));
            };
            Ok(Selection {
                strategy: Some(written(wanted.strategy)),
                runner_up: choice.runner_up.map(|pick| pick.size.name.clone()),
                rejected,
                ..selection(catalogue, chosen.size, *chosen.offer)
            })
        }
    }
}

fn selection(catalogue: &Catalogue, size: &Size, offer: Offer) -> Selection {
    Selection {
        chosen: size.name.clone(),
        hourly: Some(offer.hourly.to_string()),
        monthly: Some(offer.monthly.to_string()),
        currency: Some(catalogue.currency.clone()),
        ..Selection::default()
    }
}

const fn written(strategy: Strategy) -> crd::Strategy {
    match strategy {
        Strategy::LowestPrice => crd::Strategy::LowestPrice,
        Strategy::LowestPricePerCore => crd::Strategy::LowestPricePerCore,
    }
}

/// The longest value of a label at Hetzner.
const LABEL: usize = 63;

#[cfg(test)]
mod tests;
