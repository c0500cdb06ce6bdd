//! What Hetzner sells: sizes, regions, prices; and things by name.
//!
//! Prices are the gross ones, with the account's own VAT: what the bill will say. An entry that cannot be read is
//! left out and never fails the others: it cannot be ordered, and the catalogue stands.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::answer::{self, Meta};
use crate::{
    Answer, Architecture, Caller, CpuKind, Extras, IpKind, Offer, Outcome, Page, Price, Pricing, Rate, Size,
};

pub(super) fn sizes(answer: &Answer) -> Result<Page<Size>, Outcome> {
    let body: SizesBody = answer::read(answer, Caller::Another)?;
    let items = readable::<WireSize>(body.server_types).filter_map(WireSize::parse).collect();
    Ok(Page { items, next_page: body.meta.pagination.next_page })
}

pub(super) fn regions(answer: &Answer) -> Result<Page<String>, Outcome> {
    let body: LocationsBody = answer::read(answer, Caller::Another)?;
    let items = body.locations.into_iter().map(|place| place.name).collect();
    Ok(Page { items, next_page: body.meta.pagination.next_page })
}

pub(super) fn pricing(answer: &Answer) -> Result<Pricing, Outcome> {
    let PricingBody { pricing } = answer::read(answer, Caller::Another)?;
    let mut extras =
        Extras { volume_gb_month: pricing.volume.map(|v| v.price_per_gb_month.0), ..Extras::default() };
    for kind in readable::<WireAddresses>(pricing.primary_ips) {
        for price in readable::<WirePrice>(kind.prices) {
            let rate = Rate { hourly: price.price_hourly.0, monthly: price.price_monthly.0 };
            extras.primary_ips.insert((kind.kind.into(), price.location), rate);
        }
    }
    for kind in readable::<WireAddresses>(pricing.floating_ips) {
        for price in readable::<Monthly>(kind.prices) {
            extras.floating_ips.insert((kind.kind.into(), price.location), price.price_monthly.0);
        }
    }
    for size in readable::<WireBalancer>(pricing.load_balancer_types) {
        for price in readable::<Monthly>(size.prices) {
            extras.load_balancers.insert((size.name.clone(), price.location), price.price_monthly.0);
        }
    }
    Ok(Pricing { currency: pricing.currency, extras })
}

/// The id of what has exactly this name, in a list of anything.
pub(super) fn found(answer: &Answer, name: &str) -> Result<Option<u64>, Outcome> {
    let body: BTreeMap<String, Value> = answer::read(answer, Caller::Another)?;
    let items =
        body.into_values().filter_map(|value| serde_json::from_value::<Vec<Value>>(value).ok()).flatten();
    Ok(items.filter(|item| item["name"] == name.trim()).find_map(|item| item["id"].as_u64()))
}

/// As Hetzner spells it.
pub(super) const fn architecture(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Amd64 => "x86",
        Architecture::Arm64 => "arm",
    }
}

fn readable<T: DeserializeOwned>(items: Vec<Value>) -> impl Iterator<Item = T> {
    items.into_iter().filter_map(|item| serde_json::from_value(item).ok())
}

#[derive(Deserialize)]
struct SizesBody {
    server_types: Vec<Value>,
    meta: Meta,
}

#[derive(Deserialize)]
struct LocationsBody {
    locations: Vec<Place>,
    meta: Meta,
}

#[derive(Deserialize)]
struct Place {
    name: String,
}

#[derive(Deserialize)]
struct PricingBody {
    pricing: WirePricing,
}

#[derive(Deserialize)]
struct WirePricing {
    currency: String,
    volume: Option<VolumePrice>,
    #[serde(default)]
    primary_ips: Vec<Value>,
    #[serde(default)]
    floating_ips: Vec<Value>,
    #[serde(default)]
    load_balancer_types: Vec<Value>,
}

#[derive(Deserialize)]
struct VolumePrice {
    price_per_gb_month: Gross,
}

#[derive(Deserialize)]
struct WireAddresses {
    #[serde(rename = "type")]
    kind: WireIpKind,
    prices: Vec<Value>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WireIpKind {
    Ipv4,
    Ipv6,
}

impl From<WireIpKind> for IpKind {
    fn from(kind: WireIpKind) -> Self {
        match kind {
            WireIpKind::Ipv4 => Self::V4,
            WireIpKind::Ipv6 => Self::V6,
        }
    }
}

#[derive(Deserialize)]
struct WireBalancer {
    name: String,
    prices: Vec<Value>,
}

#[derive(Deserialize)]
struct WirePrice {
    location: String,
    price_hourly: Gross,
    price_monthly: Gross,
}

#[derive(Deserialize)]
struct Monthly {
    location: String,
    price_monthly: Gross,
}

/// Of `{net, gross}`, both decimal strings, the second.
struct Gross(Price);

impl<'de> Deserialize<'de> for Gross {
    fn deserialize<D: serde::Deserializer<'de>>(price: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Both {
            gross: String,
        }
        let both = Both::deserialize(price)?;
        both.gross.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Deserialize)]
struct WireSize {
    name: String,
    cores: u32,
    memory: f64,
    disk: f64,
    architecture: String,
    cpu_type: String,
    deprecated: Option<bool>,
    #[serde(default)]
    prices: Vec<Value>,
    locations: Option<Vec<WireLocation>>,
}

#[derive(Deserialize)]
struct WireLocation {
    name: String,
    deprecation: Option<Value>,
    /// Since April 2026; where it is missing only an order would tell.
    available: Option<bool>,
}

impl WireSize {
    /// `None`: a kind of processor that nobody here knows.
    fn parse(self) -> Option<Size> {
        let architecture = match self.architecture.as_str() {
            "x86" => Architecture::Amd64,
            "arm" => Architecture::Arm64,
            _ => return None,
        };
        let cpu = match self.cpu_type.as_str() {
            "shared" => CpuKind::Shared,
            "dedicated" => CpuKind::Dedicated,
            _ => return None,
        };
        let places = self.locations;
        let offer = |price: WirePrice| {
            let place = match &places {
                Some(places) => Some(places.iter().find(|place| place.name == price.location)?),
                None => None,
            };
            let offer = Offer {
                hourly: price.price_hourly.0,
                monthly: price.price_monthly.0,
                available: place.and_then(|place| place.available).unwrap_or(true),
                deprecated: place.is_some_and(|place| place.deprecation.is_some()),
            };
            Some((price.location, offer))
        };
        Some(Size {
            name: self.name,
            cores: self.cores,
            memory_mib: whole(self.memory * 1024.0),
            disk_gb: whole(self.disk),
            architecture,
            cpu,
            deprecated: self.deprecated.unwrap_or(false),
            offers: readable::<WirePrice>(self.prices).filter_map(offer).collect(),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and no size is negative"
)]
const fn whole(number: f64) -> u64 {
    number as u64
}
