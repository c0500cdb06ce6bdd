//! Whether the machine could be deleted shows long before it must be.

use curfew_contract::{Authority, Note};
use curfew_sandbox::{
    cloud::{Access, Project},
    machine::AGENT,
};
use curfew_tests::{Kept, Promise, World, promises, secs, told, without_backstop};
use tokio::time::sleep;

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    a_token_that_may_only_read_never_shows_as_armed,
    a_token_of_another_project_never_shows_as_armed,
    a_revoked_token_shows_and_a_replaced_one_needs_no_restart,
    a_protected_server_is_shown_and_stays_protected_until_it_is_due,
    a_probe_changes_nothing_at_the_provider,
    a_machine_without_a_backstop_never_shows_as_armed,
];

async fn a_token_that_may_only_read_never_shows_as_armed() -> Kept {
    let mut world = World::with(TESTBED, |_| {}).await?;
    world.cloud.set_access(&world.machine().token, Access::Read);
    never_arms(&mut world, "AuthorityDenied").await
}

async fn a_token_of_another_project_never_shows_as_armed() -> Kept {
    let mut world = World::with(TESTBED, |_| {}).await?;
    let foreign = world.cloud.issue_token(Project::FOREIGN, Access::ReadWrite, AGENT);
    std::fs::write(world.machine().dir().join(AGENT), foreign)?;
    never_arms(&mut world, "IdentityUnproven").await?;
    assert_eq!(world.next_beat(world.machine()).await?.authority, Authority::Denied);
    Ok(())
}

/// Through several probes and beats.
async fn never_arms(world: &mut World, reason: &str) -> Kept {
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    world.shows(world.machine(), "False", reason).await?;
    sleep(secs(12)).await;
    world.shows(world.machine(), "False", reason).await?;
    assert!(!world.controller_log().contains("WatchdogArmed=True"), "{}", world.controller_log());
    Ok(())
}

async fn a_revoked_token_shows_and_a_replaced_one_needs_no_restart() -> Kept {
    let mut world = World::with(TESTBED, |_| {}).await?;
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    let machine = world.machine();
    world.shows(machine, "True", "").await?;
    let agent = machine.agent_id();
    world.cloud.revoke_token(&machine.token);
    world.shows(machine, "False", "AuthorityDenied").await?;
    let fresh = world.cloud.issue_token(Project::OURS, Access::ReadWrite, AGENT);
    std::fs::write(machine.dir().join(AGENT), fresh)?;
    world.shows(machine, "True", "").await?;
    assert_eq!(machine.agent_id(), agent);
    Ok(())
}

async fn a_protected_server_is_shown_and_stays_protected_until_it_is_due() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    world.cloud.set_protected(machine.id, true);
    world.beats(machine, "the protection in the heartbeat", told::note(Note::Protected)).await?;
    assert!(world.cloud.servers().iter().any(|server| server.id == machine.id && server.protected));
    world.deadline_in(machine, 5).await?;
    world.gone(machine).await?;
    Ok(())
}

async fn a_probe_changes_nothing_at_the_provider() -> Kept {
    let world = World::with(TESTBED, without_backstop).await?;
    let id = world.machine().id;
    let server =
        || world.cloud.servers().into_iter().find(|server| server.id == id).map(|s| (s.name, s.labels));
    let before = server();
    let probed = || world.cloud.ledger().iter().filter(|entry| entry.method == "PUT").count() >= 2;
    world.becomes("two probes", || probed().then_some(())).await?;
    assert_eq!(server(), before);
    let harmless = |method: &str| matches!(method, "GET" | "PUT");
    assert!(world.cloud.ledger().iter().all(|entry| harmless(&entry.method)));
    Ok(())
}

async fn a_machine_without_a_backstop_never_shows_as_armed() -> Kept {
    let mut world = World::with(TESTBED, without_backstop).await?;
    never_arms(&mut world, "BackstopMissing").await
}
