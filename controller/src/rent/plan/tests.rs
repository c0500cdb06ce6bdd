mod person;
mod reasons;

use std::collections::BTreeMap;

use curfew_contract::label;
use curfew_provider::{Attached, Outcome, Server, ServerStatus};
use serde_json::{Value, json};

use super::*;
use crate::{
    fixture::{NOW, lease, reading, secs, world},
    observe::{FINALIZER, Full, Lease, Listed, Node, World},
    provider::fixture::provider,
    rent::{
        jobs::{Machine, due},
        learnt::{Heard, Learnt},
        report::instances,
    },
};

/// A lease of an hour that rents `replicas` machines, with these instances in its status.
fn renting(replicas: u32, instances: Value) -> Lease {
    lease("burst", "1h", |object| {
        object["spec"] = json!({
            "duration": "1h", "teardownGrace": "0s",
            "rent": { "providerRef": { "name": "hetzner" }, "region": "fsn1", "size": "cpx22", "replicas": replicas },
        });
        object["metadata"]["finalizers"] = json!([FINALIZER]);
        object["status"]["expiresAt"] = (NOW + secs(3600)).to_string().into();
        object["status"]["instances"] = instances;
    })
}

/// An attempt that was made `s` seconds after [`NOW`].
fn attempt(slot: u32, s: i64) -> Value {
    json!({ "slot": slot, "name": format!("burst-{slot}"), "attemptedAt": (NOW + secs(s)).to_string() })
}

/// A machine that was created then, and labelled until the lease's end.
fn machine(slot: u32, s: i64) -> Value {
    let mut machine = attempt(slot, s);
    machine["providerID"] = format!("hcloud://{}", 100 + slot).into();
    machine["createdAt"] = machine["attemptedAt"].clone();
    machine["labelledUntil"] = (NOW + secs(3600)).to_string().into();
    machine
}

fn id(slot: u32) -> ServerId {
    ServerId::try_from(u64::from(100 + slot)).unwrap()
}

/// A server of the lease, as the provider lists it.
fn server(slot: u32, until: i64) -> Server {
    let labels = [
        (label::MANAGED_BY, label::CURFEW.to_owned()),
        (label::LEASE_UID, "uid-burst".into()),
        (label::SLOT, slot.to_string()),
        (label::EXPIRES_AT, (NOW + secs(until)).as_second().to_string()),
    ];
    Server {
        id: id(slot),
        name: format!("burst-{slot}"),
        created: Some(NOW),
        labels: labels.map(|(key, value)| (key.to_owned(), value)).into(),
        public_ipv4: None,
        private_ipv4: vec![],
        protected: false,
        size: "cpx22".into(),
        region: "fsn1".into(),
        status: ServerStatus::Running,
        attached: Attached::default(),
    }
}

fn node(slot: u32, ready: Option<i64>) -> Node {
    let full = Full {
        provider_id: Some(format!("hcloud://{}", id(slot))),
        ready_since: ready.map(|s| NOW + secs(s)),
        ..Full::default()
    };
    let labels = BTreeMap::from([(label::LEASE.to_owned(), "burst".to_owned())]);
    Node { name: format!("n{slot}"), labels, full: Some(full), ..Node::default() }
}

/// A world with this lease; the provider lists these servers, asked `s` seconds after [`NOW`].
fn listing(lease: Lease, servers: &[Server], s: i64) -> World {
    let mut world = world([lease], []);
    let mut provider = provider("hetzner");
    let servers = servers.iter().map(|server| (server.id, server.clone())).collect();
    provider.servers = Some(Listed { servers, at: reading(s).up });
    world.providers.insert("hetzner".into(), provider);
    world
}

/// What is next for each machine at `s` seconds.
fn steps(world: &World, s: i64) -> Vec<(Machine, Next)> {
    due(world, reading(s)).into_iter().map(|due| (due.machine, due.next)).collect()
}

fn first(world: &World, s: i64) -> Next {
    steps(world, s)[0].1
}

fn learning(mut lease: Lease, learn: impl FnOnce(&mut Learnt)) -> World {
    learn(lease.learnt.entry(0).or_default());
    world([lease], [])
}

fn reasons(world: &World, s: i64) -> Vec<Option<String>> {
    let said = instances(&world.leases["burst"], world, NOW + secs(s), reading(s));
    said.into_iter().map(|instance| instance.releasing).collect()
}

#[test]
fn nothing_is_ordered_before_its_attempt_and_the_finalizer_are_persisted() {
    let ours = |learnt: &mut Learnt| learnt.ours = true;
    assert_eq!(first(&learning(renting(1, json!([attempt(0, 0)])), ours), 1), Next::Do(Step::Create));
    let mut unfinalized = renting(1, json!([attempt(0, 0)]));
    unfinalized.finalizers.clear();
    assert_eq!(first(&learning(unfinalized, ours), 1), Next::Rest);
    assert!(steps(&learning(renting(1, json!([])), ours), 1).is_empty());
}

