//! The Kubernetes API of a stage as a person at another desk has it: reads and writes that no fault of the stage
//! touches. Either the loopback cluster, or a real API server behind a relay (`real`).

mod node;
mod objects;
mod real;
mod rent;
pub mod work;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Error as ClusterError, Identity, NodeForm, Options};
use curfew_contract::annotation;
use curfew_controller::crd::{CapacityLease, ProviderConfig};

pub use node::Joining;
pub use objects::{Kind, LEASES, NAMESPACES, NODES, PROVIDERS, SECRETS};
pub use real::{Real, RealError};
pub use rent::NAMESPACE;

/// One of the two.
pub enum Api {
    /// The double.
    Loopback(Arc<Cluster>),
    /// Somebody's cluster.
    Real(Box<Real>),
}

/// Why the API did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// Of the double.
    #[error("the loopback cluster failed")]
    Loopback(#[from] ClusterError),
    /// Of the real one.
    #[error("the cluster failed")]
    Real(#[from] RealError),
}

/// `WatchdogArmed` as it stands on a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// `True`, `False`, `Unknown`; empty if there is no condition yet.
    pub status: String,
    /// Why.
    pub reason: String,
}

impl Api {
    /// A loopback cluster that knows our kinds, with its files below `dir`.
    pub async fn loopback(dir: &Path) -> Result<Self, ApiError> {
        Ok(Self::Loopback(Arc::new(Self::cluster(Options::new(dir)).await?)))
    }

    /// A cluster started with `options` that knows our kinds besides.
    pub async fn cluster(mut options: Options) -> Result<Cluster, ClusterError> {
        let ours = definitions().map(|definition| serde_json::to_value(definition).unwrap_or_default());
        options.definitions.extend(ours);
        Cluster::start(options).await
    }

    /// The API server of `kubeconfig`, in which our definitions are applied.
    pub async fn real(kubeconfig: &Path, dir: &Path) -> Result<Self, ApiError> {
        let real = Real::connect(kubeconfig, dir).await?;
        for definition in definitions() {
            real.apply_definition(&definition).await?;
        }
        Ok(Self::Real(Box::new(real)))
    }

    /// A Node as its kubelet and its cloud register it.
    pub async fn add_node(
        &self,
        name: &str,
        provider_id: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), ApiError> {
        match self {
            Self::Loopback(cluster) => drop(cluster.add_node(name, provider_id, labels)?),
            Self::Real(real) => real.add_node(name, provider_id, labels).await?,
        }
        Ok(())
    }

    /// A Node as it is now; null if there is none.
    pub async fn node(&self, name: &str) -> Result<Value, ApiError> {
        self.object(NODES, "", name).await
    }

    /// The deadline in force: what is written on the Node.
    pub async fn deadline(&self, node: &str) -> Result<Option<Timestamp>, ApiError> {
        let node = self.node(node).await?;
        let written = node["metadata"]["annotations"][annotation::DEADLINE].as_str();
        Ok(written.and_then(|text| text.parse().ok()))
    }

    /// The condition on the Node.
    pub async fn shown(&self, node: &str) -> Result<Shown, ApiError> {
        let node = self.node(node).await?;
        let conditions = node["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let armed = conditions.iter().find(|c| c["type"] == annotation::WATCHDOG_ARMED);
        let text = |field: &str| armed.and_then(|c| c[field].as_str()).unwrap_or_default().to_owned();
        Ok(Shown { status: text("status"), reason: text("reason") })
    }

    /// Writes a deadline by hand.
    pub async fn write_deadline(&self, node: &str, deadline: Timestamp) -> Result<(), ApiError> {
        let patch = json!({"metadata": {"annotations": {annotation::DEADLINE: deadline.to_string()}}});
        self.patch(NODES, "", node, &patch).await
    }

    /// Whether the server accepts connections and answers nothing, to everyone but this.
    pub fn hang(&self, on: bool) {
        match self {
            Self::Loopback(cluster) => cluster.hang(on),
            Self::Real(real) => real.hang(on),
        }
    }

    /// What a machine's agent is given. On a real server this is the administrator's own credential: identities of
    /// kubelets are not made up there.
    pub fn node_kubeconfig(&self, node: &str, dir: &Path, form: NodeForm) -> Result<PathBuf, ApiError> {
        match self {
            Self::Loopback(cluster) => Ok(cluster.kubelet_files(node, dir, form, None)?),
            Self::Real(real) => Ok(real.kubeconfig().to_owned()),
        }
    }

    /// What the controller is given.
    pub fn controller_kubeconfig(&self) -> Result<PathBuf, ApiError> {
        match self {
            Self::Loopback(cluster) => Ok(cluster.kubeconfig_for(&Identity::Controller, None)?),
            Self::Real(real) => Ok(real.kubeconfig().to_owned()),
        }
    }

    /// Whether a credential here tells which Node it belongs to.
    #[must_use]
    pub const fn credential_names_node(&self) -> bool {
        matches!(self, Self::Loopback(_))
    }

    /// Removes what a stage created from somebody's cluster, which no controller works on any more. The double goes as a
    /// whole.
    pub async fn clear(&self, lease: &str, nodes: &[String]) -> Result<(), ApiError> {
        let Self::Real(real) = self else { return Ok(()) };
        self.remove(LEASES, "", lease).await?;
        self.remove(PROVIDERS, "", lease).await?;
        for secret in [lease.to_owned(), format!("{lease}-machine")] {
            self.remove(SECRETS, NAMESPACE, &secret).await?;
        }
        real.clear_work(&format!("sandbox%3D{lease}")).await?;
        for node in nodes {
            self.remove(NODES, "", node).await?;
        }
        Ok(())
    }
}

fn definitions() -> [CustomResourceDefinition; 2] {
    [CapacityLease::crd(), ProviderConfig::crd()]
}
