//! Work on a stage: pods, and a budget that covers them. The status of a budget is written here, since neither the double
//! nor a bare API server has a disruption controller; that of a pod too, where there is no kubelet.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Api, ApiError};
use crate::cluster::Cluster;

/// A pod to be.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// The Node it runs on.
    pub node: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Whose it is.
    pub of: Owner,
}

/// Whose a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A `ReplicaSet`'s.
    ReplicaSet,
    /// A `DaemonSet`'s.
    DaemonSet,
    /// The kubelet's own: the API server has a mirror of it.
    Kubelet,
}

impl Pod {
    fn manifest(&self) -> Value {
        let owner = |kind: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": "work", "uid": "0", "controller": true}]);
        let mut meta = json!({"name": self.name, "labels": self.labels});
        match self.of {
            Owner::ReplicaSet => meta["ownerReferences"] = owner("ReplicaSet"),
            Owner::DaemonSet => meta["ownerReferences"] = owner("DaemonSet"),
            Owner::Kubelet => meta["annotations"] = json!({"kubernetes.io/config.mirror": "0"}),
        }
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": meta,
            "spec": {
                "nodeName": self.node,
                "automountServiceAccountToken": false,
                "containers": [{"name": "work", "image": "work"}],
            },
        })
    }
}

impl Api {
    /// Adds a pod that runs and is ready.
    pub async fn add_pod(&self, pod: &Pod) -> Result<(), ApiError> {
        match self {
            // Its stand-in for a kubelet does the rest.
            Self::Loopback(cluster) => drop(cluster.create(PODS, NAMESPACE, &pod.manifest())?),
            Self::Real(real) => {
                real.create("/api/v1", "serviceaccounts", &json!({"metadata": {"name": "default"}})).await?;
                real.create("/api/v1", "pods", &pod.manifest()).await?;
                let ready = json!({"type": "Ready", "status": "True"});
                let status = json!({"status": {"phase": "Running", "conditions": [ready]}});
                real.patch_status("/api/v1", "pods", &pod.name, &status).await?;
            }
        }
        Ok(())
    }

    /// A pod as it is now; null if there is none.
    pub async fn pod(&self, name: &str) -> Result<Value, ApiError> {
        Ok(match self {
            Self::Loopback(cluster) => cluster.object("pods", NAMESPACE, name).unwrap_or_default(),
            Self::Real(real) => real.read("/api/v1", "pods", name).await?,
        })
    }

    /// Whether a pod runs, is ready, and is not on its way out.
    pub async fn works(&self, name: &str) -> Result<bool, ApiError> {
        let pod = self.pod(name).await?;
        Ok(pod["status"]["phase"] == "Running" && pod["metadata"].get("deletionTimestamp").is_none())
    }

    /// Adds a budget that covers the pods with these labels, and allows no disruption.
    pub async fn add_budget(&self, name: &str, labels: &BTreeMap<String, String>) -> Result<(), ApiError> {
        let spec = json!({"minAvailable": 1, "selector": {"matchLabels": labels}});
        let budget = json!({"metadata": {"name": name, "labels": labels}, "spec": spec});
        match self {
            Self::Loopback(cluster) => drop(cluster.create(BUDGETS, NAMESPACE, &budget)?),
            Self::Real(real) => {
                real.create(&real.policy().await?, "poddisruptionbudgets", &budget).await?;
            }
        }
        self.allow_disruptions(name, 0).await
    }

    /// What a disruption controller writes once it has counted.
    pub async fn allow_disruptions(&self, name: &str, allowed: u32) -> Result<(), ApiError> {
        let status = json!({"status": {
            "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1 + allowed,
            "desiredHealthy": 1, "expectedPods": 2,
        }});
        match self {
            Self::Loopback(cluster) => allow(cluster, name, &status)?,
            Self::Real(real) => {
                real.patch_status(&real.policy().await?, "poddisruptionbudgets", name, &status).await?;
            }
        }
        Ok(())
    }
}

fn allow(cluster: &Cluster, name: &str, status: &Value) -> Result<(), ApiError> {
    drop(cluster.merge_patch(BUDGETS, NAMESPACE, &format!("{name}/status"), status)?);
    Ok(())
}

/// Where the work of every stage is.
pub(crate) const NAMESPACE: &str = "default";
const PODS: (&str, &str, &str) = ("", "v1", "pods");
const BUDGETS: (&str, &str, &str) = ("policy", "v1", "poddisruptionbudgets");
