//! The Node's work: its pods, their eviction, and the cordon that keeps more away. Asked for only while draining.
//!
//! Each call asks once, with a hard time-out. Every write names the version or the uid it means: what somebody else has
//! changed meanwhile is not written over.

use curfew_contract::annotation;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use crate::{
    clocks,
    net::{HttpError, client::BODY_LIMIT, http::within},
    node::{
        ApiError, NodeApi, NodeName, Seen,
        api::{Ask, CALL, Stream, path},
        items::Items,
        pods::{self, Pod},
        seen::{Metadata, shortened},
    },
    time::Boot,
};

impl NodeApi {
    /// The Node, when it was asked for, and whether it is cordoned, which its metadata do not tell.
    pub async fn look(&self, node: &NodeName) -> Result<(Seen, Boot, bool), ApiError> {
        #[derive(Deserialize)]
        struct Node {
            metadata: Metadata,
            #[serde(default)]
            spec: Spec,
        }
        #[derive(Default, Deserialize)]
        struct Spec {
            #[serde(default)]
            unschedulable: bool,
        }
        let asked = clocks::read().boot;
        let (answered, body) = self.call(&Ask::new(Method::GET, path(node))).await?;
        let malformed = |source| ApiError::Malformed { what: "a Node", source: Some(source) };
        let Node { metadata, spec } = serde_json::from_slice(&body).map_err(malformed)?;
        Ok((metadata.seen(node, answered, false)?, asked, spec.unschedulable))
    }

    /// Cordons the Node, if it still is as in `version`, and marks it as cordoned by the agent.
    pub async fn cordon_for(&self, node: &NodeName, version: &str, mark: &str) -> Result<Seen, ApiError> {
        self.mark(node, version, json!(true), json!(mark)).await
    }

    /// Takes cordon and mark off, if the Node still is as in `version`.
    pub async fn uncordon(&self, node: &NodeName, version: &str) -> Result<Seen, ApiError> {
        self.mark(node, version, json!(null), json!(null)).await
    }

    async fn mark(
        &self,
        node: &NodeName,
        version: &str,
        unschedulable: serde_json::Value,
        mark: serde_json::Value,
    ) -> Result<Seen, ApiError> {
        let annotations = json!({ (annotation::CORDONED_FOR): mark });
        let patch = json!({
            "metadata": { "resourceVersion": version, "annotations": annotations },
            "spec": { "unschedulable": unschedulable }
        });
        self.node(node, Ask::merge(node, &patch)).await
    }

    /// The pods of the Node that have not ended.
    pub async fn pods(&self, node: &NodeName) -> Result<Vec<Pod>, ApiError> {
        // Version 0 lets the API server answer out of its memory, where it has an index by Node, instead of reading every
        // pod of the cluster. Then it sends all of them at once, whatever `limit` says.
        let path = format!(
            "/api/v1/pods?fieldSelector=spec.nodeName%3D{node}%2Cstatus.phase!%3DSucceeded%2Cstatus.phase!%3DFailed\
             &resourceVersion=0"
        );
        let Stream { connection, mut response, .. } =
            self.stream(&Ask::new(Method::GET, path).partial_list()).await?;
        let host = connection.host.as_str();
        let read = within(host, CALL, async {
            let (mut items, mut pods, mut held) = (Items::default(), Vec::new(), 0);
            while let Some(chunk) =
                response.chunk().await.map_err(|error| HttpError::from_reqwest(host, error))?
            {
                items.push(&chunk, |item| {
                    let pod = pods::pod(item)?;
                    held += pod.size();
                    pods.push(pod);
                    Ok::<_, ApiError>(())
                })?;
                // A list that never ends must not take the machine's memory: this process is killed last.
                if items.len() + held > BODY_LIMIT {
                    return Err(HttpError::TooLarge { host: host.to_owned(), limit: BODY_LIMIT }.into());
                }
            }
            let malformed = ApiError::Malformed { what: "a list of pods", source: None };
            if items.is_whole() { Ok(pods) } else { Err(malformed) }
        });
        self.checked(&connection, read.await)
    }

    /// Asks for a pod's eviction. `period`: seconds it may take, instead of the pod's own.
    ///
    /// [`ApiError::NotFound`]: it is gone. [`ApiError::Busy`]: a disruption budget forbids it for now.
    pub async fn evict(&self, pod: &Pod, period: Option<i64>) -> Result<(), ApiError> {
        let mut options = json!({ "preconditions": { "uid": pod.uid } });
        if let Some(seconds) = period {
            options["gracePeriodSeconds"] = seconds.into();
        }
        let Pod { namespace, name, .. } = pod;
        // Without a version of its own, the server reads it as the one that it prefers.
        let eviction =
            json!({ "metadata": { "namespace": namespace, "name": name }, "deleteOptions": options });
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction");
        let ask = Ask::new(Method::POST, path).with("application/json", eviction.to_string());
        let (_answered, body) = self.call(&ask).await?;
        refused(&body).map_or(Ok(()), Err)
    }
}

/// Where two budgets cover a pod, the API server says 201, and in the body that it failed (`EvictionREST.Create`).
fn refused(body: &[u8]) -> Option<ApiError> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Answer {
        status: String,
        code: u16,
        message: String,
    }
    let Answer { status, code, message } = serde_json::from_slice(body).unwrap_or_default();
    (status == "Failure").then(|| ApiError::Status { code, message: shortened(&message) })
}

#[cfg(test)]
mod tests;
