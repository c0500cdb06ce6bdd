//! A lease that rents: its machines come, arm themselves, and are all given back, whatever breaks meanwhile.

use std::time::Duration;

use curfew_contract::label;
use curfew_sandbox::{
    api::work::{Owner, Pod},
    cloud::{Access, Effect, Fault, Mode, Project},
    machine::{AGENT, Turn},
    stage::CONTROLLER,
};
use curfew_tests::{Kept, Promise, World, call, is_in_time, promises, secs};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    a_lease_rents_its_machines_arms_them_and_gives_all_of_them_back,
    a_machine_that_never_joins_is_given_back_and_not_replaced,
    a_provider_that_is_down_when_a_lease_ends_is_asked_until_it_is_back,
    a_lease_that_a_person_deletes_is_drained_given_back_and_then_gone,
    a_receipt_names_the_agent_where_the_controller_was_away,
    a_receipt_names_nobody_of_ours_where_a_person_deleted,
    a_create_call_whose_answer_is_lost_rents_one_machine_and_not_two,
];

async fn a_lease_rents_its_machines_arms_them_and_gives_all_of_them_back() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    world.rent_for("burst", 45, 2, |_| {}).await?;
    let machines = world.moved_in(2).await?;
    let ready = world.ready("burst", 2).await?;
    for machine in &machines {
        world.shows(machine, "True", "").await?;
    }
    let end = end(&world, "burst")?;
    for server in world.rented("burst") {
        assert_eq!(server.labels[label::EXPIRES_AT], end.as_second().to_string());
        assert_eq!(server.labels[label::CLUSTER], world.cluster().uid());
    }
    for instance in &ready {
        assert_eq!(instance["nodeReadyAt"], ready_since(&world, &instance["nodeName"]), "{instance:#}");
    }
    world.released("burst").await?;
    for machine in &machines {
        let (holder, at) = world.deleted_by(machine.id).ok_or("not deleted")?;
        assert!(is_in_time(at, end), "{at} instead of {end}");
        assert!([CONTROLLER, AGENT].contains(&holder.as_str()), "{holder}");
        assert!(world.cluster().node(&machine.name).is_none(), "its Node is left");
    }
    world.receipts_are_true("burst")?;
    world.nothing_leaks()
}

async fn a_machine_that_never_joins_is_given_back_and_not_replaced() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    world.fleet.configure(|boots| boots.turns = [("-0".to_owned(), Turn::NeverJoins)].into());
    world.rent_for("burst", 7_200, 1, |_| {}).await?;
    let machine = world.moved_in(1).await?.remove(0);
    // It has 15 minutes to join; a step of the cluster's clock counts once it has been confirmed for one.
    world.cluster().skew(SignedDuration::from_mins(16));
    let deleted = || world.deleted_by(machine.id);
    let (holder, _) = world.becomes_within(secs(120), "the deletion", deleted).await?;
    assert_eq!(holder, CONTROLLER);
    let absent =
        |lease: &Value| lease["status"]["instances"][0]["receipt"]["absentAt"].as_str().map(str::to_owned);
    world.lease_becomes("burst", "the receipt", absent).await?;
    world.edit_lease("burst", &json!({"duration": "7300s"}))?;
    tokio::time::sleep(secs(5)).await;
    assert_eq!(world.rented("burst").len(), 1, "replaced");
    world.nothing_leaks()
}

async fn a_provider_that_is_down_when_a_lease_ends_is_asked_until_it_is_back() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    world.rent_for("burst", 30, 1, |_| {}).await?;
    let machine = world.moved_in(1).await?.remove(0);
    world.ready("burst", 1).await?;
    machine.kill_all();
    let end = end(&world, "burst")?;
    until(&world, end - Duration::from_secs(2)).await;
    world.cloud.set_api(Mode::Refuse).await?;
    until(&world, end + Duration::from_secs(10)).await;
    world.cloud.set_api(Mode::Up).await?;
    world.released("burst").await?;
    assert_eq!(world.deleted_by(machine.id).ok_or("not deleted")?.0, CONTROLLER);
    world.receipts_are_true("burst")?;
    world.nothing_leaks()
}

