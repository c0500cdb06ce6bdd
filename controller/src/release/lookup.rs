//! Looks up what machines that are gone may have left behind, thing by thing. Asks only when the provider's rate budget is
//! far from spent: nothing depends on the answer.

use std::sync::Arc;

use curfew_provider::Extras;
use tracing::warn;

use super::residue::{Thing, due, written};
use crate::{
    clock::Reading,
    cloud::{Account, Urgency},
    crd,
    observe::World,
    pass::{Plan, drive},
    shared::Shared,
};

/// The things of one lease, to be looked up one after the other.
struct Job {
    lease: String,
    uid: String,
    things: Vec<Thing>,
    account: Arc<Account>,
    extras: Extras,
    currency: String,
}

/// Looks up, for ever.
pub(crate) async fn run(shared: Arc<Shared>) {
    let act = {
        let shared = Arc::clone(&shared);
        move |job: Job| {
            let shared = Arc::clone(&shared);
            async move { look(&shared, &job).await }
        }
    };
    drive(shared, plan, act).await;
}

fn plan(world: &World, reading: Reading) -> Plan<Job> {
    let mut plan = Plan::empty();
    if reading.now.is_none() || !world.listed() {
        return plan;
    }
    for lease in world.leases.values() {
        let provider = lease.provider().and_then(|name| world.providers.get(name));
        let Some((provider, account)) = provider.and_then(|known| Some((known, known.account.as_ref()?)))
        else {
            continue;
        };
        let (things, next) = due(lease, reading);
        plan.wake_at(next);
        if !things.is_empty() {
            let catalogue = provider.catalogue.as_deref();
            let job = Job {
                lease: lease.name.clone(),
                uid: lease.uid.clone(),
                things,
                account: Arc::clone(account),
                extras: catalogue.map(|known| known.extras.clone()).unwrap_or_default(),
                currency: catalogue.map(|known| known.currency.clone()).unwrap_or_default(),
            };
            plan.jobs.push((lease.name.clone(), job));
        }
    }
    plan
}

/// Each thing on its own: one that cannot be told of keeps no other from being named. Always done: when to ask again is
/// noted.
async fn look(shared: &Shared, job: &Job) -> bool {
    for thing in &job.things {
        let (kind, id) = *thing;
        let answer = job.account.attached(kind, id, &job.extras, Urgency::Look).await;
        if let Err(error) = &answer {
            let (lease, kind, error) = (job.lease.as_str(), kind.as_str(), error.line());
            warn!(
                lease,
                kind, id, error, "not known whether a machine left it behind; asked again in a minute"
            );
        }
        shared.change(|world, reading| {
            let lease = world.leases.get_mut(&job.lease).filter(|lease| lease.uid == job.uid);
            let Some(lease) = lease else { return };
            match answer {
                Ok(residue) => {
                    let residue = residue.map(|residue| crd::Residue {
                        kind: written(kind).into(),
                        id,
                        name: Some(residue.name).filter(|name| !name.is_empty()),
                        monthly: residue.monthly.map(|price| format!("{price} {}", job.currency)),
                    });
                    lease.looked.note(*thing, residue, reading.up);
                }
                Err(_) => lease.looked.failed(*thing, reading.up),
            }
        });
    }
    true
}
