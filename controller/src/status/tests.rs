use curfew_contract::{Authority, Heartbeat, annotation::WATCHDOG_ARMED};
use serde_json::json;

use super::*;
use crate::{
    condition::Sighting,
    event,
    fixture::{NOW, beat, keeping, lease, node, node_until, reading, secs, world},
};

/// A Node that beats, and changed just before `s`.
fn beating(name: &str, s: i64, change: impl FnOnce(Heartbeat) -> Heartbeat) -> Node {
    let mut node = node_until(name, 660);
    node.sighting = Some(Sighting::of(change(beat(name, s, 660)).write(), None, reading(s).up, true));
    node
}

fn said<'a>(status: &'a CapacityLeaseStatus, type_: &str) -> (&'a str, &'a str, &'a str) {
    let condition = status.conditions.iter().find(|condition| condition.type_ == type_).unwrap();
    (&condition.status, &condition.reason, &condition.message)
}

#[test]
fn a_new_lease_is_accepted_at_the_clusters_time_and_its_end_is_shown() {
    let new = lease("l", "1h", |object| object["status"] = json!({}));
    let status = of(&new, &world([new.clone()], [node("n1", &[])]), &[], reading(5)).unwrap();
    assert_eq!(status.accepted_at, Some(Time(NOW + secs(5))));
    assert_eq!(status.expires_at, Some(Time(NOW + secs(3605))));
    assert_eq!((status.phase, status.node_count), (Some(Phase::Active), Some(1)));
    let reasons: Vec<_> = event::of_lease(&new, &status).into_iter().map(|notice| notice.reason()).collect();
    assert_eq!(reasons, ["Accepted", "Unarmed"]);
}

#[test]
fn a_lease_whose_terms_cannot_be_kept_is_not_accepted_and_says_why() {
    let bad = lease("l", "1 day", |object| object["status"] = json!({}));
    let status = of(&bad, &world([bad.clone()], []), &[], reading(5)).unwrap();
    assert_eq!((status.accepted_at.clone(), status.phase), (None, Some(Phase::Pending)));
    let (holds, reason, message) = said(&status, ACCEPTED);
    assert_eq!((holds, reason), ("False", "InvalidTerms"));
    assert!(message.contains("\"1 day\" is not a duration"), "{message}");
}

#[test]
fn an_object_that_cannot_be_read_keeps_what_was_known_and_stops_no_other() {
    let good = lease("l", "1h", |_| ());
    let garbled = json!({
        "metadata": { "name": "l", "uid": "uid-l", "generation": 4 }, "spec": { "duration": 7 }
    });
    let broken = Lease::read(serde_json::from_value(garbled).unwrap(), Some(&good));
    assert_eq!((&broken.terms, &broken.status), (&good.terms, &good.status));
    let status = of(&broken, &world([broken.clone()], []), &[], reading(5)).unwrap();
    assert_eq!(said(&status, ACCEPTED).1, "InvalidObject");
    assert_eq!(status.phase, Some(Phase::Active));
}

#[test]
fn a_lease_is_armed_only_if_every_machine_is_and_names_the_first_that_is_not() {
    let lease = lease("l", "1h", |_| ());
    let denied = |beat| Heartbeat { authority: Authority::Denied, ..beat };
    let nodes = [beating("n1", 5, |b| b), beating("n2", 5, denied), beating("n3", 5, |b| b)];
    let status = of(&lease, &world([lease.clone()], nodes), &[], reading(5)).unwrap();
    assert_eq!(status.armed.as_deref(), Some("2/3"));
    let (holds, reason, message) = said(&status, WATCHDOG_ARMED);
    assert_eq!((holds, reason), ("False", "AuthorityDenied"));
    assert!(message.starts_with("1 of 3 nodes: AuthorityDenied, first n2"), "{message}");
    let nodes = [beating("n1", 5, |b| b), beating("n2", 5, |b| b)];
    let status = of(&lease, &world([lease.clone()], nodes), &[], reading(5)).unwrap();
    assert_eq!((said(&status, WATCHDOG_ARMED).0, status.armed.as_deref()), ("True", Some("2/2")));
}

