//! Renting itself, with what may go wrong in it: each machine comes once, and goes when its lease says so.

use std::time::Duration;

use curfew_contract::label;
use curfew_sandbox::{
    cloud::{Caller, Effect, Entry, Fault},
    stage::CONTROLLER,
};
use curfew_tests::{Kept, Promise, World, is_in_time, promises, secs};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    a_controller_that_is_killed_again_and_again_rents_each_machine_once,
    two_controllers_rent_each_machine_once,
    a_create_call_that_hangs_delays_no_other_machine,
    a_machine_whose_creation_fails_is_deleted_and_not_replaced,
    lowered_replicas_give_back_the_newest_machines,
    no_secret_and_no_image_is_needed_to_give_a_machine_back,
    a_longer_lease_reaches_the_label_then_the_deadlines_then_the_status,
    a_shorter_lease_reaches_the_status_then_the_deadlines_then_the_label,
    a_node_that_becomes_ready_is_shown_at_once_with_its_own_time,
];

async fn a_controller_that_is_killed_again_and_again_rents_each_machine_once() -> Kept {
    let (mut world, _) = World::renting(TESTBED).await?;
    world.rent_for("burst", 3_600, 3, |_| {}).await?;
    for lives in 0..24 {
        tokio::time::sleep(Duration::from_millis(70 * lives)).await;
        world.kill_controller();
        world.start_controller()?;
    }
    world.ready("burst", 3).await?;
    assert_eq!(world.rented("burst").len(), 3, "{:#?}", world.rented("burst"));
    world.delete_lease("burst")?;
    world.lease_vanishes("burst").await?;
    world.nothing_leaks()
}

async fn two_controllers_rent_each_machine_once() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    let _second = world.another_controller()?;
    world.rent_for("burst", 3_600, 4, |_| {}).await?;
    world.ready("burst", 4).await?;
    assert_eq!(world.rented("burst").len(), 4, "{:#?}", world.rented("burst"));
    world.delete_lease("burst")?;
    world.lease_vanishes("burst").await?;
    world.nothing_leaks()
}

async fn a_create_call_that_hangs_delays_no_other_machine() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    let hangs = Fault::every(Effect::Silence { effective: false }).on_method("POST").on_path("/v1/servers");
    world.cloud.inject(hangs.times(1));
    world.rent_for("burst", 3_600, 3, |_| {}).await?;
    // The call is given up after 10 s.
    let joined = world.becomes("two machines", || Some(ready(&world)).filter(|ready| *ready >= 2)).await?;
    assert_eq!(joined, 2, "the call that hangs was waited for");
    world.ready("burst", 3).await?;
    assert_eq!(world.rented("burst").len(), 3);
    world.delete_lease("burst")?;
    world.lease_vanishes("burst").await?;
    world.nothing_leaks()
}

async fn a_machine_whose_creation_fails_is_deleted_and_not_replaced() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    world.cloud.inject(Fault::every(Effect::CreateFails).times(1));
    world.rent_for("burst", 45, 2, |_| {}).await?;
    let degraded = world.lease_becomes("burst", "Degraded", |lease| condition(lease, "Degraded", "True"));
    assert_eq!(degraded.await?["reason"], "CreationFailed");
    world.ready("burst", 1).await?;
    let failed = world.lease_becomes("burst", "the receipt", |lease| {
        let instances = lease["status"]["instances"].as_array()?;
        instances.iter().find(|instance| instance["receipt"]["absentAt"].is_string()).cloned()
    });
    let failed = failed.await?;
    assert_eq!(failed["releasing"], "CreationFailed", "{failed:#}");
    assert_eq!(world.cloud.servers().len(), 1);
    world.released("burst").await?;
    assert_eq!(world.instances("burst").len(), 2, "replaced");
    Ok(())
}

async fn lowered_replicas_give_back_the_newest_machines() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    world.rent_for("burst", 3_600, 3, |_| {}).await?;
    let ready = world.ready("burst", 3).await?;
    world.edit_lease("burst", &json!({"rent": {"replicas": 1}}))?;
    let gone = world.lease_becomes("burst", "two receipts", |lease| {
        let instances = lease["status"]["instances"].as_array()?;
        let gone: Vec<_> =
            instances.iter().filter(|instance| instance["receipt"]["absentAt"].is_string()).collect();
        (gone.len() == 2).then(|| gone.into_iter().cloned().collect::<Vec<_>>())
    });
    let gone = gone.await?;
    assert!(gone.iter().all(|instance| instance["releasing"] == "Surplus"), "{gone:#?}");
    let created =
        |instance: &Value| (instance["createdAt"].as_str().map(str::to_owned), instance["slot"].as_u64());
    let oldest = ready.iter().min_by_key(|instance| created(instance)).ok_or("no machine")?;
    assert!(gone.iter().all(|instance| instance["slot"] != oldest["slot"]), "the oldest went");
    assert_eq!(world.cloud.servers().len(), 1);
    world.delete_lease("burst")?;
    world.lease_vanishes("burst").await?;
    world.nothing_leaks()
}

async fn no_secret_and_no_image_is_needed_to_give_a_machine_back() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    world.rent_for("burst", 30, 1, |_| {}).await?;
    let machine = world.moved_in(1).await?.remove(0);
    world.ready("burst", 1).await?;
    machine.kill_all();
    let image =
        json!({"spec": {"hetzner": {"image": {"name": "no-such-image"}, "firewalls": ["no-such-firewall"]}}});
    world.cluster().merge_patch(PROVIDER_CONFIGS, "", "hetzner", &image)?;
    for secret in ["hetzner", "hetzner-machine"] {
        world.cluster().delete(("", "v1", "secrets"), "curfew", secret)?;
    }
    let end = expires_at(&world).ok_or("no end")?;
    world.released("burst").await?;
    let (holder, at) = world.deleted_by(machine.id).ok_or("not deleted")?;
    assert_eq!(holder, CONTROLLER);
    assert!(is_in_time(at, end), "{at} instead of {end}");
    world.nothing_leaks()
}

