//! Machines that a lease rents: what a person types for that, what the lease's status says, and what the cloud's books say.

use std::sync::Arc;

use curfew_contract::label;
use curfew_sandbox::{
    cloud::{Caller, Created},
    leak::leaks,
    machine::{AGENT, BACKSTOP, Machine},
    stage::{CONTROLLER, Credentials, Rental},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Result, World};

impl World {
    /// A cloud, a cluster, a running controller, and everything that a lease which rents needs besides itself: a
    /// `ProviderConfig` called [`PROVIDER`] and its Secrets.
    pub async fn renting(testbed: &str) -> Result<(Self, Credentials)> {
        let mut world = Self::empty(testbed).await?;
        let credentials = world.rents().await?;
        Ok((world, credentials))
    }

    /// Adds all of that to what there is already, the controller last.
    pub async fn rents(&mut self) -> Result<Credentials> {
        let credentials = Credentials::issue(PROVIDER, &self.cloud, &self.api).await?;
        self.start_controller()?;
        Ok(credentials)
    }

    /// A lease that rents so many machines from [`PROVIDER`]. Change what it says by `change`.
    pub async fn rent_for(
        &self,
        lease: &str,
        seconds: u64,
        replicas: usize,
        change: impl FnOnce(&mut Rental),
    ) -> Result<()> {
        let duration = std::time::Duration::from_secs(seconds);
        let mut rental = Rental { replicas, ..Rental::new(PROVIDER, duration) };
        change(&mut rental);
        Ok(self.api.add_lease(lease, &rental.spec()).await?)
    }

    /// Waits until so many servers that were created have booted.
    pub async fn moved_in(&self, machines: usize) -> Result<Vec<Arc<Machine>>> {
        let enough = || Some(self.fleet.machines()).filter(|booted| booted.len() >= machines);
        self.becomes("the machines", enough).await
    }

    /// The lease as it is now; null if there is none.
    #[must_use]
    pub fn lease_object(&self, lease: &str) -> Value {
        self.cluster().object("capacityleases.curfew.dev", "", lease).unwrap_or_default()
    }

    /// `status.instances` of a lease.
    #[must_use]
    pub fn instances(&self, lease: &str) -> Vec<Value> {
        self.lease_object(lease)["status"]["instances"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until the lease is as `look` says; shows it otherwise.
    pub async fn lease_becomes<T>(
        &self,
        lease: &str,
        what: &str,
        look: impl Fn(&Value) -> Option<T>,
    ) -> Result<T> {
        let found = self.becomes(what, || look(&self.lease_object(lease))).await;
        found.map_err(|error| format!("{error}; the lease: {:#}", self.lease_object(lease)).into())
    }

    /// Waits until all of a lease's machines show as ready in its status.
    pub async fn ready(&self, lease: &str, machines: usize) -> Result<Vec<Value>> {
        self.lease_becomes(lease, "ready machines", |lease| {
            let instances = lease["status"]["instances"].as_array()?;
            let ready = instances.iter().filter(|instance| instance["nodeReadyAt"].is_string());
            (ready.count() == machines).then(|| instances.clone())
        })
        .await
    }

    /// Waits until the lease is over; returns its instances, with their receipts.
    pub async fn released(&self, lease: &str) -> Result<Vec<Value>> {
        self.lease_becomes(lease, "the release", |lease| lease["status"]["releasedAt"].as_str().map(|_| ()))
            .await?;
        Ok(self.instances(lease))
    }

    /// Waits until an object that was deleted is gone, its finalizers with it.
    pub async fn lease_vanishes(&self, lease: &str) -> Result<()> {
        self.lease_becomes(lease, "the end of the object", |lease| lease.is_null().then_some(())).await
    }

    /// Deletes a lease, as a person does.
    pub fn delete_lease(&self, lease: &str) -> Result<()> {
        self.cluster().delete(LEASES, "", lease)?;
        Ok(())
    }

    /// Changes a lease, as a person does.
    pub fn edit_lease(&self, lease: &str, spec: &Value) -> Result<()> {
        self.cluster().merge_patch(LEASES, "", lease, &json!({"spec": spec}))?;
        Ok(())
    }

    /// Every server that this lease rented, as it was created.
    #[must_use]
    pub fn rented(&self, lease: &str) -> Vec<Created> {
        let ours = |server: &Created| server.labels.get(label::LEASE).is_some_and(|of| of == lease);
        self.fleet.created().into_iter().filter(ours).collect()
    }

    /// The end of every promise about renting: no server that was ever rented is still there, and each was deleted once.
    pub fn nothing_leaks(&self) -> Result<()> {
        let leaks = leaks(&self.fleet.created(), &self.cloud.servers(), &self.cloud.ledger());
        match leaks.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ") {
            none if none.is_empty() => Ok(()),
            leaks => Err(leaks.into()),
        }
    }

    /// Whose accepted DELETE ended a server, and when.
    #[must_use]
    pub fn deleted_by(&self, server: u64) -> Option<(String, Timestamp)> {
        let path = format!("/v1/servers/{server}");
        let entry = self
            .cloud
            .ledger()
            .into_iter()
            .find(|entry| entry.method == "DELETE" && entry.path == path && entry.status < 300)?;
        match entry.caller {
            Caller::Known { holder, .. } => Some((holder, entry.at)),
            _ => None,
        }
    }

    /// The receipts of a lease say what the cloud's ledger says.
    pub fn receipts_are_true(&self, lease: &str) -> Result<()> {
        let instances = self.instances(lease);
        for server in self.rented(lease) {
            let id = format!("hcloud://{}", server.id);
            let instance = instances.iter().find(|instance| instance["providerID"] == id.as_str());
            let receipt = &instance.ok_or_else(|| format!("no instance of {id}: {instances:#?}"))?["receipt"];
            let (holder, at) = self.deleted_by(server.id).ok_or("no accepted DELETE")?;
            let said = receipt["enforcedBy"].as_str().unwrap_or_default();
            if !says(said, &holder) {
                return Err(format!("deleted by {holder}; the receipt says {receipt:#}").into());
            }
            let time = |field: &str| receipt[field].as_str().and_then(|at| at.parse::<Timestamp>().ok());
            let absent = time("absentAt").ok_or_else(|| format!("no absence in {receipt:#}"))?;
            // Whole seconds, of an answer that was heard a moment later.
            let after = |heard: Timestamp| heard.duration_since(at).as_secs();
            let accepted = time("deleteAcceptedAt");
            if accepted.is_some_and(|accepted| !(-1..=3).contains(&after(accepted))) || after(absent) < -1 {
                return Err(format!("deleted at {at}; the receipt says {receipt:#}").into());
            }
            if holder == CONTROLLER && (accepted.is_none() || receipt["actionID"].is_null()) {
                return Err(format!("the controller deleted it; the receipt says {receipt:#}").into());
            }
        }
        Ok(())
    }
}

/// Whether a receipt's word is true of whoever held the token. The controller knows its own deletions; the machine's two
/// layers it tells apart by how long the agent had been silent.
fn says(word: &str, holder: &str) -> bool {
    match holder {
        CONTROLLER => word == "controller",
        AGENT => word == "agent",
        BACKSTOP => ["agent", "backstop"].contains(&word),
        _ => word == "external",
    }
}

/// Name of the `ProviderConfig`.
pub const PROVIDER: &str = "hetzner";
const LEASES: (&str, &str, &str) = ("curfew.dev", "v1alpha1", "capacityleases");