async fn a_lease_that_a_person_deletes_is_drained_given_back_and_then_gone() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    world.rent_for("burst", 3_600, 1, |rental| rental.teardown_grace = secs(8)).await?;
    let machine = world.moved_in(1).await?.remove(0);
    world.shows(&machine, "True", "").await?;
    let (name, node) = ("web-1".to_owned(), machine.name.clone());
    world.api.add_pod(&Pod { name, node, labels: [].into(), of: Owner::ReplicaSet }).await?;
    world.delete_lease("burst")?;
    let deleted_at = world.cluster().now();
    let evicted = || world.cluster().object("pods", "default", "web-1").is_none().then_some(());
    world.becomes("the eviction", evicted).await?;
    assert!(world.cloud.contains(machine.id), "its work was not moved before");
    world.lease_vanishes("burst").await?;
    let (_, at) = world.deleted_by(machine.id).ok_or("not deleted")?;
    let after = at.duration_since(deleted_at).as_secs();
    assert!((6..30).contains(&after), "{after} s after the lease was deleted");
    assert!(world.cluster().node(&machine.name).is_none(), "its Node is left");
    world.nothing_leaks()
}

async fn a_receipt_names_the_agent_where_the_controller_was_away() -> Kept {
    let (mut world, _) = World::renting(TESTBED).await?;
    world.rent_for("burst", 3_600, 1, |_| {}).await?;
    let machine = world.moved_in(1).await?.remove(0);
    world.shows(&machine, "True", "").await?;
    world.kill_controller();
    world.gone(&machine).await?;
    assert_eq!(world.deleted_by(machine.id).ok_or("not deleted")?.0, AGENT);
    world.start_controller()?;
    let receipt =
        |lease: &Value| lease["status"]["instances"][0]["receipt"]["absentAt"].as_str().map(str::to_owned);
    world.lease_becomes("burst", "the receipt", receipt).await?;
    world.receipts_are_true("burst")?;
    world.nothing_leaks()
}

async fn a_receipt_names_nobody_of_ours_where_a_person_deleted() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    // Its end is so far away that nobody of ours can have deleted it.
    world.rent_for("burst", 3_600, 1, |rental| rental.watchdog.1 = secs(600)).await?;
    let machine = world.moved_in(1).await?.remove(0);
    world.shows(&machine, "True", "").await?;
    let person = world.cloud.issue_token(Project::OURS, Access::ReadWrite, "a person");
    call(&world.cloud, &person, "DELETE", &format!("/v1/servers/{}", machine.id), "").await?;
    let receipt =
        |lease: &Value| lease["status"]["instances"][0]["receipt"]["absentAt"].as_str().map(str::to_owned);
    // The provider's list is read once a minute.
    let look = || receipt(&world.lease_object("burst"));
    world.becomes_within(secs(150), "the receipt", look).await?;
    world.receipts_are_true("burst")?;
    world.nothing_leaks()
}

async fn a_create_call_whose_answer_is_lost_rents_one_machine_and_not_two() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    let lost = Fault::every(Effect::Reset { effective: true }).on_method("POST").on_path("/v1/servers");
    let lost = world.cloud.inject(lost);
    world.rent_for("burst", 40, 1, |_| {}).await?;
    world.moved_in(1).await?;
    world.cloud.lift(lost);
    world.ready("burst", 1).await?;
    assert_eq!(world.rented("burst").len(), 1);
    world.released("burst").await?;
    world.receipts_are_true("burst")?;
    world.nothing_leaks()
}

/// The end of a lease, by its status.
fn end(world: &World, lease: &str) -> Result<Timestamp, Box<dyn std::error::Error + Send + Sync>> {
    Ok(world.lease_object(lease)["status"]["expiresAt"].as_str().ok_or("no expiry")?.parse()?)
}

/// Since when a Node is ready, as its kubelet says.
fn ready_since(world: &World, node: &Value) -> Value {
    let node = world.cluster().node(node.as_str().unwrap_or_default()).unwrap_or_default();
    let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready").unwrap_or_default();
    ready["lastTransitionTime"].clone()
}

async fn until(world: &World, at: Timestamp) {
    let left = at.duration_since(world.cluster().now());
    tokio::time::sleep(Duration::try_from(left).unwrap_or_default()).await;
}
