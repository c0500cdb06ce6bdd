//! What outlived a server, and what it costs a month.

use serde::Deserialize;
use serde_json::Value;

use super::{answer, shelf::WireIpKind};
use crate::{Answer, Caller, Extras, Outcome, Price, Residue, ResidueKind};

/// Where things of this kind are.
pub(super) const fn collection(kind: ResidueKind) -> &'static str {
    match kind {
        ResidueKind::Volume => "volumes",
        ResidueKind::PrimaryIp => "primary_ips",
        ResidueKind::FloatingIp => "floating_ips",
        ResidueKind::LoadBalancer => "load_balancers",
    }
}

/// `None`: it is gone, or serves somebody else by now.
pub(super) fn read(answer: &Answer, kind: ResidueKind, prices: &Extras) -> Result<Option<Residue>, Outcome> {
    let body: Body = match answer::read(answer, Caller::Another) {
        Err(Outcome::Gone) => return Ok(None),
        body => body?,
    };
    let undecided = Outcome::Retry { after: None };
    let thing =
        [body.volume, body.primary_ip, body.floating_ip, body.load_balancer].into_iter().flatten().next();
    let thing = thing.ok_or(undecided)?;
    if thing.in_use() {
        return Ok(None);
    }
    let monthly = thing.monthly(kind, prices);
    Ok(Some(Residue { kind, id: thing.id, name: thing.name, monthly }))
}

#[derive(Deserialize)]
struct Body {
    volume: Option<Thing>,
    primary_ip: Option<Thing>,
    floating_ip: Option<Thing>,
    load_balancer: Option<Thing>,
}

/// The fields of all four kinds that matter here.
#[derive(Deserialize)]
struct Thing {
    id: u64,
    #[serde(default)]
    name: String,
    /// Of a volume or a floating address.
    server: Option<u64>,
    /// Of a primary address.
    assignee_id: Option<u64>,
    /// Of a load balancer.
    #[serde(default)]
    targets: Vec<Value>,
    /// Of a volume, GB.
    size: Option<u64>,
    #[serde(rename = "type")]
    ip_kind: Option<WireIpKind>,
    load_balancer_type: Option<Named>,
    location: Option<Named>,
    home_location: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl Thing {
    fn in_use(&self) -> bool {
        self.server.or(self.assignee_id).is_some() || !self.targets.is_empty()
    }

    fn monthly(&self, kind: ResidueKind, prices: &Extras) -> Option<Price> {
        let region =
            || self.location.as_ref().or(self.home_location.as_ref()).map(|place| place.name.clone());
        let address = || Some((self.ip_kind?.into(), region()?));
        match kind {
            ResidueKind::Volume => prices.volume_gb_month?.checked_mul(self.size?),
            ResidueKind::PrimaryIp => prices.primary_ips.get(&address()?).map(|rate| rate.monthly),
            ResidueKind::FloatingIp => prices.floating_ips.get(&address()?).copied(),
            ResidueKind::LoadBalancer => {
                let size = self.load_balancer_type.as_ref()?.name.clone();
                prices.load_balancers.get(&(size, region()?)).copied()
            }
        }
    }
}
