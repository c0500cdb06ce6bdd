use serde_json::{Value, json};

use super::*;
use crate::{
    condition::Sighting,
    crd::EnforcedBy,
    fixture::{NOW, beat, lease, node_until, reading, secs, world},
};
use curfew_contract::{Phase, label};

/// A lease of ten minutes that rented one machine, `n1`, whose entry `more` is merged into.
fn rented_one(more: &Value) -> Lease {
    lease("burst", "10m", |object| {
        object["spec"] = json!({ "duration": "10m", "rent": {
            "providerRef": { "name": "p" }, "region": "fsn1", "size": "cpx22" } });
        let mut instance =
            json!({ "slot": 0, "name": "burst-0", "providerID": "hcloud://n1", "nodeName": "n1" });
        for (key, value) in more.as_object().into_iter().flatten() {
            instance[key] = value.clone();
        }
        object["status"]["instances"] = json!([instance]);
        object["status"]["expiresAt"] = (NOW + secs(600)).to_string().into();
    })
}

fn absent_at(s: i64) -> Value {
    json!({ "receipt": { "absentAt": (NOW + secs(s)).to_string() } })
}

fn firing() -> Node {
    let mut node = node_until("n1", 600);
    node.labels.insert(label::LEASE.into(), "burst".into());
    let said = curfew_contract::Heartbeat { phase: Phase::Firing, ..beat("n1", 600, 600) };
    node.sighting = Some(Sighting::of(said.write(), None, reading(600).up, true));
    node
}

fn recorded(lease: &Lease, world: &World, s: i64) -> Instance {
    record(lease, world, lease.status.instances.clone(), reading(s)).remove(0)
}

#[test]
fn a_machine_that_is_not_proven_absent_has_no_receipt_and_its_node_is_let_be() {
    let lease = rented_one(&json!({}));
    let world = world([lease.clone()], []);
    assert_eq!(recorded(&lease, &world, 700), lease.status.instances[0]);
    assert!(!is_cleared(&lease, &world, NOW + secs(700)));
}

#[test]
fn who_deleted_a_machine_is_known_although_its_node_went_first() {
    let lease = rented_one(&absent_at(602));
    let mut world = world([lease.clone()], []);
    world.attachments_listed = true;
    world.departed.note(&firing(), reading(601));
    let gone = recorded(&lease, &world, 603);
    let receipt = gone.receipt.unwrap();
    assert_eq!((receipt.enforced_by, receipt.overshoot_seconds), (Some(EnforcedBy::Agent), Some(2)));
    assert_eq!(gone.node_deleted_at.map(|at| at.0), Some(NOW + secs(603)));
    assert!(is_cleared(&lease, &world, NOW + secs(603)));
}

#[test]
fn a_renewal_in_vain_does_not_hide_whose_deletion_it_was() {
    // Renewed `s` seconds into the lease, from 300 to 420; gone at 301.
    let renewed = |s: i64| {
        let mut node = node_until("n1", 300);
        node.labels.insert(label::LEASE.into(), "burst".into());
        node.sighting = Some(Sighting::of(beat("n1", 280, 300).write(), None, reading(280).up, true));
        node.take_deadline(Some((NOW + secs(420)).to_string()), Some("hcloud://n1".into()), reading(s).up);
        let lease = rented_one(&absent_at(301));
        let world = world([lease.clone()], [node]);
        let receipt = recorded(&lease, &world, 302).receipt.unwrap();
        (receipt.enforced_by, receipt.deadline.map(|at| at.0), receipt.overshoot_seconds)
    };
    assert_eq!(
        renewed(300),
        (Some(EnforcedBy::Agent), Some(NOW + secs(300)), Some(1)),
        "by a new controller"
    );
    assert_eq!(renewed(290), (Some(EnforcedBy::External), Some(NOW + secs(420)), Some(-119)), "in time");
}

#[test]
fn a_conclusion_stands_whatever_is_learnt_later() {
    let mut more = absent_at(602);
    more["receipt"]["evidence"] = "as it was".into();
    more["nodeDeletedAt"] = (NOW + secs(604)).to_string().into();
    let lease = rented_one(&more);
    let mut world = world([lease.clone()], []);
    world.attachments_listed = true;
    world.departed.note(&firing(), reading(601));
    assert_eq!(recorded(&lease, &world, 700), lease.status.instances[0]);
}

#[test]
fn volumes_that_are_not_let_go_are_named_after_two_minutes_and_hold_nothing_up() {
    let lease = rented_one(&absent_at(600));
    let node = Node { out_of_service: Some(NOW + secs(601)), ..firing() };
    let mut held = world([lease.clone()], [node]);
    held.attachments_listed = true;
    held.attachments = [("csi-1", "n1"), ("csi-2", "n2")].map(|(a, b)| (a.into(), b.into())).into();
    let cleared = |world: &World, s| is_cleared(&lease, world, NOW + secs(s));
    assert_eq!(recorded(&lease, &held, 720).volume_attachments, [""; 0]);
    assert_eq!(recorded(&lease, &held, 721).volume_attachments, ["csi-1"]);
    assert!(!cleared(&held, 721), "its Node is still to be deleted");
    held.nodes.clear();
    assert_eq!((cleared(&held, 719), cleared(&held, 721)), (false, true));
    held.attachments.clear();
    assert_eq!(recorded(&lease, &held, 722).volume_attachments, [""; 0]);
    held.attachments_listed = false;
    assert_eq!(
        recorded(&lease, &held, 722).volume_attachments,
        ["not known: VolumeAttachments cannot be listed"]
    );
}

#[test]
fn an_attempt_of_which_no_machine_came_says_so() {
    let mut more = absent_at(30);
    (more["providerID"], more["nodeName"]) = (Value::Null, Value::Null);
    let lease = rented_one(&more);
    let gone = recorded(&lease, &world([lease.clone()], []), 31);
    let receipt = gone.receipt.unwrap();
    assert_eq!(receipt.evidence.as_deref(), Some("no machine came of the attempt"));
    assert_eq!((receipt.enforced_by, gone.node_deleted_at), (None, None));
}
