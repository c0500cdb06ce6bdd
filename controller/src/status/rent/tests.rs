use curfew_contract::label;
use serde_json::{Value, json};

use super::*;
use crate::{
    event::{Notice, of_lease},
    fixture::{NOW, lease, secs, world},
    observe::{Full, Node},
    provider::fixture::provider,
};

/// A lease that rents one machine, was shown to end after half an hour, and is to end after `duration`.
fn renting(duration: &str, labelled: i64) -> Lease {
    lease("burst", duration, |object| {
        object["spec"] = json!({
            "duration": duration,
            "rent": { "providerRef": { "name": "hetzner" }, "region": "fsn1", "size": "cpx22", "replicas": 1 },
        });
        object["status"]["expiresAt"] = (NOW + secs(1800)).to_string().into();
        object["status"]["instances"] = json!([{
            "slot": 0, "providerID": "hcloud://1", "attemptedAt": NOW.to_string(),
            "labelledUntil": (NOW + secs(labelled)).to_string(),
        }]);
    })
}

fn shown(lease: Lease, deadline: i64) -> i64 {
    let full = Full { provider_id: Some("hcloud://1".into()), ..Full::default() };
    let node = Node {
        name: "n".into(),
        labels: [(label::LEASE.to_owned(), "burst".to_owned())].into(),
        deadline: Some((NOW + secs(deadline)).to_string()),
        full: Some(full),
        ..Node::default()
    };
    let mut world = world([lease], [node]);
    world.providers.insert("hetzner".into(), provider("hetzner"));
    let now = NOW + secs(60);
    expires_at(&world.leases["burst"], &world, now).unwrap().0.duration_since(NOW).as_secs()
}

#[test]
fn a_later_end_is_shown_once_label_and_deadline_have_it_and_a_nearer_one_at_once() {
    assert_eq!(shown(renting("1h", 1800), 700), 1800, "the label has it not yet");
    assert_eq!(shown(renting("1h", 3600), 1800), 1800, "the deadline has it not yet");
    assert_eq!(shown(renting("1h", 3600), 700), 3600);
    assert_eq!(shown(renting("10m", 1800), 700), 600);
}

#[test]
fn a_lease_that_asks_for_more_than_any_machine_has_says_so() {
    let said = |duration: &str| {
        let mut world = world([renting(duration, 1800)], []);
        world.providers.insert("hetzner".into(), provider("hetzner"));
        expiry_clamped(&world.leases["burst"], &world)
    };
    let clamped = said("25h");
    assert!(clamped.holds && clamped.message.contains("ends 1h0m0s before"), "{}", clamped.message);
    assert!(!said("24h").holds);
}

fn instances(all: Value) -> Vec<Instance> {
    serde_json::from_value(all).unwrap()
}

#[test]
fn a_lease_is_ready_with_its_last_machine_and_lost_ones_are_not_waited_for() {
    let ready = |s: i64| json!((NOW + secs(s)).to_string());
    let all = |all| {
        let (lease, all) = (renting("1h", 1800), instances(all));
        (
            instances_ready(&lease, &all).reason,
            ready_at(&lease, &all).map(|at| at.0.duration_since(NOW).as_secs()),
        )
    };
    let [one, two] =
        [json!({"slot": 0, "nodeReadyAt": ready(70)}), json!({"slot": 1, "nodeReadyAt": ready(50)})];
    assert_eq!(all(json!([one, two])), ("Ready".into(), Some(70)));
    assert_eq!(all(json!([one, {"slot": 1}])), ("Provisioning".into(), None));
    assert_eq!(all(json!([one, {"slot": 1, "releasing": "Gone"}])), ("Ready".into(), None));
    assert_eq!(all(json!([{"slot": 0, "releasing": "Gone"}])), ("NoInstances".into(), None));
}

#[test]
fn a_lease_that_got_less_than_it_asked_for_is_degraded_and_one_that_wanted_less_is_not() {
    let (lease, world) = (renting("1h", 1800), world([], []));
    let of = |reason: &str| instances(json!([{"slot": 0}, {"slot": 1, "releasing": reason}]));
    let said = |reason: &str| degraded(&lease, &world, &of(reason));
    assert_eq!((said("OutOfStock").holds, said("OutOfStock").reason.as_str()), (true, "OutOfStock"));
    assert!(!said("Surplus").holds && !said("LeaseEnded").holds);
}

#[test]
fn machines_that_nobody_here_can_delete_any_more_are_said_and_told_of_once() {
    let mut world = world([], []);
    world.providers_listed = true;
    let mut lease = renting("1h", 1800);
    let all_gone = instances(json!([{"slot": 0, "receipt": {"absentAt": NOW.to_string()}}]));
    assert!(!degraded(&lease, &world, &all_gone).holds);
    let said = degraded(&lease, &world, &lease.status.instances);
    assert_eq!((said.holds, said.reason.as_str()), (true, PROVIDER_GONE));
    let mut status = lease.status.clone();
    status.conditions = vec![said.since(&lease, NOW)];
    let told = |old: &Lease| of_lease(old, &status).iter().map(Notice::reason).collect::<Vec<_>>();
    assert_eq!(told(&lease), ["CannotDelete"]);
    lease.status = status.clone();
    assert!(told(&lease).is_empty(), "said once");
    world.providers.insert("hetzner".into(), provider("hetzner"));
    assert!(!degraded(&lease, &world, &lease.status.instances).holds);
}

#[test]
fn people_are_told_of_each_machine_that_comes_and_of_each_that_is_lost() {
    let mut lease = renting("1h", 1800);
    lease.status.instances =
        instances(json!([{"slot": 0}, {"slot": 1}, {"slot": 2, "providerID": "hcloud://3"}]));
    let mut status = lease.status.clone();
    status.instances = instances(json!([
        {"slot": 0, "providerID": "hcloud://1"},
        {"slot": 1, "releasing": "OutOfStock"},
        {"slot": 2, "providerID": "hcloud://3", "releasing": "Surplus"},
    ]));
    let said = |old: &Lease| of_lease(old, &status).iter().map(Notice::reason).collect::<Vec<_>>();
    assert_eq!(said(&lease), ["MachineRented", "MachineLost"]);
    lease.status = status.clone();
    assert!(said(&lease).is_empty(), "said once");
}
