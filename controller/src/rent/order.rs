//! Places the order for one machine: the only place that starts a bill.
//!
//! The lease is read once more, from the API server: a stale view must not order a machine that was given up meanwhile.

use curfew_contract::label;
use curfew_provider::{ImageId, Order, UserData};
use jiff::Timestamp;

use super::{
    jobs::{Job, Machine},
    learnt::Heard,
    name, user_data,
};
use crate::{
    apply::Cluster,
    cloud::CallError,
    crd::Instance,
    observe::{Lease, World},
    shared::Shared,
    terms::Config,
};

/// Orders it. `None`: it is not wanted any more, as the API server has it.
pub(super) async fn place(shared: &Shared, cluster: &Cluster, job: &Job) -> Result<Option<Heard>, String> {
    let Machine::Slot(slot) = job.machine else { return Ok(None) };
    let known =
        shared.with(|world, _| world.leases.get(&job.lease).filter(|lease| lease.uid == job.uid).cloned());
    let Some(known) = known else { return Ok(None) };
    let config = shared.with(|world, _| Parts::of(&known, world))?.config;
    let user_data = user_data::read(cluster, &config, &known).await?;
    // Last, so that no call is sent long after it was last looked whether it is wanted.
    let fresh = cluster.lease(&job.lease).await.map_err(|failure| failure.line())?;
    let Some(lease) = fresh.filter(|lease| lease.uid == job.uid && is_wanted(lease, slot)) else {
        return Ok(None);
    };
    let parts = shared.with(|world, _| Parts::of(&lease, world))?;
    if shared.clock.read().now.is_none_or(|now| now >= parts.end) {
        return Ok(None);
    }
    let order = parts.order(&lease, slot, user_data);
    Ok(Some(match job.account.create(&order).await {
        Ok(Ok(created)) => Heard::Server {
            provider_id: job.account.driver().provider_id(created.server.id),
            action: created.actions.first().copied(),
            server: Box::new(created.server),
        },
        Ok(Err(not)) => Heard::NotCreated(not),
        // Not sent: nothing can have come of it.
        Err(error @ (CallError::Held(_) | CallError::Blank(_))) => return Err(error.line()),
        Err(error) => Heard::Unanswered(error.line()),
    }))
}

/// Whether the attempt is persisted, and nothing came of it or was decided about it since.
pub(super) fn is_wanted(lease: &Lease, slot: u32) -> bool {
    let open = |instance: &&Instance| {
        instance.attempted_at.is_some()
            && instance.provider_id.is_none()
            && instance.releasing.is_none()
            && instance.receipt.is_none()
    };
    let instance = lease.status.instances.iter().find(|instance| instance.slot == slot).filter(open);
    lease.finalized() && lease.deleting.is_none() && lease.status.released_at.is_none() && instance.is_some()
}

/// What every order of a lease has in common.
struct Parts {
    config: Config,
    image: ImageId,
    firewalls: Vec<u64>,
    networks: Vec<u64>,
    size: String,
    region: String,
    cluster: String,
    expiry: Timestamp,
    end: Timestamp,
}

impl Parts {
    fn of(lease: &Lease, world: &World) -> Result<Self, String> {
        let rent =
            lease.terms.as_ref().and_then(|terms| terms.rent()).ok_or("the lease's terms cannot be read")?;
        let provider = world.providers.get(&rent.provider).ok_or("its ProviderConfig is gone")?;
        let config = provider.config.clone().ok_or("its ProviderConfig cannot be read")?;
        let references = provider.references().ok_or("what its ProviderConfig names is not known yet")?;
        let size = lease.status.selection.as_ref().ok_or("no size was chosen")?.chosen.clone();
        let sold = provider.catalogue.as_ref().and_then(|catalogue| catalogue.size(&size));
        let architecture = sold.ok_or("the provider does not offer its size any more")?.architecture;
        let image = references.images.get(&architecture);
        let image =
            *image.ok_or_else(|| format!("its ProviderConfig's image does not exist for {architecture}"))?;
        let (end, expiry) = world.end(lease).zip(world.expiry(lease)).ok_or("its end is not known")?;
        Ok(Self {
            config,
            image,
            firewalls: references.firewalls.clone(),
            networks: references.networks.clone(),
            size,
            region: rent.region.clone(),
            cluster: world.cluster.clone().ok_or("it is not known which cluster this is")?,
            expiry,
            end,
        })
    }

    fn order(self, lease: &Lease, slot: u32, user_data: UserData) -> Order {
        let labels = [
            (label::MANAGED_BY, label::CURFEW.into()),
            (label::CLUSTER, self.cluster),
            (label::LEASE, lease.name.clone()),
            (label::LEASE_UID, lease.uid.clone()),
            (label::SLOT, slot.to_string()),
            (label::EXPIRES_AT, self.expiry.as_second().to_string()),
        ];
        let Config { ssh_keys, public_ipv4, public_ipv6, .. } = self.config;
        Order {
            name: name::of(&lease.name, &lease.uid, slot),
            size: self.size,
            region: self.region,
            image: self.image,
            ssh_keys,
            firewalls: self.firewalls,
            networks: self.networks,
            public_ipv4,
            public_ipv6,
            labels: labels.map(|(key, value)| (key.to_owned(), value)).into(),
            user_data: Some(user_data),
        }
    }
}
