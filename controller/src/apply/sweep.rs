//! What the sweep asks of the API server, each time anew and never from the cache.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use kube::{
    Api,
    api::{DeleteParams, ListParams, Preconditions},
    core::DeserializeGuard,
};

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

    /// Deletes a Node, and no successor of its name.
    pub(crate) async fn remove_node(&self, name: &str, uid: &str) -> Result<(), Failure> {
        let preconditions = Preconditions { uid: Some(uid.into()), resource_version: None };
        let options = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let nodes: Api<core::Node> = Api::all(self.client.clone());
        within("delete the Node", async { nodes.delete(name, &options).await.map(drop) }).await
    }
}
