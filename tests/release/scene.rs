//! One rented machine, its Node, its work, and what a person does to them.

use std::sync::Arc;

use curfew_contract::annotation;
use curfew_sandbox::{
    api::work::{Owner, Pod},
    cloud::Project,
    cluster::{Call, STOPS_AFTER},
    machine::Machine,
};
use curfew_tests::{Kept, World, secs};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::TESTBED;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

pub(super) struct Scene {
    pub(super) world: World,
    lease: String,
    pub(super) machine: Arc<Machine>,
    pub(super) node: String,
    pub(super) server: u64,
}

impl Scene {
    /// A lease with one machine whose Node is ready.
    pub(super) async fn of_one(lease: &str, seconds: u64, teardown_grace: u64) -> Result<Self> {
        let (world, _) = World::renting(TESTBED).await?;
        world.rent_for(lease, seconds, 1, |rental| rental.teardown_grace = secs(teardown_grace)).await?;
        let machine = world.moved_in(1).await?.remove(0);
        world.ready(lease, 1).await?;
        let (node, server) = (machine.name.clone(), machine.id);
        Ok(Self { world, lease: lease.into(), machine, node, server })
    }

    /// The end of the lease.
    pub(super) fn end(&self) -> Result<Timestamp> {
        let lease = self.world.lease_object(&self.lease);
        Ok(lease["status"]["expiresAt"].as_str().ok_or("no expiry")?.parse()?)
    }

    /// Seconds from then to the end.
    pub(super) fn left_at(&self, at: Timestamp) -> i64 {
        self.end().map_or(0, |end| end.duration_since(at).as_secs())
    }

    /// Adds a pod to the machine.
    pub(super) async fn pod(&self, name: &str, of: Owner) -> Kept {
        let labels = [("app".to_owned(), "work".to_owned())].into();
        self.world.api.add_pod(&Pod { name: name.into(), node: self.node.clone(), labels, of }).await?;
        self.world.becomes("a running pod", || runs(&self.world, name).then_some(())).await
    }

    /// Adds a pod that has an hour to stop, and takes it.
    pub(super) fn slow_pod(&self, name: &str) -> Kept {
        let pod = json!({
            "metadata": {"name": name, "annotations": {STOPS_AFTER: "1h"}},
            "spec": {"nodeName": self.node, "terminationGracePeriodSeconds": 3600,
                "containers": [{"name": "c", "image": "pause"}]},
        });
        self.world.cluster().create(("", "v1", "pods"), "default", &pod)?;
        Ok(())
    }

    /// Whether there is such a pod, be it on its way out.
    pub(super) fn exists(&self, name: &str) -> bool {
        self.world.cluster().object("pods", "default", name).is_some()
    }

    /// A budget that covers every pod, and never allows anything.
    pub(super) fn budget(&self) -> Kept {
        let spec = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "work"}}});
        let budget = json!({"metadata": {"name": "work"}, "spec": spec,
            "status": {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}});
        self.world.cluster().create(("policy", "v1", "poddisruptionbudgets"), "default", &budget)?;
        Ok(())
    }

    /// Our mark on the Node.
    pub(super) fn mark(&self) -> Option<String> {
        let node = self.world.cluster().node(&self.node)?;
        node["metadata"]["annotations"][annotation::DRAINED_FOR].as_str().map(Into::into)
    }

    /// As `kubectl cordon` does.
    pub(super) fn cordon(&self, on: bool) -> Kept {
        let patch = json!({"spec": {"unschedulable": on}});
        self.world.cluster().merge_patch(("", "v1", "nodes"), "", &self.node, &patch)?;
        Ok(())
    }

    /// The Node that a lease's only machine has.
    pub(super) fn other_node(&self, lease: &str) -> Result<String> {
        let instances = self.world.instances(lease);
        let node = instances.first().and_then(|instance| instance["nodeName"].as_str());
        Ok(node.ok_or("no Node")?.into())
    }

    pub(super) fn attach(&self, name: &str) -> Kept {
        let spec = json!({"attacher": "csi.hetzner.cloud", "nodeName": self.node,
            "source": {"persistentVolumeName": "pv-1"}});
        self.world.cluster().create(ATTACHMENTS, "", &json!({"metadata": {"name": name}, "spec": spec}))?;
        Ok(())
    }

    pub(super) fn detach(&self, name: &str) -> Kept {
        self.world.cluster().delete(ATTACHMENTS, "", name)?;
        Ok(())
    }

    pub(super) fn is_out_of_service(&self) -> bool {
        let node = self.world.cluster().node(&self.node).unwrap_or_default();
        let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.iter().any(|taint| {
            taint["key"] == "node.kubernetes.io/out-of-service"
                && taint["value"] == "nodeshutdown"
                && taint["effect"] == "NoExecute"
        })
    }

    /// Attaches a volume to the server, and waits until the lease's status has it.
    pub(super) async fn leave_behind_a_volume(&self) -> Kept {
        let volume = json!({"id": 4711, "name": "data", "server": self.server, "size": 100,
            "location": {"name": "fsn1"}, "status": "available", "labels": {}, "protection": {"delete": false}});
        self.world.cloud.add_residue(Project::OURS, "volumes", volume);
        let noted = || {
            let instances = self.world.instances(&self.lease);
            let attached = instances.first()?["attached"].as_array()?.clone();
            attached.iter().any(|thing| thing["kind"] == "Volume" && thing["id"] == 4711).then_some(())
        };
        // The provider's servers are listed once a minute.
        self.world.becomes_within(secs(90), "the volume in the status", noted).await
    }

    /// Waits until an event with this reason was published.
    pub(super) async fn is_told(&self, reason: &str) -> Kept {
        told(&self.world, reason).await
    }

    /// Has the machine given back, at once.
    pub(super) async fn end_it(&self, lease: &str) -> Kept {
        self.world.edit_lease(lease, &json!({"teardownGrace": "0s"}))?;
        self.world.delete_lease(lease)?;
        self.world.lease_vanishes(lease).await?;
        self.world.nothing_leaks()
    }
}

/// Waits until an event with this reason was published.
pub(super) async fn told(world: &World, reason: &str) -> Kept {
    let events = || world.cluster().objects("events");
    let said = || events().iter().any(|event| event["reason"] == reason).then_some(());
    world.becomes(&format!("an event {reason}"), said).await
}

/// One condition of a lease.
pub(super) fn condition(lease: &Value, type_: &str) -> Option<Value> {
    let conditions = lease["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == type_).cloned()
}

pub(super) fn cordoned(world: &World, node: &str) -> bool {
    world.cluster().node(node).is_some_and(|node| node["spec"]["unschedulable"] == true)
}

/// Whether a pod runs and is not on its way out.
pub(super) fn runs(world: &World, name: &str) -> bool {
    world.cluster().object("pods", "default", name).is_some_and(|pod| {
        pod["status"]["phase"] == "Running" && pod["metadata"].get("deletionTimestamp").is_none()
    })
}

/// Every eviction that was asked for and answered, oldest first.
pub(super) fn evictions(world: &World) -> Vec<Call> {
    let is = |call: &Call| call.subresource.as_deref() == Some("eviction") && call.code != 0;
    world.cluster().calls().into_iter().filter(is).collect()
}

const ATTACHMENTS: (&str, &str, &str) = ("storage.k8s.io", "v1", "volumeattachments");
