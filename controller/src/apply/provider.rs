//! Writes about a `ProviderConfig`: its status, and our finalizer.

use kube::{Api, api::Patch};
use serde_json::json;

use super::{Cluster, Failure, within, writer};
use crate::{
    crd::{ProviderConfig, ProviderConfigStatus},
    observe::{IN_USE, Provider},
};

impl Cluster {
    /// Writes the status, if nobody has written the object since it was read.
    pub(crate) async fn write_provider_status(
        &self,
        provider: &Provider,
        status: &ProviderConfigStatus,
    ) -> Result<(), Failure> {
        let patch = json!({ "metadata": { "resourceVersion": provider.resource_version }, "status": status });
        let api: Api<ProviderConfig> = Api::all(self.client.clone());
        let call =
            async { api.patch_status(&provider.name, &writer(), &Patch::Merge(&patch)).await.map(drop) };
        within("write the ProviderConfig's status", call).await
    }

    /// Sets or takes off our finalizer, if nobody has written the object since it was read.
    pub(crate) async fn hold_provider(&self, provider: &Provider, hold: bool) -> Result<(), Failure> {
        let mut finalizers = provider.finalizers.clone();
        finalizers.retain(|finalizer| finalizer != IN_USE);
        if hold {
            finalizers.push(IN_USE.into());
        }
        let patch = json!({
            "metadata": { "resourceVersion": provider.resource_version, "finalizers": finalizers }
        });
        let api: Api<ProviderConfig> = Api::all(self.client.clone());
        let call =
            async { api.patch_metadata(&provider.name, &writer(), &Patch::Merge(&patch)).await.map(drop) };
        within("write the ProviderConfig's finalizer", call).await
    }
}