#[test]
fn an_attempt_of_another_controller_is_looked_for_before_it_is_made_again() {
    let mut world = learning(renting(1, json!([attempt(0, 0)])), |_| {});
    assert!(matches!(first(&world, 1), Next::Wake(_)), "the other has its turn");
    assert_eq!(first(&world, 5), Next::Do(Step::Find(Search::Lost)));
    let learnt = world.leases.get_mut("burst").unwrap().learnt.entry(0).or_default();
    learnt.hear(Heard::Nothing(Search::Lost), reading(5).up, reading(6));
    assert_eq!(first(&world, 6), Next::Do(Step::Create));
}

#[test]
fn after_a_lost_answer_the_server_is_looked_for_and_each_time_later() {
    let mut learnt = Learnt { ours: true, ..Learnt::default() };
    let mut pauses = vec![];
    for _ in 0..7 {
        learnt.hear(Heard::Unanswered("reset".into()), reading(0).up, reading(0));
        pauses.push(learnt.again.since(reading(0).up).as_secs());
    }
    assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60]);
    let world = learning(renting(1, json!([attempt(0, 0)])), |known| *known = learnt);
    assert!(matches!(first(&world, 59), Next::Wake(_)));
    assert_eq!(first(&world, 60), Next::Do(Step::Find(Search::Lost)));
}

#[test]
fn a_server_of_ours_that_is_listed_is_adopted_and_never_ordered_again() {
    for (s, releasing) in [(1, None), (400, None), (4000, None), (10, Some("Surplus"))] {
        let mut instance = attempt(0, 0);
        instance["releasing"] = releasing.into();
        let world = listing(renting(1, json!([instance])), &[server(0, 3600)], 0);
        assert_eq!(first(&world, s), Next::Do(Step::Adopt(id(0))), "{s}");
    }
}

#[test]
fn a_machine_is_deleted_at_the_end_and_not_before_and_asked_for_until_it_is_gone() {
    let mut world = listing(renting(1, json!([machine(0, 0)])), &[server(0, 3600)], 0);
    assert_eq!(first(&world, 3599), Next::Rest);
    assert_eq!(first(&world, 3600), Next::Do(Step::Delete(id(0))));
    let mut hear = |heard, s| {
        let lease = world.leases.get_mut("burst").unwrap();
        lease.learnt.entry(0).or_default().hear(heard, reading(s).up, reading(s));
        first(&world, s)
    };
    let locked = Heard::Deleted(Outcome::Locked, None);
    assert_eq!(hear(locked, 3600), Next::Wake(reading(3603).up));
    let accepted = Heard::Deleted(Outcome::Accepted, None);
    assert_eq!(hear(accepted, 3603), Next::Wake(reading(3604).up));
    let mut looks = vec![];
    let mut at = 3604;
    while let Next::Wake(next) = hear(Heard::Read(Box::new(server(0, 3600))), at) {
        looks.push(next.since(reading(at).up).as_secs());
        at += next.since(reading(at).up).as_secs();
    }
    assert_eq!(looks, [2, 4, 8, 10, 10], "then the order is given again");
    assert_eq!(hear(Heard::Failed("outage".into()), at), Next::Do(Step::Delete(id(0))));
    assert_eq!(hear(Heard::Gone, at), Next::Rest);
}

#[test]
fn a_server_that_nobody_lists_any_more_is_looked_at_before_it_is_called_gone() {
    let listed = |s| listing(renting(1, json!([machine(0, 0)])), &[], s);
    assert_eq!(first(&listed(60), 61), Next::Do(Step::Look(id(0))));
    let mut world = listed(60);
    let seen = |world: &mut World, heard| {
        let lease = world.leases.get_mut("burst").unwrap();
        lease.learnt.entry(0).or_default().hear(heard, reading(62).up, reading(62));
    };
    seen(&mut world, Heard::Read(Box::new(server(0, 3600))));
    assert_eq!(first(&world, 63), Next::Rest, "its labels were taken off, perhaps");
    seen(&mut world, Heard::Gone);
    assert_eq!(reasons(&world, 63), [Some("Gone".into())]);
}

