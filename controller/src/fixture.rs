//! Leases and Nodes for tests.

use curfew_contract::{Authority, Backstop, Cause, Heartbeat, Identity, Phase, annotation};
use jiff::{SignedDuration, Timestamp};
use kube::core::{DeserializeGuard, ObjectMeta};
use serde_json::{Value, json};

use crate::{
    clock::{Reading, Uptime},
    observe::{FINALIZER, Full, Lease, Node, World},
};

/// 2026-11-30T20:00:00Z.
pub(crate) const NOW: Timestamp = Timestamp::constant(1_796_068_800, 0);

pub(crate) const fn secs(s: i64) -> SignedDuration {
    SignedDuration::from_secs(s)
}

/// Both clocks, `s` seconds into the test.
pub(crate) fn reading(s: i64) -> Reading {
    Reading { now: Some(NOW + secs(s)), up: Uptime(secs(1000 + s)) }
}

/// A lease of `duration` that was accepted at [`NOW`], and whose status `change` may change.
pub(crate) fn lease(name: &str, duration: &str, change: impl FnOnce(&mut Value)) -> Lease {
    let mut object = json!({
        "apiVersion": "curfew.dev/v1alpha1", "kind": "CapacityLease",
        "metadata": { "name": name, "uid": format!("uid-{name}"), "generation": 3, "resourceVersion": "7" },
        "spec": { "duration": duration, "adopt": { "nodeSelector": { "pool": "burst" } } },
        "status": { "acceptedAt": NOW.to_string() }
    });
    change(&mut object);
    Lease::read(serde_json::from_value::<DeserializeGuard<_>>(object).unwrap(), None)
}

/// A lease whose machines outlive it.
pub(crate) fn keeping(name: &str, duration: &str) -> Lease {
    lease(name, duration, |object| {
        object["spec"]["adopt"]["onRelease"] = "Keep".into();
        object["metadata"]["finalizers"] = json!([FINALIZER]);
        object["status"]["nodes"] = json!([{ "name": "n1", "providerID": "hcloud://n1" }]);
    })
}

/// A Node in the pool `burst`, with these annotations.
pub(crate) fn node(name: &str, annotations: &[(&str, &str)]) -> Node {
    let meta: ObjectMeta = serde_json::from_value(json!({
        "name": name, "uid": format!("uid-{name}"), "labels": { "pool": "burst" },
        "annotations": annotations.iter().copied().collect::<std::collections::BTreeMap<_, _>>()
    }))
    .unwrap();
    let full = Full { provider_id: Some(format!("hcloud://{name}")), ..Full::default() };
    Node { full: Some(full), ..Node::read(meta, None, reading(0).up, true) }
}

/// A Node with a deadline `s` seconds after [`NOW`], and the grace of a lease that names none.
pub(crate) fn node_until(name: &str, s: i64) -> Node {
    let (at, server) = ((NOW + secs(s)).to_string(), format!("hcloud://{name}"));
    let usual = (annotation::GRACE, "2m0s");
    node(name, &[(annotation::DEADLINE, &at), (annotation::DEADLINE_FOR, &server), usual])
}

/// A heartbeat made `s` seconds after [`NOW`] that acknowledges the deadline `until` seconds after it.
pub(crate) fn beat(name: &str, s: i64, until: i64) -> Heartbeat {
    let at = Some(NOW + secs(s));
    Heartbeat {
        v: 1,
        at,
        every: secs(30),
        fires_at: Some(NOW + secs(until)),
        cause: Cause::Deadline,
        deadline_seen: Some(NOW + secs(until)),
        server: Some(format!("hcloud://{name}")),
        identity: Identity::Proven,
        authority: Authority::Verified,
        backstop: Some(Backstop { at, authority: Authority::Verified }),
        clock_skew: None,
        phase: Phase::Armed,
        notes: vec![],
        agent: "0.1.0".into(),
    }
}

pub(crate) fn world(leases: impl IntoIterator<Item = Lease>, nodes: impl IntoIterator<Item = Node>) -> World {
    World {
        leases: leases.into_iter().map(|lease| (lease.name.clone(), lease)).collect(),
        nodes: nodes.into_iter().map(|node| (node.name.clone(), node)).collect(),
        leases_listed: true,
        nodes_listed: true,
        ..World::default()
    }
}
