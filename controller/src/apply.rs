//! The only module that writes to the cluster. Each call has a time-out and says which object it was about.

mod provider;
mod removal;
mod secret;
mod sweep;
mod work;

use std::{error::Error, sync::Arc, time::Duration};

use curfew_contract::{Grace, Instruction, annotation};
use k8s_openapi::api::core::v1 as core;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    core::DeserializeGuard,
};
use serde_json::{Value, json};

use crate::{
    crd::{CapacityLease, CapacityLeaseStatus},
    observe::{FINALIZER, Full, Lease, Node},
};

/// Writes to the cluster.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    /// Where Secrets are read, and nowhere else: a cluster-scoped object must not be a way to read any Secret.
    pub(crate) namespace: Arc<str>,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("failed to {0}")]
    Refused(&'static str, #[source] Box<kube::Error>),
    #[error("failed to {0}: no answer within {CALL:?}")]
    NoAnswer(&'static str),
}

impl Failure {
    /// Whether someone else was faster: the watch will bring what is new.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused(_, error) if matches!(&**error, kube::Error::Api(status) if status.code == 409))
    }

    /// Whether the object is gone, which leaves nothing to do.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::Refused(_, error) if matches!(&**error, kube::Error::Api(status) if status.code == 404))
    }

    /// What failed and why, in one line, for a condition or the log.
    pub(crate) fn line(&self) -> String {
        self.source().map_or_else(|| self.to_string(), |cause| format!("{self}: {}", root(cause)))
    }
}

/// The innermost cause. The ones around it come from libraries, and repeat it.
pub(crate) fn root(error: &(dyn Error + 'static)) -> String {
    let innermost = std::iter::successors(Some(error), |cause| (*cause).source()).last();
    innermost.map(ToString::to_string).unwrap_or_default()
}

impl Cluster {
    /// A cluster whose Secrets are read in `namespace`.
    pub(crate) fn new(client: Client, namespace: String) -> Self {
        Self { client, namespace: namespace.into() }
    }

    /// Writes a Node's deadline and grace. A merge patch never creates the Node, and the UID keeps it off a successor of
    /// the same name.
    pub(crate) async fn write_deadline(
        &self,
        node: &str,
        uid: &str,
        meant_for: &str,
        instruction: Instruction,
        grace: Option<Grace>,
    ) -> Result<(), Failure> {
        let annotations = json!({
            annotation::DEADLINE: instruction.to_string(),
            annotation::DEADLINE_FOR: meant_for,
            annotation::GRACE: grace.map(|grace| grace.to_string()),
        });
        let patch = json!({ "metadata": { "uid": uid, "annotations": annotations } });
        let nodes = self.nodes();
        let call = async { nodes.patch_metadata(node, &writer(), &Patch::Merge(&patch)).await.map(drop) };
        within("write the Node's deadline", call).await
    }

    /// Reads what only the full Node tells.
    pub(crate) async fn node(&self, name: &str) -> Result<(String, Full), Failure> {
        let node = within("read the Node", self.nodes().get(name)).await?;
        let full = Full::from(&node);
        Ok((node.metadata.uid.unwrap_or_default(), full))
    }

    /// Writes one condition of a Node. Strategic: a merge patch would replace the list, and with it `Ready`. The UID
    /// keeps it off a successor of the same name.
    pub(crate) async fn write_condition(
        &self,
        node: &Node,
        condition: &core::NodeCondition,
    ) -> Result<(), Failure> {
        let patch = json!({ "metadata": { "uid": node.uid }, "status": { "conditions": [condition] } });
        let nodes = self.nodes();
        let call =
            async { nodes.patch_status(&node.name, &writer(), &Patch::Strategic(&patch)).await.map(drop) };
        within("write the Node's condition", call).await
    }

    /// Writes a lease's status, if nobody has written the lease since it was read.
    pub(crate) async fn write_status(
        &self,
        lease: &Lease,
        status: &CapacityLeaseStatus,
    ) -> Result<(), Failure> {
        let patch = json!({ "metadata": { "resourceVersion": lease.resource_version }, "status": status });
        let call = self.leases();
        let call = async { call.patch_status(&lease.name, &writer(), &Patch::Merge(&patch)).await.map(drop) };
        within("write the CapacityLease's status", call).await
    }

    /// Sets or takes off our finalizer, if nobody has written the lease since it was read.
    pub(crate) async fn finalize(&self, lease: &Lease, hold: bool) -> Result<(), Failure> {
        let mut finalizers = lease.finalizers.clone();
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        if hold {
            finalizers.push(FINALIZER.into());
        }
        let patch: Value = json!({
            "metadata": { "resourceVersion": lease.resource_version, "finalizers": finalizers }
        });
        let leases = self.leases();
        let call =
            async { leases.patch_metadata(&lease.name, &writer(), &Patch::Merge(&patch)).await.map(drop) };
        within("write the CapacityLease's finalizer", call).await
    }

    /// Whether nobody has changed the lease since, or deleted it. Reads the API server, never the cache.
    pub(crate) async fn is_unchanged(&self, name: &str, uid: &str, generation: i64) -> Result<bool, Failure> {
        let leases = self.leases();
        let meta = within("read the CapacityLease again", leases.get_metadata(name)).await?.metadata;
        Ok(meta.uid.as_deref() == Some(uid) && meta.generation == Some(generation))
    }

    /// Whether the lease still is what the decision was made from. Reads the API server, never the cache.
    pub(crate) async fn is_current(&self, name: &str, uid: &str, generation: i64) -> Result<bool, Failure> {
        let leases = self.leases();
        let meta = within("read the CapacityLease again", leases.get_metadata(name)).await?.metadata;
        let same = meta.uid.as_deref() == Some(uid) && meta.generation == Some(generation);
        Ok(same && meta.deletion_timestamp.is_none())
    }

    fn nodes(&self) -> Api<core::Node> {
        Api::all(self.client.clone())
    }

    /// The lease as the API server has it, never as the cache does. `None`: it is gone.
    pub(crate) async fn lease(&self, name: &str) -> Result<Option<Lease>, Failure> {
        let leases: Api<DeserializeGuard<CapacityLease>> = Api::all(self.client.clone());
        match within("read the CapacityLease again", leases.get(name)).await {
            Ok(lease) => Ok(Some(Lease::read(lease, None))),
            Err(failure) if failure.is_gone() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn leases(&self) -> Api<CapacityLease> {
        Api::all(self.client.clone())
    }
}

async fn within<T>(
    what: &'static str,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(CALL, call).await {
        Ok(answer) => answer.map_err(|error| Failure::Refused(what, Box::new(error))),
        Err(_) => Err(Failure::NoAnswer(what)),
    }
}

fn writer() -> PatchParams {
    PatchParams { field_manager: Some("curfew-controller".into()), ..PatchParams::default() }
}

/// Long enough for a slow API server, short against the smallest slack.
const CALL: Duration = Duration::from_secs(8);
