//! A Node's work: its pods, their eviction, and the cordon that keeps more away. Asked for only while draining.
//!
//! Every write names the version or the uid it means: what somebody else has changed meanwhile is not written over.

use std::time::Duration;

use axum::http::{Request, header::CONTENT_TYPE};
use curfew_contract::annotation;
use k8s_openapi::api::core::v1 as core;
use kube::{
    Api,
    api::{ListParams, Patch},
    core::Status,
};
use serde_json::json;

use super::{Cluster, Failure, within, writer};
use crate::release::Pod;

/// A Node's cordon, and the version of the Node it was seen in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cordoned {
    pub(crate) uid: String,
    version: String,
    pub(crate) unschedulable: bool,
    /// [`annotation::DRAINED_FOR`].
    pub(crate) mark: Option<String>,
}

impl Failure {
    /// When the server asks to come back, if it does.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let Self::Refused(_, error) = self else { return None };
        let kube::Error::Api(status) = &**error else { return None };
        let seconds = status.details.as_ref().map(|details| details.retry_after_seconds).filter(|s| *s > 0);
        seconds.map(|seconds| Duration::from_secs(seconds.into()))
    }
}

impl Cluster {
    /// Whether the Node is cordoned, and whether by us. Its metadata, which are watched, do not tell.
    pub(crate) async fn cordoned(&self, node: &str) -> Result<Cordoned, Failure> {
        let node = within("read the Node's cordon", self.nodes().get(node)).await?;
        Ok(Cordoned {
            uid: node.metadata.uid.unwrap_or_default(),
            version: node.metadata.resource_version.unwrap_or_default(),
            unschedulable: node.spec.and_then(|spec| spec.unschedulable) == Some(true),
            mark: node.metadata.annotations.unwrap_or_default().remove(annotation::DRAINED_FOR),
        })
    }

    /// Cordons the Node and marks it (`Some`), or takes cordon and mark off, if it still is as it was `seen`.
    pub(crate) async fn cordon(
        &self,
        node: &str,
        seen: &Cordoned,
        mark: Option<&str>,
    ) -> Result<(), Failure> {
        let patch = json!({
            "metadata": {
                "uid": seen.uid, "resourceVersion": seen.version,
                "annotations": { (annotation::DRAINED_FOR): mark },
            },
            "spec": { "unschedulable": mark.map(|_| true) },
        });
        let nodes = self.nodes();
        let call = async { nodes.patch_metadata(node, &writer(), &Patch::Merge(&patch)).await.map(drop) };
        within("write the Node's cordon", call).await
    }

    /// The pods of the Node that have not ended, out of the API server's memory, where they are indexed by Node.
    pub(crate) async fn pods(&self, node: &str) -> Result<Vec<Pod>, Failure> {
        let of = format!("spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed");
        let pods: Api<core::Pod> = Api::all(self.client.clone());
        let list = ListParams::default().fields(&of).match_any();
        let pods = within("list the Node's pods", pods.list_metadata(&list)).await?;
        Ok(pods.items.into_iter().map(Pod::from).collect())
    }

    /// Asks for a pod's eviction. `period`: seconds it may take, instead of the pod's own.
    ///
    /// Not by the library's own call: as of kube 5.0 it misspells `deleteOptions`, and so neither precondition nor
    /// period would count.
    pub(crate) async fn evict(&self, pod: &Pod, period: Option<u32>) -> Result<(), Failure> {
        let Pod { namespace, name, uid, .. } = pod;
        let mut options = json!({ "preconditions": { "uid": uid } });
        if let Some(seconds) = period {
            options["gracePeriodSeconds"] = seconds.into();
        }
        let eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": { "namespace": namespace, "name": name }, "deleteOptions": options,
        });
        let request = Request::post(format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction"))
            .header(CONTENT_TYPE, "application/json")
            .body(eviction.to_string().into_bytes());
        let call = async {
            let request = request.map_err(kube::Error::HttpError)?;
            // Where two budgets cover a pod, the server answers 201, and in the body that it failed.
            match self.client.request::<Status>(request).await? {
                status if status.is_failure() => Err(kube::Error::Api(Box::new(status))),
                _ => Ok(()),
            }
        };
        within("evict the pod", call).await
    }
}
