//! Leases that rent: whom they hold, until when, and by which policy. What becomes of the deadlines is promised in
//! `deadline`.

use curfew_contract::Instruction;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;
use crate::{
    deadline::{Decision, decide},
    fixture::{NOW, lease, node, node_until, secs, world},
    observe::{FINALIZER, Provider},
};

/// A lease that rents, with one machine, whose label at the provider is as long as the lease.
fn renting(duration: &str, change: impl FnOnce(&mut Value)) -> Lease {
    let until = |object: &Value| {
        let length = curfew_contract::duration::parse(object["spec"]["duration"].as_str().unwrap()).unwrap();
        (NOW + length).to_string()
    };
    lease("l", duration, |object| {
        object["metadata"]["finalizers"] = json!([FINALIZER]);
        object["spec"] = json!({
            "duration": duration,
            "rent": { "providerRef": { "name": "hetzner" }, "region": "fsn1", "size": "cpx22" },
        });
        let labelled = until(object);
        object["status"]["instances"] =
            json!([{ "slot": 0, "providerID": "hcloud://n1", "nodeName": "n1", "labelledUntil": labelled }]);
        change(object);
    })
}

fn joined(node: Node) -> Node {
    let labels = [(label::LEASE.to_owned(), "l".to_owned())].into();
    Node { labels, ..node }
}

fn provider(watchdog: &Value) -> Provider {
    let object = json!({
        "apiVersion": "curfew.dev/v1alpha1", "kind": "ProviderConfig", "metadata": { "name": "hetzner", "uid": "p" },
        "spec": {
            "hetzner": { "credentialsSecretRef": { "name": "hcloud" }, "image": { "name": "debian-12" } },
            "userDataSecretRef": { "name": "worker" }, "watchdog": watchdog,
        },
    });
    Provider::read(serde_json::from_value(object).unwrap(), None)
}

fn with(lease: Lease, node: Node, providers: impl IntoIterator<Item = Provider>) -> World {
    let providers = providers.into_iter().map(|provider| (provider.name.clone(), provider)).collect();
    World { providers, providers_listed: true, ..world([lease], [node]) }
}

/// Seconds after the start that are written as the deadline, `at` seconds after it.
fn written(lease: Lease, node: Node, at: i64) -> Option<i64> {
    let (world, now) = (with(lease, node, [provider(&json!({}))]), NOW + secs(at));
    match decide(&world.nodes["n1"], &world.claims(&world.nodes["n1"], now), now) {
        Decision::Write(write) => match write.instruction {
            Instruction::At(deadline) => Some(deadline.at().duration_since(NOW).as_secs()),
            Instruction::NoDeadline => panic!("a rented machine is never told to stay"),
        },
        Decision::Stand(_) | Decision::AwaitProviderId => None,
    }
}

#[test]
fn it_holds_the_node_of_its_machine_and_no_other_that_says_so() {
    let holds = |lease: Lease, node: Node| {
        let world = with(lease, node, []);
        world.holds(&world.leases["l"], &world.nodes["n1"], NOW)
    };
    let own = renting("1h", |_| ());
    assert!(holds(own.clone(), joined(node("n1", &[]))));
    assert!(!holds(own.clone(), node("n1", &[])), "without the label");
    let mut other = joined(node("n1", &[]));
    other.full.as_mut().unwrap().provider_id = Some("hcloud://n2".into());
    assert!(!holds(own.clone(), other), "another machine with the label");
    let mut nameless = joined(node("n1", &[]));
    nameless.full.as_mut().unwrap().provider_id = None;
    assert!(!holds(own.clone(), nameless), "no providerID yet");
    let unrented = renting("1h", |object| object["status"]["instances"] = json!([]));
    assert!(!holds(unrented, joined(node("n1", &[]))), "a machine that it did not rent");
    let unread = Node { full: None, ..joined(node("n1", &[])) };
    assert!(holds(own, unread), "after a restart it is taken for what it was");
}

#[test]
fn its_deadline_rolls_within_the_lease_and_within_the_label_at_the_provider() {
    let labelled = |until: i64| {
        renting("1h", |object| {
            object["status"]["instances"][0]["labelledUntil"] = (NOW + secs(until)).to_string().into();
        })
    };
    let bare = || joined(node("n1", &[]));
    let until = |s: i64| joined(node_until("n1", s));
    assert_eq!(written(labelled(3600), bare(), 0), Some(660));
    assert_eq!(written(labelled(300), bare(), 0), Some(300), "the label ends first");
    assert_eq!(written(labelled(3600), until(3500), 3400), Some(3600), "the lease ends first");
    assert_eq!(written(labelled(700), until(660), 100), Some(700), "as far as the label goes");
    assert_eq!(written(labelled(700), until(700), 500), None, "and no farther");
    // The other controller has moved the label and the deadline; this one has not read the status yet.
    assert_eq!(written(labelled(300), until(660), 10), None, "a stale label shortens nothing");
}

