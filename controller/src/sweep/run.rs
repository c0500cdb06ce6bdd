//! The sweep within the cluster: each minute, each provider by itself.
//!
//! A provider that does not answer, or a deletion that hangs, holds up no other provider and no other deletion. What went
//! wrong is tried again a minute later; what a person should know is in the condition `Sweep`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use curfew_contract::label;
use curfew_provider::{Server, ServerId};
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use tracing::{info, warn};

use super::{
    doubt::Memory,
    ending::{Fate, end_all},
    found::{Found, running},
    nodes,
    plan::{Leases, Patience, Verdict, Whose, judge, ours},
};
use crate::{
    apply::Cluster,
    clock::{Reading, Uptime},
    cloud::{Account, Urgency},
    event::{Events, Notice},
    observe::{Listed, Provider, Swept, World},
    pass::{Plan, drive},
    provider::list_lasts,
    shared::Shared,
};

/// One provider to sweep.
#[derive(Clone, Debug)]
struct Round {
    provider: Box<Provider>,
    account: Arc<Account>,
    cluster: String,
}

/// Of each provider, by UID: when it was swept last, and what is remembered of it.
type Rounds = Arc<Mutex<BTreeMap<String, (Uptime, Memory)>>>;

/// Sweeps, for ever.
pub(crate) async fn run(shared: Arc<Shared>, cluster: Cluster, events: Events) {
    let rounds = Rounds::default();
    let plan = {
        let rounds = Arc::clone(&rounds);
        move |world: &World, reading: Reading| due(world, reading, &rounds)
    };
    let act = {
        let shared = Arc::clone(&shared);
        move |round: Round| {
            let (shared, cluster, events, rounds) =
                (Arc::clone(&shared), cluster.clone(), events.clone(), Arc::clone(&rounds));
            async move {
                let swept = sweep(&shared, &cluster, &events, &rounds, &round).await;
                say(&shared, &round.provider, swept);
                true
            }
        }
    };
    drive(shared, plan, act).await;
}

/// Nothing is swept before both kinds were listed once, the time is known, and which cluster this is.
fn due(world: &World, reading: Reading, rounds: &Rounds) -> Plan<Round> {
    let mut plan = Plan::empty();
    let ready = reading.now.is_some() && world.listed() && world.providers_listed;
    let Some(cluster) = world.cluster.as_ref().filter(|_| ready) else { return plan };
    let rounds = rounds.lock().unwrap_or_else(PoisonError::into_inner);
    for provider in world.providers.values() {
        let Some(account) = &provider.account else { continue };
        let next = rounds.get(&provider.uid).map_or(reading.up, |(last, _)| last.after(EACH));
        if next > reading.up {
            plan.wake_at(Some(next));
            continue;
        }
        let (account, cluster) = (Arc::clone(account), cluster.clone());
        plan.jobs
            .push((provider.uid.clone(), Round { provider: Box::new(provider.clone()), account, cluster }));
    }
    plan
}

async fn sweep(shared: &Shared, cluster: &Cluster, events: &Events, rounds: &Rounds, round: &Round) -> Swept {
    let reading = shared.clock.read();
    let memory = |look: &mut dyn FnMut(&mut Memory)| {
        let mut rounds = rounds.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, memory) = rounds.entry(round.provider.uid.clone()).or_default();
        *last = reading.up;
        look(memory);
    };
    memory(&mut |_| {});
    let Some(now) = reading.now else {
        return Swept::frozen("NoTime", "the API server has not told the time yet");
    };
    let servers = match servers(round, reading.up).await {
        Ok(servers) => servers,
        Err(why) => return Swept::frozen("ProviderSilent", why),
    };
    // After the servers: see `plan`.
    let leases = match cluster.leases_now().await {
        Ok(leases) => leases,
        Err(failure) => return Swept::frozen("LeasesUnknown", failure.line()),
    };
    let whose = Whose::Cluster(&round.cluster);
    let mine: Vec<&Server> = servers.values().filter(|server| ours(server, whose).is_ok()).collect();
    let (expected, mut doubt) = (running(&leases, &round.provider.name, now), None);
    memory(&mut |memory| doubt = memory.look(&mine, &leases, expected, reading.up));
    if let Some(doubt) = doubt {
        return Swept::frozen(doubt.reason(), doubt.to_string());
    }
    let mut found = Found::default();
    conclude(events, round, &mine, &leases, now, &mut found).await;
    nodes::remove_orphans(shared, cluster, events, &leases).await;
    found.swept()
}

