//! Nodes as kubelets make and keep them.

use std::collections::BTreeMap;

use hyper::Method;
use serde_json::{Value, json};

use super::{Api, ApiError, NODES};
use crate::machine::product_uuid;

/// A Node to be.
#[derive(Clone, Debug)]
pub struct Joining {
    /// Its name, the server's.
    pub name: String,
    /// `spec.providerID`.
    pub provider_id: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The server, by whose id image and firmware tell one machine from another.
    pub server: u64,
}

impl Joining {
    /// The Node of a server.
    #[must_use]
    pub fn new(name: &str, server: u64, labels: BTreeMap<String, String>) -> Self {
        Self { name: name.into(), provider_id: format!("hcloud://{server}"), labels, server }
    }

    fn manifest(&self, now: &str) -> Value {
        let mut labels = self.labels.clone();
        labels.insert("kubernetes.io/hostname".into(), self.name.clone());
        labels.insert("kubernetes.io/os".into(), "linux".into());
        let size = json!({"cpu": "2", "memory": "4Gi", "pods": "110"});
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": self.name, "labels": labels},
            "spec": {"providerID": self.provider_id},
            "status": {
                "capacity": size, "allocatable": size,
                "conditions": [condition("False", "KubeletNotReady", now)],
                "nodeInfo": {
                    "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "",
                    "kubeProxyVersion": "", "kubeletVersion": "v1.36.0", "operatingSystem": "linux", "osImage": "",
                    "machineID": product_uuid(self.server).replace('-', ""),
                    "systemUUID": product_uuid(self.server),
                },
            },
        })
    }
}

impl Api {
    /// A Node as its kubelet registers it: not ready yet.
    pub async fn join(&self, node: &Joining) -> Result<(), ApiError> {
        self.create(NODES, "", &node.manifest(&self.now())).await?;
        // Somebody's cluster is not given what would have to be removed again.
        if let Self::Loopback(cluster) = self {
            let spec = json!({"holderIdentity": node.name, "leaseDurationSeconds": 40});
            let lease = json!({"metadata": {"name": node.name}, "spec": spec});
            cluster.create(("coordination.k8s.io", "v1", "leases"), "kube-node-lease", &lease)?;
        }
        Ok(())
    }

    /// The Ready condition of a Node: as its kubelet sets it, or (`false`) as the node lifecycle controller does once the
    /// kubelet is dead.
    pub async fn mark_ready(&self, node: &str, ready: bool) -> Result<(), ApiError> {
        match self {
            Self::Loopback(cluster) => drop(cluster.mark_ready(node, ready)?),
            Self::Real(real) => {
                let now = self.now();
                let (status, reason) =
                    if ready { ("True", "KubeletReady") } else { ("Unknown", "NodeStatusUnknown") };
                let status = json!({"status": {"conditions": [condition(status, reason, &now)]}});
                let path = format!("/api/v1/nodes/{node}/status");
                let media = "application/strategic-merge-patch+json";
                real.ask(Method::PATCH, &path, media, &status).await?;
            }
        }
        Ok(())
    }

    /// By the API server's clock, as a kubelet writes it.
    fn now(&self) -> String {
        let now = match self {
            Self::Loopback(cluster) => cluster.now(),
            Self::Real(_) => crate::clock::now(),
        };
        now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

fn condition(status: &str, reason: &str, now: &str) -> Value {
    json!({"type": "Ready", "status": status, "reason": reason, "message": "", "lastHeartbeatTime": now,
           "lastTransitionTime": now})
}
