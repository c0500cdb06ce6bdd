//! A machine is given back: its work moves before, its remains are cleared away after, and what became of it is said.

mod scene;

use curfew_contract::annotation;
use curfew_sandbox::{api::work::Owner, cloud::Mode, stage::CONTROLLER};
use curfew_tests::{Kept, Promise, World, is_in_time, promises, secs};
use serde_json::{Value, json};

use crate::TESTBED;
use scene::{Scene, condition, cordoned, evictions, runs};

pub(crate) const PROMISES: &[Promise] = promises![
    work_is_moved_in_time_and_what_belongs_to_the_machine_goes_with_it,
    a_pod_that_would_outlive_its_rented_machine_must_hurry,
    a_budget_that_refuses_for_ever_delays_neither_its_machine_nor_anothers_drain_nor_a_renewal,
    a_lease_extended_in_mid_drain_takes_work_again,
    a_persons_cordon_outlives_an_extension,
    a_node_is_deleted_once_its_volumes_are_let_go_and_never_while_its_server_may_live,
    what_a_machine_leaves_behind_is_named_with_its_price,
    what_a_deleted_lease_leaves_behind_is_said_before_it_goes,
    two_nodes_from_one_image_are_named_at_once,
];

async fn work_is_moved_in_time_and_what_belongs_to_the_machine_goes_with_it() -> Kept {
    let scene = Scene::of_one("burst", 50, 15).await?;
    let Scene { world, node, .. } = &scene;
    scene.pod("web", Owner::ReplicaSet).await?;
    scene.pod("cni", Owner::DaemonSet).await?;
    scene.pod("static", Owner::Kubelet).await?;
    world.becomes("the eviction", || (!runs(world, "web")).then_some(())).await?;
    assert!(world.cloud.contains(scene.server), "moved before the machine goes");
    assert!(cordoned(world, node));
    assert_eq!(scene.mark(), Some(scene.end()?.to_string()));
    let (holder, at) = world.becomes("the deletion", || world.deleted_by(scene.server)).await?;
    assert!(is_in_time(at, scene.end()?), "{at} by {holder}");
    let asked = evictions(world);
    assert!(asked.iter().all(|call| call.name.as_deref() == Some("web")), "{asked:?}");
    // The agent begins 5.5 s before the end: the first was the controller's.
    assert!(asked.first().is_some_and(|call| scene.left_at(call.at) > 6), "{asked:?}");
    world.released("burst").await?;
    assert!(world.cluster().node(node).is_none());
    world.nothing_leaks()
}

async fn a_pod_that_would_outlive_its_rented_machine_must_hurry() -> Kept {
    let scene = Scene::of_one("burst", 50, 25).await?;
    let Scene { world, .. } = &scene;
    scene.slow_pod("slow")?;
    let evicted = || evictions(world).first().map(|call| call.at);
    let asked = world.becomes("the eviction", evicted).await?;
    world.becomes("the end of the pod", || (!scene.exists("slow")).then_some(())).await?;
    // It had an hour; the agent, which begins 5.5 s before the end, had no part in it.
    assert!(scene.left_at(world.cluster().now()) > 6, "asked at {asked}, and gone too late");
    assert!(evictions(world).len() <= 3, "hurried more than once: {:?}", evictions(world));
    world.released("burst").await?;
    world.nothing_leaks()
}

async fn a_budget_that_refuses_for_ever_delays_neither_its_machine_nor_anothers_drain_nor_a_renewal() -> Kept
{
    let scene = Scene::of_one("stuck", 75, 20).await?;
    let Scene { world, .. } = &scene;
    scene.pod("held", Owner::ReplicaSet).await?;
    scene.budget()?;
    world.rent_for("other", 3_600, 1, |rental| rental.teardown_grace = secs(15)).await?;
    world.ready("other", 1).await?;
    let other = scene.other_node("other")?;
    world.becomes("a refusal", || evictions(world).iter().any(|call| call.code == 429).then_some(())).await?;
    let before = world.cluster().node(&other).ok_or("no Node")?["metadata"]["annotations"].clone();
    let renewed = || {
        let node = world.cluster().node(&other)?;
        (node["metadata"]["annotations"][annotation::DEADLINE] != before[annotation::DEADLINE]).then_some(())
    };
    world.becomes("a renewal of the other lease", renewed).await?;
    world.delete_lease("other")?;
    world.becomes("the other Node's cordon", || cordoned(world, &other).then_some(())).await?;
    assert!(world.cloud.contains(scene.server), "all this while the first is still being drained");
    let (_, at) = world.becomes("the deletion", || world.deleted_by(scene.server)).await?;
    assert!(is_in_time(at, scene.end()?), "{at}");
    let refused = evictions(world);
    assert!(runs(world, "held") && refused.len() >= 3, "{refused:?}");
    assert!(refused.len() <= 16, "each second at most: {refused:?}");
    world.lease_vanishes("other").await?;
    world.released("stuck").await?;
    world.nothing_leaks()
}

async fn a_lease_extended_in_mid_drain_takes_work_again() -> Kept {
    let scene = Scene::of_one("burst", 60, 30).await?;
    let Scene { world, node, .. } = &scene;
    world.becomes("the cordon", || (cordoned(world, node) && scene.mark().is_some()).then_some(())).await?;
    world.edit_lease("burst", &json!({"duration": "3600s"}))?;
    let free = || (!cordoned(world, node) && scene.mark().is_none()).then_some(());
    world.becomes("a Node that takes work again", free).await?;
    scene.pod("web", Owner::ReplicaSet).await?;
    tokio::time::sleep(secs(8)).await;
    assert!(runs(world, "web") && !cordoned(world, node) && evictions(world).is_empty());
    scene.end_it("burst").await
}