async fn a_longer_lease_reaches_the_label_then_the_deadlines_then_the_status() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    world.rent_for("burst", 60, 1, |_| {}).await?;
    let machine = world.moved_in(1).await?.remove(0);
    world.ready("burst", 1).await?;
    let before = expires_at(&world).ok_or("no end")?;
    let capped = || (deadline(&world, &machine.name)? == before).then_some(());
    world.becomes_within(secs(70), "a deadline at the end", capped).await?;
    let refused =
        Fault::every(Effect::Unavailable).on_method("PUT").on_path(&format!("/v1/servers/{}", machine.id));
    let refused = world.cloud.inject(refused.on_holder(CONTROLLER));
    world.edit_lease("burst", &json!({"duration": "1h"}))?;
    tokio::time::sleep(secs(3)).await;
    assert_eq!(labelled(&world, machine.id), Some(before));
    assert_eq!((deadline(&world, &machine.name), expires_at(&world)), (Some(before), Some(before)));
    world.cloud.lift(refused);
    let followed = || {
        let (label, status) = (labelled(&world, machine.id)?, expires_at(&world)?);
        let deadline = deadline(&world, &machine.name)?;
        assert!(deadline <= label, "the deadline is later than the label");
        assert!(status == before || (deadline != before && label >= status), "shown before it holds");
        (status > before).then_some(())
    };
    world.becomes("the longer lease", followed).await?;
    assert!(world.cloud.contains(machine.id));
    world.delete_lease("burst")?;
    world.lease_vanishes("burst").await?;
    world.nothing_leaks()
}

async fn a_shorter_lease_reaches_the_status_then_the_deadlines_then_the_label() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    world.rent_for("burst", 3_600, 1, |_| {}).await?;
    let machine = world.moved_in(1).await?.remove(0);
    world.ready("burst", 1).await?;
    let before = expires_at(&world).ok_or("no end")?;
    world.edit_lease("burst", &json!({"duration": "120s"}))?;
    let followed = || {
        let (label, status) = (labelled(&world, machine.id)?, expires_at(&world)?);
        assert!(label == before || status < before, "the label went first");
        (label < before).then_some(status == label)
    };
    assert!(world.becomes("the label", followed).await?, "label and status differ");
    world.delete_lease("burst")?;
    world.lease_vanishes("burst").await?;
    world.nothing_leaks()
}

async fn a_node_that_becomes_ready_is_shown_at_once_with_its_own_time() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    world.fleet.configure(|boots| boots.ready_after = secs(4));
    world.rent_for("burst", 3_600, 1, |_| {}).await?;
    let machine = world.moved_in(1).await?.remove(0);
    let since = || ready_since(&world, &machine.name);
    let since = world.becomes("a Ready Node", since).await?;
    let instance = world.ready("burst", 1).await?.remove(0);
    let took = world.cluster().now().duration_since(since);
    assert_eq!(instance["nodeReadyAt"].as_str().and_then(|at| at.parse().ok()), Some(since));
    assert_eq!(world.lease_object("burst")["status"]["readyAt"], instance["nodeReadyAt"]);
    let about_it = |entry: &&Entry| {
        let paths = ["/v1/actions", "/v1/servers/"];
        let ours = matches!(&entry.caller, Caller::Known { holder, .. } if holder == CONTROLLER);
        ours && (entry.method == "POST" || paths.iter().any(|path| entry.path.starts_with(path)))
    };
    let ledger = world.cloud.ledger();
    let calls: Vec<_> = ledger.iter().filter(about_it).map(ToString::to_string).collect();
    assert!(calls.len() <= 4, "{calls:#?}");
    // A timer would take up to 15 s; this leaves room for a slow machine, and for the second that was cut off.
    assert!(took.as_secs() < 6, "shown after {took:#}");
    world.delete_lease("burst")?;
    world.lease_vanishes("burst").await?;
    world.nothing_leaks()
}

fn ready(world: &World) -> usize {
    world.instances("burst").iter().filter(|instance| instance["nodeReadyAt"].is_string()).count()
}

fn condition(lease: &Value, type_: &str, status: &str) -> Option<Value> {
    let conditions = lease["status"]["conditions"].as_array()?;
    conditions.iter().find(|said| said["type"] == type_ && said["status"] == status).cloned()
}

fn expires_at(world: &World) -> Option<Timestamp> {
    world.lease_object("burst")["status"]["expiresAt"].as_str()?.parse().ok()
}

fn deadline(world: &World, node: &str) -> Option<Timestamp> {
    let node = world.cluster().node(node)?;
    node["metadata"]["annotations"][curfew_contract::annotation::DEADLINE].as_str()?.parse().ok()
}

fn labelled(world: &World, server: u64) -> Option<Timestamp> {
    let server = world.cloud.servers().into_iter().find(|known| known.id == server)?;
    Timestamp::from_second(server.labels.get(label::EXPIRES_AT)?.parse().ok()?).ok()
}

fn ready_since(world: &World, node: &str) -> Option<Timestamp> {
    let node = world.cluster().node(node)?;
    let conditions = node["status"]["conditions"].as_array()?;
    let ready = conditions.iter().find(|said| said["type"] == "Ready" && said["status"] == "True")?;
    ready["lastTransitionTime"].as_str()?.parse().ok()
}

const PROVIDER_CONFIGS: (&str, &str, &str) = ("curfew.dev", "v1alpha1", "providerconfigs");
