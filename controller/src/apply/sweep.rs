//! What the sweep asks of the API server, each time anew and never from the cache.

use std::collections::BTreeMap;

use kube::{Api, api::ListParams, core::DeserializeGuard};

use super::{Cluster, Failure, within};
use crate::{crd::CapacityLease, observe::Lease};

impl Cluster {
    /// Every lease as it is now, by UID. Without a `resourceVersion` the list is the most recent there is.
    pub(crate) async fn leases_now(&self) -> Result<BTreeMap<String, Lease>, Failure> {
        let leases: Api<DeserializeGuard<CapacityLease>> = Api::all(self.client.clone());
        let listed = within("list the CapacityLeases", leases.list(&ListParams::default())).await?;
        let leases = listed.items.into_iter().map(|object| Lease::read(object, None));
        Ok(leases.map(|lease| (lease.uid.clone(), lease)).collect())
    }
}
