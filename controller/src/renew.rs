//! Writes deadlines, and waits for nothing else.

use std::sync::Arc;

use curfew_contract::{Grace, Instruction};
use tracing::{info, warn};

use crate::{
    apply::{Cluster, Failure},
    clock::Reading,
    deadline::{Decision, decide},
    observe::World,
    pass::{Plan, drive},
    shared::Shared,
};

/// One deadline to write.
#[derive(Clone, Debug)]
pub(crate) struct Renewal {
    node: String,
    uid: String,
    meant_for: String,
    instruction: Instruction,
    grace: Option<Grace>,
    /// Name, UID and generation of the lease that must be read again first.
    confirm: Option<(String, String, i64)>,
}

/// Renews, for ever.
pub(crate) async fn run(shared: Arc<Shared>, cluster: Cluster) {
    let act = {
        let shared = Arc::clone(&shared);
        move |renewal: Renewal| {
            let (shared, cluster) = (Arc::clone(&shared), cluster.clone());
            async move { report(&shared, &renewal, write(&cluster, &renewal).await) }
        }
    };
    drive(shared, plan, act).await;
}

/// Which deadlines are due, and when the next is.
fn plan(world: &World, reading: Reading) -> Plan<Renewal> {
    let mut plan = Plan::empty();
    let Some(now) = reading.now.filter(|_| world.listed()) else { return plan };
    for node in world.nodes.values() {
        let claims = world.claims(node, now);
        match decide(node, &claims, now) {
            Decision::Stand(until) => plan.wake_at(until.and_then(|at| reading.uptime_at(at))),
            Decision::AwaitProviderId => {}
            Decision::Write(write) => {
                let renewal = Renewal {
                    node: node.name.clone(),
                    uid: node.uid.clone(),
                    meant_for: node.provider_id().unwrap_or_default().into(),
                    instruction: write.instruction,
                    grace: write.grace,
                    confirm: write.shortens_for.map(|l| (l.name.clone(), l.uid.clone(), l.generation)),
                };
                plan.jobs.push((node.name.clone(), renewal));
            }
        }
    }
    for end in world.leases.values().filter_map(|lease| world.end(lease)).filter(|end| *end > now) {
        plan.wake_at(reading.uptime_at(end));
    }
    plan
}

async fn write(cluster: &Cluster, renewal: &Renewal) -> Result<bool, Failure> {
    if let Some((lease, uid, generation)) = &renewal.confirm
        && !cluster.is_current(lease, uid, *generation).await?
    {
        return Ok(false);
    }
    let Renewal { node, uid, meant_for, instruction, grace, .. } = renewal;
    cluster.write_deadline(node, uid, meant_for, *instruction, *grace).await?;
    Ok(true)
}

fn report(shared: &Shared, renewal: &Renewal, result: Result<bool, Failure>) -> bool {
    let error = match result {
        Ok(true) => None,
        Ok(false) => return false,
        Err(failure) if failure.is_gone() => return false,
        Err(failure) => Some(failure.line()),
    };
    let done = error.is_none();
    let Renewal { node, uid, meant_for, instruction, .. } = renewal;
    match &error {
        None => info!(node, deadline = %instruction, "deadline written"),
        Some(error) => warn!(node, error, "deadline not written; it will be tried again"),
    }
    shared.change(|world, reading| {
        let Some(known) = world.nodes.get_mut(node).filter(|known| known.uid == *uid) else { return };
        if done {
            // Until the watch brings it back, the answer is what is known.
            known.take_deadline(Some(instruction.to_string()), Some(meant_for.clone()), reading.up);
            known.grace = renewal.grace.map(|grace| grace.to_string());
        }
        known.write_error = error;
    });
    done
}
