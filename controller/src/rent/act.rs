//! Makes the calls. The only place here that talks to a provider; what was told goes into [`Learnt`].
//!
//! Each call has a time-out and a task of its own. A deletion needs the account and nothing else.

use std::{sync::Arc, time::Duration};

use curfew_contract::label;
use curfew_provider::{Outcome, ServerId};
use tokio::time::timeout;
use tracing::{info, warn};

use super::{
    jobs::{Job, Machine, plan},
    learnt::{Heard, Learnt},
    name, order,
    plan::{Search, Step},
    slot::{is_of, slot_of},
};
use crate::{
    apply::Cluster,
    cloud::{CallError, Urgency},
    observe::{Lease, World},
    pass::drive,
    shared::Shared,
};

/// Rents, for ever. Deletions have a loop of their own: however many creations hang, they go out.
pub(crate) async fn run(shared: Arc<Shared>, cluster: Cluster) {
    let act = |shared: &Arc<Shared>| {
        let (shared, cluster) = (Arc::clone(shared), cluster.clone());
        move |job: Job| {
            let (shared, cluster) = (Arc::clone(&shared), cluster.clone());
            async move { carry_out(&shared, &cluster, &job).await }
        }
    };
    let rents = |world: &World, reading| plan(world, reading, |step| !step.ends_a_bill());
    let deletes = |world: &World, reading| plan(world, reading, Step::ends_a_bill);
    tokio::join!(
        drive(Arc::clone(&shared), rents, act(&shared)),
        drive(Arc::clone(&shared), deletes, act(&shared)),
    );
}

/// Whether it was done.
async fn carry_out(shared: &Shared, cluster: &Cluster, job: &Job) -> bool {
    if job.confirm && matches!(job.step, Step::Delete(_)) && !stands(shared, cluster, job).await {
        return false;
    }
    let began = shared.clock.read().up;
    let heard = match call(shared, cluster, job).await {
        Ok(Some(heard)) => heard,
        // Decided from what is no longer so.
        Ok(None) => return false,
        Err(error) => Heard::Failed(error),
    };
    report(job, &heard);
    let done = is_done(&heard);
    shared.change(|world, reading| {
        let Some(lease) = world.leases.get_mut(&job.lease).filter(|lease| lease.uid == job.uid) else {
            return;
        };
        match job.machine {
            Machine::Slot(slot) => lease.learnt.entry(slot).or_default().hear(heard, began, reading),
            Machine::Stray(id) => {
                let mut learnt =
                    Learnt { removal: lease.strays.remove(&id).unwrap_or_default(), ..Learnt::default() };
                learnt.hear(heard, began, reading);
                lease.strays.insert(id, learnt.removal);
            }
        }
    });
    done
}

/// `Err`: what went wrong, and can be asked again.
async fn call(shared: &Shared, cluster: &Cluster, job: &Job) -> Result<Option<Heard>, String> {
    let account = &job.account;
    let heard = match job.step {
        Step::Create => return order::place(shared, cluster, job).await,
        Step::Adopt(id) => return Ok(shared.with(|world, _| adopt(world, job, id))),
        Step::Find(search) => find(job, search).await,
        Step::Poll(id, Some(action)) => match account.progress(action).await {
            Err(error) if error.is_gone() => read(job, id, Urgency::Work).await,
            progress => progress.map(Heard::Progress),
        },
        Step::Poll(id, None) | Step::Look(id) => read(job, id, Urgency::Work).await,
        Step::Label(id, until) => {
            let set = [(label::EXPIRES_AT.into(), until.as_second().to_string())].into();
            account.relabel(id, &set).await.map(|server| Heard::Read(Box::new(server)))
        }
        Step::Delete(id) => delete(job, id).await,
        Step::Confirm(id) => read(job, id, Urgency::Deletion).await,
    };
    match heard {
        Err(error) if error.is_gone() => Ok(Some(Heard::Gone)),
        heard => heard.map(Some).map_err(|error| error.line()),
    }
}

/// Whether the lease still ends when it was thought to: a stale view may lengthen a life, but never shorten one. An API
/// server that does not answer keeps no machine: its agent would not wait for it either.
async fn stands(shared: &Shared, cluster: &Cluster, job: &Job) -> bool {
    match timeout(CONFIRM, cluster.lease(&job.lease)).await {
        Ok(Ok(Some(lease))) if lease.uid == job.uid && lease.generation != job.generation => {
            shared.change(|world, _| {
                if let Some(known) = world.leases.get_mut(&job.lease).filter(|known| known.uid == job.uid) {
                    *known = lease.knowing(known);
                }
            });
            false
        }
        Ok(Ok(_)) => true,
        Ok(Err(_)) | Err(_) => {
            warn!(
                lease = job.lease,
                "the API server does not confirm the end of the lease; its machine is deleted all the same"
            );
            true
        }
    }
}

