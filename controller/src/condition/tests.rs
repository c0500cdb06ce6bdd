use curfew_contract::{Authority, Reason, annotation::HEARTBEAT};
use kube::core::ObjectMeta;

use super::*;
use crate::fixture::{NOW, beat, node_until, reading, secs};

/// A Node that was first found at `at` with this heartbeat.
fn found(beat: &Heartbeat, at: i64) -> Node {
    let sighting = Sighting::of(beat.write(), None, reading(at).up, true);
    Node { sighting: Some(sighting), ..node_until("n1", 660) }
}

/// The same Node after the heartbeat was seen to change at `at`.
fn changed(node: &Node, beat: &Heartbeat, at: i64) -> Node {
    let meta = ObjectMeta {
        name: Some("n1".into()),
        uid: Some("uid-n1".into()),
        annotations: Some(
            [
                (HEARTBEAT, beat.write()),
                (annotation::DEADLINE, node.deadline.clone().unwrap()),
                (annotation::DEADLINE_FOR, node.deadline_for.clone().unwrap()),
            ]
            .map(|(key, value)| (key.into(), value))
            .into(),
        ),
        ..ObjectMeta::default()
    };
    Node::read(meta, Some(node), reading(at).up, false)
}

fn at(node: &Node, at: i64) -> Assessment {
    judge(node, reading(at)).assessment
}

const STALE: Assessment = Assessment::Unarmed(Reason::HeartbeatStale);

#[test]
fn a_heartbeat_that_was_seen_to_change_is_fresh_for_three_periods_and_no_longer() {
    let node = changed(&found(&beat("n1", 0, 660), 0), &beat("n1", 30, 660), 30);
    assert_eq!(at(&node, 120), Assessment::Armed);
    assert_eq!(at(&node, 121), STALE);
    let until = judge(&node, reading(60)).until.unwrap();
    assert!(until > reading(120).up && until < reading(121).up, "the timer is set for that moment");
}

#[test]
fn on_first_sight_a_heartbeat_counts_only_as_long_as_it_is_recent_by_the_clusters_time() {
    let node = found(&beat("n1", -60, 660), 0);
    assert_eq!(at(&node, 0), Assessment::Armed);
    assert_eq!(at(&node, 30), Assessment::Armed);
    assert_eq!(at(&node, 31), STALE);
    assert_eq!(at(&found(&beat("n1", -91, 660), 0), 0), STALE);
    assert_eq!(at(&found(&Heartbeat { at: None, ..beat("n1", 0, 660) }, 0), 0), STALE);
}

#[test]
fn a_heartbeat_from_the_future_never_stays_fresh() {
    assert_eq!(at(&found(&beat("n1", 3600, 660), 0), 0), STALE);
    let node = changed(&found(&beat("n1", 0, 660), 0), &beat("n1", 3600, 660), 10);
    assert_eq!((at(&node, 100), at(&node, 101)), (Assessment::Armed, STALE));
}

#[test]
fn a_change_that_nobody_watched_is_a_first_sight() {
    let node = found(&beat("n1", 0, 660), 0);
    let sighting = Sighting::of(beat("n1", 30, 660).write(), node.sighting.clone(), reading(600).up, true);
    assert_eq!(at(&Node { sighting: Some(sighting), ..node }, 600), STALE);
}

/// The deadline is moved `at`.
fn moved(node: &Node, until: i64, at: i64) -> Node {
    let mut node = node.clone();
    let (value, server) = ((NOW + secs(until)).to_string(), node.deadline_for.clone());
    node.take_deadline(Some(value), server, reading(at).up);
    node
}

#[test]
fn a_deadline_that_the_agent_does_not_take_up_shows_after_one_beat() {
    let node = moved(&found(&beat("n1", 0, 660), 0), 720, 5);
    assert_eq!(
        at(&changed(&node, &beat("n1", 30, 660), 30), 34),
        Assessment::Armed,
        "it may not have seen it"
    );
    let still = changed(&node, &beat("n1", 36, 660), 36);
    assert_eq!(at(&still, 36), Assessment::Unarmed(Reason::DeadlineNotSeen));
    assert_eq!(at(&changed(&still, &beat("n1", 40, 720), 40), 40), Assessment::Armed);
    let elsewhere = changed(&found(&beat("n1", 0, 1), 0), &beat("n1", 31, 1), 31);
    assert_eq!(at(&elsewhere, 31), Assessment::Unarmed(Reason::DeadlineNotSeen), "one that never stood here");
}

#[test]
fn an_agent_that_is_one_step_behind_a_rolling_deadline_is_armed_throughout() {
    let mut node = found(&beat("n1", 0, 660), 0);
    for step in 1..20 {
        let (now, until) = (step * 10, 660 + step * 10);
        node = changed(&moved(&node, until, now), &beat("n1", now, until - 10), now);
        assert_eq!(at(&node, now + 9), Assessment::Armed, "{now}");
    }
}

#[test]
fn a_late_beat_is_late_and_no_verdict_on_the_deadline() {
    let node = moved(&found(&beat("n1", 0, 660), 0), 720, 1);
    assert_eq!((at(&node, 89), at(&node, 91)), (Assessment::Armed, STALE));
}

#[test]
fn the_condition_is_written_when_it_changes_and_not_at_each_beat() {
    let mut node = changed(&found(&beat("n1", 0, 660), 0), &beat("n1", 30, 660), 30);
    let write = |node: &Node, s: i64| to_write(node, &judge(node, reading(s)), NOW + secs(s));
    let armed = write(&node, 30).unwrap();
    assert_eq!((armed.status.as_str(), armed.reason.as_deref()), ("True", Some("Armed")));
    node.full.as_mut().unwrap().condition = Some(armed.clone());
    let next = changed(&node, &Heartbeat { fires_at: Some(NOW + secs(720)), ..beat("n1", 60, 660) }, 60);
    assert_eq!(write(&next, 60), None, "only the time has moved on");
    let beats_on = changed(&node, &beat("n1", 330, 660), 330);
    assert!(write(&beats_on, 330).is_some(), "\"as of\" shows that a controller lives");
    let stale = write(&next, 200).unwrap();
    assert_eq!((stale.status.as_str(), stale.reason.as_deref()), ("False", Some("HeartbeatStale")));
    assert_eq!(stale.last_transition_time, Some(Time(NOW + secs(200))));
    node.full.as_mut().unwrap().condition = Some(stale.clone());
    let denied = Heartbeat { authority: Authority::Denied, ..beat("n1", 230, 660) };
    let denied = write(&changed(&node, &denied, 230), 230).unwrap();
    assert_eq!(denied.reason.as_deref(), Some("AuthorityDenied"));
    assert_eq!(denied.last_transition_time, stale.last_transition_time, "it has been False since then");
}

#[test]
fn a_heartbeat_that_cannot_be_read_is_unarmed_and_says_why() {
    let sighting = Sighting::of("{}".into(), None, reading(0).up, true);
    let node = Node { sighting: Some(sighting), ..node_until("n1", 660) };
    let condition = to_write(&node, &judge(&node, reading(0)), NOW).unwrap();
    assert_eq!(condition.reason.as_deref(), Some("HeartbeatMissing"));
    assert!(condition.message.unwrap().contains("cannot be read (missing field"));
}