#[test]
fn a_condition_that_holds_on_keeps_its_date() {
    let mut lease = lease("l", "1h", |_| ());
    let world = |lease: &Lease| world([lease.clone()], [beating("n1", 5, |b| b)]);
    lease.status = of(&lease, &world(&lease), &[], reading(5)).unwrap();
    let later = of(&lease, &world(&lease), &[], reading(60)).unwrap();
    assert_eq!(difference(&lease.status, &later), Difference::Same);
    let stale = of(&lease, &world(&lease), &[], reading(200)).unwrap();
    let since = |status: &CapacityLeaseStatus, type_| {
        let mut all = status.conditions.iter();
        all.find(|condition| condition.type_ == type_).unwrap().last_transition_time.clone()
    };
    assert_eq!(since(&stale, ACCEPTED), Time(NOW + secs(5)));
    assert_eq!(since(&stale, WATCHDOG_ARMED), Time(NOW + secs(200)));
}

#[test]
fn a_deadline_that_rolls_is_no_news() {
    let lease = lease("l", "1h", |_| ());
    let old = of(&lease, &world([lease.clone()], [node_until("n1", 660)]), &[], reading(5)).unwrap();
    let new = of(&lease, &world([lease.clone()], [node_until("n1", 720)]), &[], reading(5)).unwrap();
    assert_eq!(difference(&old, &new), Difference::Rolling);
    let gone = of(&lease, &world([lease.clone()], []), &[], reading(5)).unwrap();
    assert_eq!(difference(&old, &gone), Difference::Telling);
}

#[test]
fn a_lease_is_released_only_when_the_last_node_is_gone() {
    let mut lease = lease("l", "5m", |_| ());
    lease.status = of(&lease, &world([lease.clone()], [node_until("n1", 300)]), &[], reading(5)).unwrap();
    let expired = of(&lease, &world([lease.clone()], [node_until("n1", 300)]), &[], reading(301)).unwrap();
    assert_eq!((expired.phase, expired.released_at.clone()), (Some(Phase::Expired), None));
    lease.status = expired;
    let released = of(&lease, &world([lease.clone()], []), &[], reading(330)).unwrap();
    assert_eq!((released.phase, released.node_count), (Some(Phase::Released), Some(0)));
    assert!(released.nodes[0].gone);
    lease.status = released;
    assert_eq!(of(&lease, &world([lease.clone()], []), &[], reading(400)), None, "final");
}

#[test]
fn after_a_restart_no_machine_looks_gone_and_nothing_is_news() {
    let mut lease = lease("l", "5m", |_| ());
    lease.status = of(&lease, &world([lease.clone()], [node_until("n1", 300)]), &[], reading(5)).unwrap();
    let unread = Node { full: None, ..node_until("n1", 300) };
    let again = of(&lease, &world([lease.clone()], [unread.clone()]), &[], reading(6)).unwrap();
    assert_eq!(difference(&lease.status, &again), Difference::Same);
    let ended = of(&lease, &world([lease.clone()], [unread]), &[], reading(301)).unwrap();
    assert_eq!(ended.phase, Some(Phase::Expired), "not released");
}

#[test]
fn a_keeping_lease_is_released_when_every_machine_was_told_to_stay() {
    let lease = keeping("l", "5m");
    let phase = |node| of(&lease, &world([lease.clone()], [node]), &[], reading(301)).unwrap().phase;
    assert_eq!(phase(node_until("n1", 660)), Some(Phase::Expired));
    let told = node("n1", &[("curfew.dev/deadline", "none"), ("curfew.dev/deadline-for", "hcloud://n1")]);
    assert_eq!(phase(told), Some(Phase::Released));
}

#[test]
fn a_node_held_twice_and_a_control_plane_node_are_reported() {
    let (a, b) = (lease("a", "1h", |_| ()), lease("b", "2h", |_| ()));
    let mut control_plane = node("cp", &[]);
    control_plane.labels.insert("node-role.kubernetes.io/master".into(), String::new());
    let status = of(&a, &world([a.clone(), b], [node("n1", &[]), control_plane]), &[], reading(5)).unwrap();
    assert_eq!(said(&status, NODE_CONFLICT).2, "n1 is held by b too: the earlier deadline counts");
    assert_eq!(said(&status, NODES_SKIPPED).0, "True");
    assert_eq!(status.node_count, Some(1));
}

#[test]
fn without_the_clusters_time_or_a_full_view_nothing_is_said() {
    let lease = lease("l", "1h", |_| ());
    let mut world = world([lease.clone()], []);
    assert_eq!(of(&lease, &world, &[], Reading { now: None, ..reading(5) }), None);
    world.nodes_listed = false;
    assert_eq!(of(&lease, &world, &[], reading(5)), None);
}