#[test]
fn where_the_label_holds_a_deadline_back_nobody_is_woken_until_it_moves() {
    let lease = renting("1h", |object| {
        object["status"]["instances"][0]["labelledUntil"] = (NOW + secs(300)).to_string().into();
    });
    let world = with(lease, joined(node_until("n1", 300)), []);
    let claims = world.claims(&world.nodes["n1"], NOW);
    assert_eq!(decide(&world.nodes["n1"], &claims, NOW), Decision::Stand(None));
}

#[test]
fn when_it_is_deleted_its_machines_are_given_teardown_grace_and_no_more() {
    let deleted = |grace: Option<&str>, duration: &str| {
        renting(duration, |object| {
            object["metadata"]["deletionTimestamp"] = (NOW + secs(100)).to_string().into();
            if let Some(grace) = grace {
                object["spec"]["teardownGrace"] = grace.into();
            }
        })
    };
    let until = |s: i64| joined(node_until("n1", s));
    assert_eq!(written(deleted(None, "1h"), until(660), 100), Some(220), "2 m where nothing is said");
    assert_eq!(written(deleted(Some("0s"), "1h"), until(660), 100), Some(100));
    assert_eq!(written(deleted(Some("15m"), "5m"), until(300), 100), None, "the lease ends before");
    assert_eq!(written(deleted(Some("1m"), "1h"), until(160), 159), None, "the end is written");
    assert_eq!(written(deleted(Some("1m"), "1h"), until(660), 200), Some(160), "also when it has passed");
    let short = with(deleted(Some("15m"), "5m"), until(300), []);
    assert_eq!(short.end(&short.leases["l"]), Some(NOW + secs(300)), "a deletion lengthens nothing");
    let world = with(deleted(Some("1m"), "1h"), until(160), []);
    assert_eq!(world.stage(&world.leases["l"], NOW + secs(159)), Stage::Running(NOW + secs(160)));
    assert_eq!(world.stage(&world.leases["l"], NOW + secs(160)), Stage::Ended(NOW + secs(160)));
}

#[test]
fn it_ends_no_later_than_the_longest_life_that_its_provider_allows() {
    let expiry = |lease: Lease, providers: Vec<Provider>| {
        let world = with(lease, joined(node("n1", &[])), providers);
        world.expiry(&world.leases["l"]).map(|end| end.duration_since(NOW))
    };
    let short = || vec![provider(&json!({ "maxLifetime": "30m" }))];
    let minutes = |n: i64| Some(SignedDuration::from_mins(n));
    assert_eq!(expiry(renting("1h", |_| ()), short()), minutes(30));
    assert_eq!(expiry(renting("10m", |_| ()), short()), minutes(10));
    // Nobody knows the longest life: an edit may bring the end nearer, and never move it away.
    let accepted = |duration: &str| {
        renting(duration, |object| object["status"]["expiresAt"] = (NOW + secs(1200)).to_string().into())
    };
    assert_eq!(expiry(accepted("1h"), vec![]), minutes(20));
    assert_eq!(expiry(accepted("10m"), vec![]), minutes(10));
    let adopts = lease("l", "100h", |_| ());
    assert_eq!(expiry(adopts, short()), minutes(6000), "one that adopts knows no such bound");
}

#[test]
fn the_policy_is_the_leases_own_else_its_providers_else_the_default() {
    let slack = |lease: Lease, providers: Vec<Provider>| {
        let world = with(lease, joined(node("n1", &[])), providers);
        world.watchdog(&world.leases["l"]).slack().as_secs() / 60
    };
    let own = |watchdog: Value| renting("1h", |object| object["spec"]["watchdog"] = watchdog);
    let patient = || vec![provider(&json!({ "renewInterval": "2m", "slack": "40m" }))];
    assert_eq!(slack(renting("1h", |_| ()), vec![]), 10);
    assert_eq!(slack(renting("1h", |_| ()), patient()), 40);
    assert_eq!(slack(own(json!({ "slack": "20m" })), patient()), 20);
    assert_eq!(slack(own(json!({ "slack": "30s" })), patient()), 40, "one that cannot be kept");
    assert_eq!(slack(lease("l", "1h", |_| ()), patient()), 10, "one that adopts has no provider");
}

#[test]
fn a_lease_that_cannot_be_read_any_more_keeps_the_machines_that_it_rented() {
    let unreadable = renting("1h", |object| object["spec"]["rent"]["size"] = Value::Null);
    assert!(unreadable.terms.as_ref().unwrap().rent().is_none() && unreadable.rents());
    assert_eq!(written(unreadable, joined(node("n1", &[])), 0), Some(660));
}