fn adopt(world: &World, job: &Job, id: ServerId) -> Option<Heard> {
    let lease = world.leases.get(&job.lease).filter(|lease| lease.uid == job.uid)?;
    let server = world.listed_for(lease)?.servers.get(&id)?;
    let provider_id = job.account.driver().provider_id(id);
    Some(Heard::Server { server: Box::new(server.clone()), provider_id, action: None })
}

/// By the lease's labels, since a person may have renamed it; then by name, since a person may have taken the labels off.
async fn find(job: &Job, search: Search) -> Result<Heard, CallError> {
    let Machine::Slot(slot) = job.machine else { return Ok(Heard::Nothing(search)) };
    let urgency = if search == Search::Lost { Urgency::Work } else { Urgency::Deletion };
    let lease = Lease { name: job.lease.clone(), uid: job.uid.clone(), ..Lease::default() };
    let ours = |server: &&_| is_of(server, &lease) && slot_of(server) == Some(slot);
    let account = &job.account;
    let listed = account.list((label::LEASE_UID, &job.uid), urgency).await?;
    let server = match listed.values().find(ours) {
        Some(server) => Some(server.clone()),
        None => account.find_server(&name::of(&job.lease, &job.uid, slot)).await?,
    };
    Ok(match server {
        Some(server) if ours(&&server) => {
            let provider_id = account.driver().provider_id(server.id);
            Heard::Server { server: Box::new(server), provider_id, action: None }
        }
        Some(_) => Heard::NameTaken(search),
        None => Heard::Nothing(search),
    })
}

async fn read(job: &Job, id: ServerId, urgency: Urgency) -> Result<Heard, CallError> {
    job.account.read(id, urgency).await.map(|server| Heard::Read(Box::new(server)))
}

async fn delete(job: &Job, id: ServerId) -> Result<Heard, CallError> {
    let (outcome, action) = job.account.delete(id).await?;
    if outcome == Outcome::Protected {
        job.account.lift_protection(id).await?;
    }
    Ok(Heard::Deleted(outcome, action))
}

/// What is not is asked again, later each time. Protection that does not go when it is lifted is one such: otherwise the
/// rate limit would be spent on it within minutes.
const fn is_done(heard: &Heard) -> bool {
    !matches!(
        heard,
        Heard::Failed(_)
            | Heard::Deleted(
                Outcome::Forbidden
                    | Outcome::Protected
                    | Outcome::ReadOnly
                    | Outcome::Retry { .. }
                    | Outcome::WrongProject,
                _
            )
    )
}

fn report(job: &Job, heard: &Heard) {
    let (lease, machine, step) = (&job.lease, format!("{:?}", job.machine), job.step.kind());
    match heard {
        Heard::Server { server, .. } if matches!(job.step, Step::Create) => {
            info!(lease, machine, server = %server.id, "server created");
        }
        Heard::Server { server, .. } => info!(lease, machine, server = %server.id, "server adopted"),
        Heard::Deleted(Outcome::Accepted, _) => info!(lease, machine, "deletion accepted"),
        Heard::Gone | Heard::Deleted(Outcome::Gone, _) => {
            info!(lease, machine, "the provider has no such server");
        }
        Heard::Failed(error) | Heard::Unanswered(error) => {
            warn!(lease, machine, step, error, "provider call failed");
        }
        Heard::NotCreated(error) => warn!(lease, machine, %error, "server not created"),
        Heard::NameTaken(_) => {
            warn!(lease, machine, "the server of that name is not ours; it is left alone");
        }
        Heard::Deleted(outcome, _) => {
            warn!(lease, machine, error = %outcome, "not deleted; it will be tried again");
        }
        Heard::Nothing(_) | Heard::Progress(_) | Heard::Read(_) => {}
    }
}

/// Short: the end of a bill waits for it.
const CONFIRM: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_that_protection_stops_again_and_again_is_tried_later_each_time() {
        let done = |outcome| is_done(&Heard::Deleted(outcome, None));
        assert!(!done(Outcome::Protected) && !done(Outcome::Forbidden));
        assert!(done(Outcome::Accepted) && done(Outcome::Gone));
    }
}
