//! Keeps each `ProviderConfig`: its account, its catalogue, its servers, and what is said about it.
//!
//! ```text
//! plan (pure): what is due ─▶ credential │ look ─▶ World ─▶ status (pure) ─▶ publish
//! ```
//!
//! Rents nothing and deletes nothing. Teardown needs the account only, and an account that was good once stands
//! until another has proven itself: neither a vanished Secret nor a broken configuration takes it away.

mod credential;
#[cfg(test)]
pub(crate) mod fixture;
mod look;
mod plan;
mod publish;
mod secrets;
mod status;

use std::{path::PathBuf, sync::Arc};

use crate::{apply::Cluster, clock::Reading, event::Events, observe::World, pass::drive, shared::Shared};

pub(crate) use plan::list_lasts;
use plan::{Job, plan};
pub(crate) use status::{CAN_DELETE, CATALOGUE, READY, SWEEP};

/// Keeps them, for ever. `authorities`: a PEM file of certificate authorities beside the public ones.
pub(crate) async fn run(shared: Arc<Shared>, cluster: Cluster, events: Events, authorities: Option<PathBuf>) {
    let act = {
        let shared = Arc::clone(&shared);
        move |job: Job| {
            let (shared, cluster) = (Arc::clone(&shared), cluster.clone());
            let (events, authorities) = (events.clone(), authorities.clone());
            async move {
                match job {
                    Job::Credential(subject) => {
                        credential::take(&shared, &cluster, &subject, authorities.as_deref()).await;
                        true
                    }
                    Job::Secrets(subject) => {
                        secrets::look(&shared, &cluster, &subject).await;
                        true
                    }
                    Job::Look(subject, what) => {
                        look::look(&shared, &subject, what).await;
                        true
                    }
                    Job::Publish(provider, status) => {
                        publish::status(&shared, &cluster, &events, &provider, &status).await
                    }
                    Job::Hold(provider, hold) => publish::hold(&cluster, &provider, hold).await,
                }
            }
        }
    };
    drive(shared, |world: &World, reading: Reading| plan(world, reading), act).await;
}
