//! A stage whose machines the controller rents.

use std::collections::BTreeMap;

use tokio::time::{Instant, sleep};

use super::{ARMS_WITHIN, Credentials, LOOK, Rental, Setup, Stage, StageError, missed};
use crate::clock;

impl Stage {
    /// Has the controller rent the machines, and waits until they boot.
    pub(super) async fn rent_by_lease(&mut self, setup: &Setup) -> Result<(), StageError> {
        Credentials::issue(&self.lease, &self.cloud, &self.api).await?;
        let (replicas, watchdog) = (setup.machines, setup.watchdog);
        let rental = Rental { replicas, watchdog, ..Rental::new(&self.lease, setup.lease) };
        self.api.add_lease(&self.lease, &rental.spec()).await?;
        let begun = Instant::now();
        while self.fleet.machines().len() < replicas {
            if begun.elapsed() > ARMS_WITHIN {
                return Err(missed(format!("the machines of the lease {}", self.lease), ARMS_WITHIN));
            }
            sleep(LOOK).await;
        }
        self.machines = self.fleet.machines();
        Ok(())
    }

    /// Waits until the lease's status says that every machine is ready; returns how long after its creation that was seen
    /// there, in seconds.
    pub async fn joined(&self) -> Result<Vec<f64>, StageError> {
        let (created, begun) = (self.cloud.servers(), Instant::now());
        let mut joined = BTreeMap::new();
        while joined.len() < created.len() {
            let lease = self.api.lease(&self.lease).await?;
            let now = clock::now();
            let ready = lease["status"]["instances"].as_array().into_iter().flatten();
            for instance in ready.filter(|instance| instance["nodeReadyAt"].is_string()) {
                let of = created.iter().find(|server| instance["name"] == server.name.as_str());
                of.map(|server| {
                    joined.entry(server.id).or_insert_with(|| now.duration_since(server.created))
                });
            }
            if begun.elapsed() > ARMS_WITHIN {
                return Err(missed(format!("nodeReadyAt of {} machines", created.len()), ARMS_WITHIN));
            }
            sleep(LOOK).await;
        }
        Ok(joined.into_values().map(|took| took.as_secs_f64()).collect())
    }
}
