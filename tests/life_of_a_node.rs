//! A lease from its beginning to its end, controller, agent and backstop together.

use curfew_sandbox::machine::{AGENT, BACKSTOP, Spec};
use curfew_tests::{Kept, Promise, World, agent_deletes, is_in_time, promises, secs};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    a_lease_that_ends_takes_its_machine_with_it,
    extending_a_lease_moves_the_deadline_and_shortening_it_too,
    a_frozen_agent_is_shown_and_the_backstop_fires,
    a_backstop_without_a_cluster_fires_out_of_the_ledger,
    a_renewal_that_only_the_backstop_sees_and_too_late_buys_no_minute,
];

async fn a_lease_that_ends_takes_its_machine_with_it() -> Kept {
    let mut world = World::with(TESTBED, |_| {}).await?;
    world.start_controller()?;
    world.lease("burst", "35s").await?;
    let machine = world.machine();
    world.shows(machine, "True", "").await?;
    let gone = world.gone(machine).await?;
    let end = expiry(&world)?;
    assert!(is_in_time(gone, end), "{gone} instead of {end}");
    assert!(world.deletes(machine).iter().any(agent_deletes));
    Ok(())
}

async fn extending_a_lease_moves_the_deadline_and_shortening_it_too() -> Kept {
    let mut world = World::with(TESTBED, |_| {}).await?;
    world.start_controller()?;
    world.lease("burst", "30s").await?;
    let machine = world.machine();
    world.shows(machine, "True", "").await?;
    let first = expiry(&world)?;
    change(&world, "10m")?;
    let written = async || world.api.deadline("m-1").await;
    while written().await?.is_none_or(|deadline| deadline <= first) {
        assert!(world.deletes(machine).is_empty(), "deleted at the end that no longer counts");
        tokio::time::sleep(secs(1)).await;
    }
    change(&world, "45s")?;
    let gone = world.gone(machine).await?;
    let end = expiry(&world)?;
    assert!(end > first && is_in_time(gone, end), "{gone} instead of {end}");
    Ok(())
}

async fn a_frozen_agent_is_shown_and_the_backstop_fires() -> Kept {
    let mut world = World::with(TESTBED, |_| {}).await?;
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    world.shows(world.machine(), "True", "").await?;
    // From here on the ledger is old, and renewals go on.
    world.machine().signal_agent(Signal::SIGSTOP);
    world.shows(world.machine(), "False", "HeartbeatStale").await?;
    world.kill_controller();
    fired_by_the_backstop(&world).await
}

async fn a_backstop_without_a_cluster_fires_out_of_the_ledger() -> Kept {
    let world = World::armed(TESTBED).await?;
    let machine = world.machine();
    let deadline = world.deadline_in(machine, 10).await?;
    let says = |record: &serde_json::Value| record["deadline"]["deadline"] == deadline.as_millisecond();
    world.recorded(machine, "the deadline in the ledger", says).await?;
    machine.kill_agent(false);
    world.api.hang(true);
    fired_by_the_backstop(&world).await
}

async fn a_renewal_that_only_the_backstop_sees_and_too_late_buys_no_minute() -> Kept {
    let rare = |spec: &mut Spec| spec.check_every = Some(secs(30));
    let world = World::with(TESTBED, rare).await?;
    let machine = world.machine();
    world.arms(machine).await?;
    let first = world.deadline_in(machine, 8).await?;
    let says = |record: &serde_json::Value| record["deadline"]["deadline"] == first.as_millisecond();
    world.recorded(machine, "the deadline in the ledger", says).await?;
    machine.kill_agent(false);
    let renewed = world.deadline_in(machine, 10).await?;
    let gone = world.gone(machine).await?;
    let late = gone.duration_since(renewed).as_secs();
    assert!(gone >= renewed && late < 50, "{late} s after the deadline");
    Ok(())
}

/// Within one period of the timer (5 s here) and 15 s to look, to ask the Node and to delete; and room for load.
async fn fired_by_the_backstop(world: &World) -> Kept {
    let deadline = world.api.deadline("m-1").await?.ok_or("no deadline")?;
    let gone = world.gone(world.machine()).await?;
    let late = gone.duration_since(deadline).as_secs();
    assert!(gone >= deadline && late < 25, "{late} s after the deadline");
    let (agents, backstops): (Vec<_>, Vec<_>) =
        world.deletes(world.machine()).into_iter().partition(agent_deletes);
    assert!(agents.is_empty() && !backstops.is_empty(), "{AGENT}: {agents:?}, {BACKSTOP}: {backstops:?}");
    Ok(())
}

fn change(world: &World, duration: &str) -> Kept {
    let leases = ("curfew.dev", "v1alpha1", "capacityleases");
    world.cluster().merge_patch(leases, "", "burst", &json!({"spec": {"duration": duration}}))?;
    Ok(())
}

/// The end of the lease, by its status.
fn expiry(world: &World) -> Result<jiff::Timestamp, Box<dyn std::error::Error + Send + Sync>> {
    let lease = world.cluster().object("capacityleases.curfew.dev", "", "burst").ok_or("no lease")?;
    Ok(lease["status"]["expiresAt"].as_str().ok_or("no expiry")?.parse()?)
}