async fn a_persons_cordon_outlives_an_extension() -> Kept {
    let scene = Scene::of_one("burst", 60, 30).await?;
    let Scene { world, node, .. } = &scene;
    scene.cordon(true)?;
    scene.pod("web", Owner::ReplicaSet).await?;
    world.becomes("the eviction", || (!runs(world, "web")).then_some(())).await?;
    assert_eq!(scene.mark(), None, "it is not our cordon");
    world.edit_lease("burst", &json!({"duration": "3600s"}))?;
    tokio::time::sleep(secs(8)).await;
    assert!(cordoned(world, node), "a person's cordon was taken off");
    scene.end_it("burst").await
}

async fn a_node_is_deleted_once_its_volumes_are_let_go_and_never_while_its_server_may_live() -> Kept {
    let scene = Scene::of_one("burst", 3_600, 0).await?;
    let Scene { world, node, .. } = &scene;
    scene.attach("csi-1")?;
    scene.machine.kill_all();
    world.cloud.set_api(Mode::Refuse).await?;
    world.delete_lease("burst")?;
    tokio::time::sleep(secs(5)).await;
    let object =
        world.cluster().node(node).ok_or("deleted although nobody knows whether its server is gone")?;
    assert!(!scene.is_out_of_service(), "{object:#}");
    world.cloud.set_api(Mode::Up).await?;
    world.becomes("the taint", || scene.is_out_of_service().then_some(())).await?;
    assert_eq!(world.deleted_by(scene.server).ok_or("tainted before it was deleted")?.0, CONTROLLER);
    tokio::time::sleep(secs(3)).await;
    assert!(world.cluster().node(node).is_some(), "deleted while a volume was attached");
    scene.detach("csi-1")?;
    world.becomes("the end of the Node", || world.cluster().node(node).is_none().then_some(())).await?;
    world.lease_vanishes("burst").await?;
    world.nothing_leaks()
}

async fn what_a_machine_leaves_behind_is_named_with_its_price() -> Kept {
    let scene = Scene::of_one("burst", 100, 0).await?;
    let Scene { world, .. } = &scene;
    scene.leave_behind_a_volume().await?;
    world.released("burst").await?;
    let said = |lease: &Value| condition(lease, "ResidueFree").filter(|said| said["status"] == "False");
    let said = world.lease_becomes("burst", "the residue", said).await?;
    assert_eq!(said["reason"], "ResidueLeft", "{said:#}");
    let message = said["message"].as_str().unwrap_or_default();
    assert!(message.contains("Volume 4711 (data)") && message.contains("EUR a month"), "{message}");
    let lease = world.lease_object("burst");
    assert_eq!(lease["status"]["residue"].as_array().map(Vec::len), Some(1), "{lease:#}");
    let cost = &lease["status"]["cost"];
    assert_eq!((cost["hours"].as_i64(), cost["currency"].as_str()), (Some(1), Some("EUR")), "{cost}");
    scene.is_told("ResidueLeft").await?;
    scene.is_told("MachineGone").await?;
    world.nothing_leaks()
}

async fn what_a_deleted_lease_leaves_behind_is_said_before_it_goes() -> Kept {
    let scene = Scene::of_one("burst", 3_600, 0).await?;
    let Scene { world, .. } = &scene;
    scene.leave_behind_a_volume().await?;
    world.delete_lease("burst")?;
    world.lease_vanishes("burst").await?;
    scene.is_told("ResidueLeft").await?;
    scene.is_told("MachineGone").await?;
    world.nothing_leaks()
}

async fn two_nodes_from_one_image_are_named_at_once() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    world.start_controller()?;
    for lease in ["a", "b"] {
        world.lease_of(lease, "1h", &json!({"pool": lease})).await?;
    }
    let cluster = world.cluster();
    let known = |id: &str| {
        let node = json!({"metadata": {"name": format!("n{id}"), "labels": {"pool": if id == "1" { "a" } else { "b" }}},
            "spec": {"providerID": format!("hcloud://{id}")}, "status": {"nodeInfo": {
                "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "",
                "kubeProxyVersion": "", "kubeletVersion": "v1.36.0", "machineID": "0123456789abcdef", "operatingSystem": "linux",
                "osImage": "", "systemUUID": id.repeat(8)}}});
        cluster.create(("", "v1", "nodes"), "", &node)
    };
    known("1")?;
    let distinct = |lease: &Value| condition(lease, "MachinesDistinct").map(|said| said["status"] == "True");
    world.lease_becomes("a", "distinct machines", |lease| distinct(lease).filter(|fine| *fine)).await?;
    known("2")?;
    let began = cluster.now();
    for lease in ["a", "b"] {
        let twins =
            |lease: &Value| condition(lease, "MachinesDistinct").filter(|said| said["status"] == "False");
        let said = world.lease_becomes(lease, "the twins", twins).await?;
        let message = said["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("n1, n2 have one machine-id 0123456789abcdef"), "{message}");
    }
    println!("named on both leases after {} ms", cluster.now().duration_since(began).as_millis());
    scene::told(&world, "MachinesNotDistinct").await
}
