//! The controller renews whatever else is broken, and tells what it sees without breaking anything.

use curfew_contract::annotation;
use curfew_tests::{Kept, Promise, World, promises};
use serde_json::{Value, json};

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    one_broken_lease_starves_no_renewal,
    a_controller_that_was_away_renews_at_once,
    a_control_plane_node_never_gets_a_deadline,
    the_condition_keeps_ready,
    the_controller_asks_for_nodes_as_metadata_only,
];

async fn one_broken_lease_starves_no_renewal() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    // An older definition let it in.
    let definitions = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let name = "capacityleases.curfew.dev";
    let definition = world.cluster().object("customresourcedefinitions.apiextensions.k8s.io", "", name);
    let mut versions = definition.ok_or("no definition")?["spec"]["versions"].clone();
    versions[0]["schema"] =
        json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    world.cluster().merge_patch(definitions, "", name, &json!({"spec": {"versions": versions}}))?;
    world.api.add_lease("a-broken", &json!({"duration": ["for", "ever"], "adopt": 7})).await?;
    add_node(&world, "m-1", &[]).await?;
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    let first = deadline(&world, "m-1").await?;
    let renewed = || written(&world, "m-1").filter(|at| *at > first);
    world.becomes("a renewal", renewed).await?;
    Ok(())
}

async fn a_controller_that_was_away_renews_at_once() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    add_node(&world, "m-1", &[]).await?;
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    let first = deadline(&world, "m-1").await?;
    world.kill_controller();
    // Two thirds of the way: less than `slack` is left.
    tokio::time::sleep(curfew_tests::secs(14)).await;
    world.start_controller()?;
    let renewed = world.becomes("a renewal", || written(&world, "m-1").filter(|at| *at > first)).await?;
    assert!(renewed.duration_since(world.cluster().now()).as_secs() <= 21, "{renewed}");
    Ok(())
}

async fn a_control_plane_node_never_gets_a_deadline() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    add_node(&world, "cp-1", &["node-role.kubernetes.io/control-plane"]).await?;
    add_node(&world, "cp-2", &["node-role.kubernetes.io/master"]).await?;
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    // Joins later: once it has its deadline, the others have been looked at.
    add_node(&world, "m-1", &[]).await?;
    let first = deadline(&world, "m-1").await?;
    world.becomes("a renewal", || written(&world, "m-1").filter(|at| *at > first)).await?;
    assert_eq!((written(&world, "cp-1"), written(&world, "cp-2")), (None, None));
    Ok(())
}

async fn the_condition_keeps_ready() -> Kept {
    let mut world = World::with(TESTBED, |_| {}).await?;
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    world.shows(world.machine(), "True", "").await?;
    let node = world.api.node("m-1").await?;
    let has = |kind: &str| {
        node["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(|c| c["type"] == kind))
    };
    assert!(has("Ready") && has(annotation::WATCHDOG_ARMED), "{node:#}");
    Ok(())
}

async fn the_controller_asks_for_nodes_as_metadata_only() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    for number in 1..=30 {
        add_node(&world, &format!("m-{number}"), &[]).await?;
    }
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    deadline(&world, "m-30").await?;
    let calls = world.cluster().calls();
    let nodes = |call: &&curfew_sandbox::cluster::Call| {
        call.resource == "nodes" && !call.user.starts_with("system:node:")
    };
    let lists: Vec<_> = calls.iter().filter(nodes).filter(|call| call.verb == "list").collect();
    let reads = calls.iter().filter(nodes).filter(|call| call.verb == "get").count();
    assert!(lists.len() <= 1, "{lists:?}");
    assert!(reads <= 30, "{reads} full reads of 30 Nodes");
    Ok(())
}

async fn add_node(world: &World, name: &str, roles: &[&str]) -> Kept {
    let labels = roles.iter().map(|role| ((*role).to_owned(), String::new()));
    let labels = labels.chain([("pool".to_owned(), "test".to_owned())]).collect();
    Ok(world.api.add_node(name, &format!("hcloud://{}", name.len()), &labels).await?)
}

async fn deadline(
    world: &World,
    node: &str,
) -> Result<jiff::Timestamp, Box<dyn std::error::Error + Send + Sync>> {
    world.becomes("a deadline", || written(world, node)).await
}

fn written(world: &World, node: &str) -> Option<jiff::Timestamp> {
    let node: Value = world.cluster().node(node)?;
    node["metadata"]["annotations"][annotation::DEADLINE].as_str()?.parse().ok()
}