/// As the provider's own loop lists them, in its own time: every call is a part of one budget for all. What has come since
/// its last list is not overdue yet, and each server is read again before it is deleted.
async fn servers(round: &Round, up: Uptime) -> Result<BTreeMap<ServerId, Server>, String> {
    if let Some(listed) = &round.provider.servers
        && is_fresh(listed, up)
    {
        return Ok(listed.servers.clone());
    }
    let listed = round.account.list((label::CLUSTER, &round.cluster), Urgency::Work).await;
    listed.map_err(|error| error.line())
}

fn is_fresh(listed: &Listed, up: Uptime) -> bool {
    up.since(listed.at) < list_lasts(listed.servers.len()) + LATE
}

async fn conclude(
    events: &Events,
    round: &Round,
    servers: &[&Server],
    leases: &Leases,
    now: Timestamp,
    found: &mut Found,
) {
    let judge = |server: &Server| judge(server, Whose::Cluster(&round.cluster), Some(leases), now, PATIENCE);
    let mut overdue = Vec::new();
    for server in servers {
        match judge(server) {
            Verdict::Delete(_) => overdue.push(*server),
            verdict => found.judged(server, &verdict),
        }
    }
    let mut ends = std::pin::pin!(end_all(&round.account, overdue, &judge, &PAUSES));
    while let Some((server, fate)) = ends.next().await {
        let Verdict::Delete(basis) = judge(server) else { continue };
        let provider = &round.provider;
        let (id, name, lease) = (server.id, &server.name, server.labels.get(label::LEASE));
        let about = format!("server {id} ({name}) of the lease {}: {basis}", lease.map_or("unknown", |l| l));
        match fate {
            Fate::Absent => {
                warn!(provider = provider.name, %id, name, lease, %basis, "swept: it had outlived its lease");
                events.publish(Notice::swept(provider, true, format!("{about}; it was deleted and is gone")));
            }
            Fate::Spared(verdict) => {
                info!(provider = provider.name, %id, ?verdict, "not swept: it says something else by now");
            }
            Fate::Stays(why) => {
                warn!(provider = provider.name, %id, name, lease, %basis, why, "not swept; tried again in a minute");
                events.publish(Notice::swept(
                    provider,
                    false,
                    format!("{about}; it could NOT be deleted: {why}"),
                ));
                found.stays(server, &why);
            }
        }
    }
}

fn say(shared: &Shared, provider: &Provider, swept: Swept) {
    shared.change(|world, _| {
        if let Some(known) = world.providers.get_mut(&provider.name).filter(|known| known.uid == provider.uid)
        {
            known.swept = Some(swept);
        }
    });
}

const EACH: SignedDuration = SignedDuration::from_mins(1);
/// A list that is so much overdue is asked for here.
const LATE: SignedDuration = SignedDuration::from_secs(30);
const PATIENCE: Patience =
    Patience { overdue: SignedDuration::from_mins(5), unreadable: Some(SignedDuration::from_mins(15)) };
/// Between the tries at one server. The next round comes soon enough.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(5)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::fixture::server;

    #[test]
    fn a_large_projects_list_is_not_asked_for_each_minute() {
        for (servers, secs, fresh) in [(1, 89, true), (1, 91, false), (1000, 900, true), (1000, 931, false)] {
            let servers = (1..=servers).map(|n| (n.try_into().unwrap(), server(n, "a", 600))).collect();
            let listed = Listed { servers, at: Uptime::default() };
            let up = Uptime(SignedDuration::from_secs(secs));
            assert_eq!(is_fresh(&listed, up), fresh, "{} servers after {secs} s", listed.servers.len());
        }
    }
}
