use serde_json::{Value, json};

use super::*;
use crate::fixture::{NOW, lease, node, reading, secs, world};

/// A lease of ten minutes, with two for moving work away, whose one machine has the Node `n1`.
fn rented(name: &str, node: &str, change: impl FnOnce(&mut Value)) -> Lease {
    lease(name, "10m", |object| {
        object["spec"] = json!({ "duration": "10m", "teardownGrace": "2m", "rent": {
            "providerRef": { "name": "p" }, "region": "fsn1", "size": "cpx22", "replicas": 1 } });
        object["status"]["expiresAt"] = (NOW + secs(600)).to_string().into();
        object["status"]["instances"] =
            json!([{ "slot": 0, "providerID": format!("hcloud://{node}"), "nodeName": node }]);
        change(object);
    })
}

fn its_node(lease: &str, name: &str, change: impl FnOnce(&mut Node)) -> Node {
    let mut node = node(name, &[]);
    node.labels.insert(label::LEASE.into(), lease.into());
    change(&mut node);
    node
}

/// What is to be done `s` seconds into the lease: the Node, and whether it is drained.
fn due(world: &World, s: i64) -> Vec<(String, bool)> {
    let jobs = plan(world, reading(s)).jobs.into_iter();
    jobs.map(|(key, round)| (key, round.end.is_some())).collect()
}

fn drains(node: &str) -> Vec<(String, bool)> {
    vec![(node.into(), true)]
}

#[test]
fn a_machine_is_drained_from_its_teardown_grace_to_its_end() {
    let world = world([rented("a", "n1", |_| {})], [its_node("a", "n1", |_| {})]);
    assert_eq!(due(&world, 479), []);
    assert_eq!(plan(&world, reading(0)).wake, Some(reading(480).up));
    assert_eq!(due(&world, 480), drains("n1"));
    assert_eq!(due(&world, 599), drains("n1"));
    assert_eq!(due(&world, 600), [], "from then on it is deleted, whatever is left on it");
}

#[test]
fn a_deleted_leases_machines_are_drained_at_once() {
    let deleted = rented("a", "n1", |object| {
        object["metadata"]["deletionTimestamp"] = (NOW + secs(60)).to_string().into();
    });
    let world = world([deleted], [its_node("a", "n1", |_| {})]);
    assert_eq!(due(&world, 61), drains("n1"));
    assert_eq!(due(&world, 180), []);
}

#[test]
fn our_own_cordon_is_taken_off_an_extended_leases_node_and_nobody_elses() {
    let marked = |node: &mut Node| node.drained_for = Some((NOW + secs(300)).to_string());
    let extended = world([rented("a", "n1", |_| {})], [its_node("a", "n1", marked)]);
    assert_eq!(due(&extended, 250), [("n1".into(), false)]);
    let others = world([rented("a", "n1", |_| {})], [its_node("a", "n1", |_| {})]);
    assert_eq!(due(&others, 250), []);
}

#[test]
fn only_a_machine_that_we_rented_and_that_is_still_there_is_drained() {
    let absent = json!({ "absentAt": (NOW + secs(500)).to_string() });
    let gone = rented("a", "n1", |object| object["status"]["instances"][0]["receipt"] = absent);
    assert_eq!(due(&world([gone], [its_node("a", "n1", |_| {})]), 520), []);
    let ours = rented("a", "n1", |_| {});
    assert_eq!(
        due(&world([ours.clone()], [node("n1", &[])]), 520),
        [],
        "it does not say that it is the lease's"
    );
    let another = its_node("a", "n2", |_| {});
    assert_eq!(due(&world([ours], [another]), 520), [], "it says so, and is not");
    let adopting = lease("a", "10m", |_| {});
    assert_eq!(due(&world([adopting], [its_node("a", "n1", |_| {})]), 520), [], "its agent drains it");
}

#[test]
fn one_node_that_waits_for_a_budget_holds_up_no_other() {
    let waits = |node: &mut Node| node.moving.again = reading(540).up;
    let leases = [rented("a", "n1", |_| {}), rented("b", "n2", |_| {})];
    let nodes = [its_node("a", "n1", waits), its_node("b", "n2", |_| {})];
    let world = world(leases, nodes);
    assert_eq!(due(&world, 530), drains("n2"));
    assert_eq!(plan(&world, reading(530)).wake, Some(reading(540).up));
    assert_eq!(due(&world, 540).len(), 2);
}

#[test]
fn a_pod_is_left_alone_as_long_as_the_server_asked_and_reported_once() {
    let mut moving = Moving::default();
    assert!(moving.put_off("u", reading(10).up));
    assert!(!moving.put_off("u", reading(12).up));
    assert_eq!(moving.left("u", reading(5).up), Some(Duration::from_secs(7)));
    assert_eq!((moving.left("u", reading(12).up), moving.left("v", reading(5).up)), (None, None));
}
