//! What is left of a machine in the cluster, and its removal. Asked for only once its server is proven absent.

use jiff::Timestamp;
use k8s_openapi::{api::core::v1 as core, apimachinery::pkg::apis::meta::v1::Time};
use kube::api::{DeleteParams, Patch, Preconditions};
use serde_json::json;

use super::{Cluster, Failure, within, writer};

/// A Node as it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Remains {
    pub(crate) uid: String,
    version: String,
    pub(crate) provider_id: Option<String>,
    taints: Vec<core::Taint>,
}

impl Remains {
    /// Since when it says that its machine is gone, if it does; `now`, where it does not say since when.
    pub(crate) fn out_of_service(&self, now: Timestamp) -> Option<Timestamp> {
        let mut taints = self.taints.iter();
        let taint = taints.find(|taint| taint.key == OUT_OF_SERVICE && taint.effect == NO_EXECUTE)?;
        Some(taint.time_added.as_ref().map_or(now, |at| at.0))
    }
}

impl Cluster {
    /// The Node, read from the API server and never from the cache; `None`: there is none of this name.
    pub(crate) async fn remains(&self, node: &str) -> Result<Option<Remains>, Failure> {
        let Some(node) = within("read the Node", self.nodes().get_opt(node)).await? else { return Ok(None) };
        let spec = node.spec.unwrap_or_default();
        Ok(Some(Remains {
            uid: node.metadata.uid.unwrap_or_default(),
            version: node.metadata.resource_version.unwrap_or_default(),
            provider_id: spec.provider_id,
            taints: spec.taints.unwrap_or_default(),
        }))
    }

    /// Says that the machine is shut down for good, so that volumes which can be attached only once are let go. A list
    /// of taints is replaced whole: only if the Node still is as it was `seen`.
    pub(crate) async fn put_out_of_service(
        &self,
        node: &str,
        seen: &Remains,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let mut taints = seen.taints.clone();
        taints.push(core::Taint {
            key: OUT_OF_SERVICE.into(),
            value: Some(NODE_SHUTDOWN.into()),
            effect: NO_EXECUTE.into(),
            time_added: Some(Time(now)),
        });
        let patch = json!({
            "metadata": { "uid": seen.uid, "resourceVersion": seen.version },
            "spec": { "taints": taints },
        });
        let nodes = self.nodes();
        let call = async { nodes.patch_metadata(node, &writer(), &Patch::Merge(&patch)).await.map(drop) };
        within("taint the Node", call).await
    }

    /// Deletes this very Node, never a successor of its name.
    pub(crate) async fn delete_node(&self, node: &str, uid: &str) -> Result<(), Failure> {
        let preconditions = Preconditions { uid: Some(uid.into()), resource_version: None };
        let options = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let nodes = self.nodes();
        let call = async { nodes.delete(node, &options).await.map(drop) };
        within("delete the Node", call).await
    }
}

/// Source: Kubernetes, "Non-graceful node shutdown handling".
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
const NODE_SHUTDOWN: &str = "nodeshutdown";
const NO_EXECUTE: &str = "NoExecute";