#[test]
fn an_attempt_of_which_nothing_came_is_given_up_once_nothing_can_come_any_more() {
    let mut world = learning(renting(1, json!([attempt(0, 3590)])), |learnt| learnt.ours = true);
    assert_eq!(first(&world, 3599), Next::Do(Step::Create));
    let hear = |world: &mut World, heard, s| {
        let lease = world.leases.get_mut("burst").unwrap();
        lease.learnt.entry(0).or_default().hear(heard, reading(s).up, reading(s));
    };
    assert_eq!(first(&world, 3600), Next::Do(Step::Find(Search::Lost)), "never ordered after the end");
    hear(&mut world, Heard::Nothing(Search::Lost), 3601);
    assert_eq!(first(&world, 7000), Next::Rest, "the lease may have been extended meanwhile");
    world.leases.get_mut("burst").unwrap().status.instances[0].releasing = Some("LeaseEnded".into());
    assert_eq!(first(&world, 7000), Next::Do(Step::Find(Search::Closing)));
    hear(&mut world, Heard::Nothing(Search::Closing), 7001);
    assert_eq!(first(&world, 7001), Next::Wake(reading(7031).up), "a call may still be on its way");
    assert_eq!(first(&world, 7031), Next::Do(Step::Find(Search::Last)));
    hear(&mut world, Heard::Nothing(Search::Last), 7031);
    assert_eq!(first(&world, 7032), Next::Rest);
}

#[test]
fn labels_follow_a_longer_lease_at_once_and_a_shorter_one_last() {
    let label = |machine: Value, shown: i64, deadline: Option<i64>| {
        let mut lease = renting(1, json!([machine]));
        lease.status.expires_at = Some(crate::status::whole(NOW + secs(shown)));
        let mut node = node(0, Some(0));
        node.deadline = deadline.map(|s| (NOW + secs(s)).to_string());
        let mut world = world([lease], [node]);
        world.providers.insert("hetzner".into(), provider("hetzner"));
        first(&world, 10)
    };
    let until = |s: i64| {
        let mut machine = machine(0, 0);
        machine["labelledUntil"] = (NOW + secs(s)).to_string().into();
        machine
    };
    let wanted = Next::Do(Step::Label(id(0), NOW + secs(3600)));
    assert_eq!(label(until(1800), 1800, None), wanted);
    assert_eq!(label(until(7200), 7200, None), Next::Rest, "the status goes first");
    assert_eq!(label(until(7200), 3600, Some(5000)), Next::Rest, "then the deadline");
    assert_eq!(label(until(7200), 3600, Some(3600)), wanted);
}

#[test]
fn a_server_that_no_slot_owns_is_deleted_and_another_leases_never() {
    let strays = |change: &dyn Fn(&mut Server)| {
        let mut other = server(7, 3600);
        change(&mut other);
        let world = listing(renting(1, json!([machine(0, 0)])), &[server(0, 3600), other.clone()], 0);
        steps(&world, 1)[1..].contains(&(Machine::Stray(other.id), Next::Do(Step::Delete(other.id))))
    };
    let set = |key: &'static str, value: &'static str| {
        move |server: &mut Server| {
            server.labels.insert(key.into(), value.into());
        }
    };
    assert!(strays(&|_| {}), "no such slot");
    assert!(strays(&set(label::SLOT, "0")), "the slot has another");
    assert!(strays(&set(label::SLOT, "?")));
    assert!(!strays(&set(label::LEASE_UID, "uid-other")));
    assert!(!strays(&set(label::MANAGED_BY, "terraform")));
    assert!(!strays(&set(label::HETZNER_AUTOSCALER, "pool")));
}

#[test]
fn a_call_that_brings_nothing_is_made_again_later_each_time_unless_it_ends_a_bill() {
    let mut machine = machine(0, 0);
    machine["labelledUntil"] = (NOW + secs(1800)).to_string().into();
    let mut world = learning(renting(1, json!([machine])), |_| {});
    let mut waits = vec![];
    for _ in 0..8 {
        let learnt = world.leases.get_mut("burst").unwrap().learnt.entry(0).or_default();
        learnt.hear(Heard::Failed("refused".into()), reading(0).up, reading(0));
        let Next::Wake(at) = first(&world, 0) else { panic!("at once") };
        waits.push(at.since(reading(0).up).as_secs());
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(first(&world, 60), Next::Do(Step::Label(id(0), NOW + secs(3600))));
    world.leases.get_mut("burst").unwrap().status.instances[0].releasing = Some("Surplus".into());
    assert_eq!(first(&world, 0), Next::Do(Step::Delete(id(0))));
}

#[test]
fn a_deletion_at_the_end_is_asked_for_again_first_unless_its_reason_is_persisted() {
    let confirms = |releasing: Option<&str>| {
        let mut machine = machine(0, 0);
        machine["releasing"] = releasing.into();
        due(&world([renting(1, json!([machine]))], []), reading(3600))[0].confirm
    };
    assert_eq!((confirms(None), confirms(Some("LeaseEnded"))), (true, false));
}
