use super::{
    super::removal::{Deletion, deleted, is_finished},
    *,
};

const NOW: Timestamp = Timestamp::constant(1_796_068_800, 0);

fn built_in(plural: &str) -> Resource {
    Resource::built_in().into_iter().find(|r| r.plural == plural).unwrap()
}

fn leases() -> Resource {
    let version = json!({"name": "v1alpha1", "served": true, "subresources": {"status": {}}, "schema": {}});
    let names = json!({"plural": "capacityleases", "singular": "capacitylease", "kind": "CapacityLease"});
    let crd =
        json!({"spec": {"group": "curfew.dev", "scope": "Cluster", "names": names, "versions": [version]}});
    Resource::defined_by(&crd).remove(0)
}

fn made(resource: &Resource, object: Value) -> Value {
    created(resource, "", object, NOW, 1).unwrap()
}

#[test]
fn a_fresh_object_gets_its_identity_from_the_server() {
    let sent = json!({"metadata": {"name": "a", "uid": "mine", "generation": 7}, "spec": {"x": 1}, "status": {"y": 1}});
    let lease = made(&leases(), sent);
    assert_eq!(lease["metadata"]["generation"], 1);
    assert_eq!(lease["metadata"]["creationTimestamp"], stamp(NOW));
    assert_ne!(lease["metadata"]["uid"], "mine");
    assert!(lease.get("status").is_none());
    let generated =
        created(&built_in("events"), "default", json!({"metadata": {"generateName": "e."}}), NOW, 9).unwrap();
    assert_eq!(generated["metadata"]["name"], "e.00009");
}

#[test]
fn a_name_that_is_no_dns_name_is_invalid() {
    for name in ["", "UPPER", "-a", "a-", "a..b", "a_b"] {
        let refusal = created(&leases(), "", json!({"metadata": {"name": name}}), NOW, 1).unwrap_err();
        assert_eq!(refusal.code, 422, "{name}");
    }
}

#[test]
fn only_a_change_of_the_specification_is_a_new_generation() {
    let lease = made(&leases(), json!({"metadata": {"name": "a"}, "spec": {"x": 1}}));
    let generation = |change: Value, sub| {
        let mut new = lease.clone();
        json_patch::merge(&mut new, &change);
        replaced(&leases(), sub, &lease, new, Via::Patch).unwrap()["metadata"]["generation"].clone()
    };
    assert_eq!(generation(json!({"metadata": {"labels": {"a": "b"}}}), None), 1);
    assert_eq!(generation(json!({"status": {"a": 1}}), None), 1);
    assert_eq!(generation(json!({"spec": {"x": 2}}), Some("status")), 1);
    assert_eq!(generation(json!({"spec": {"x": 2}}), None), 2);
}

#[test]
fn the_status_of_a_custom_object_is_written_alone() {
    let lease = made(&leases(), json!({"metadata": {"name": "a"}, "spec": {"x": 1}}));
    let mut new = lease.clone();
    json_patch::merge(
        &mut new,
        &json!({"metadata": {"annotations": {"a": "b"}}, "spec": {"x": 2}, "status": {"y": 1}}),
    );
    let kept = replaced(&leases(), Some("status"), &lease, new, Via::Patch).unwrap();
    assert_eq!((&kept["spec"], &kept["status"]), (&json!({"x": 1}), &json!({"y": 1})));
    assert_eq!(kept["metadata"], lease["metadata"]);
}

#[test]
fn a_deleted_object_waits_for_its_finalizers_and_takes_no_new_ones() {
    let held = made(&leases(), json!({"metadata": {"name": "a", "finalizers": ["f"]}}));
    let Ok(Deletion::Waiting(waiting)) = deleted(&leases(), &held, &Value::Null, NOW) else {
        panic!("it is gone")
    };
    assert!(!is_finished(&waiting));
    let with = |finalizers: Value| {
        let mut new = waiting.clone();
        new["metadata"]["finalizers"] = finalizers;
        replaced(&leases(), None, &waiting, new, Via::Patch)
    };
    assert!(is_finished(&with(json!([])).unwrap()));
    assert_eq!(with(json!(["f", "g"])).unwrap_err().code, 422);
    assert_eq!(deleted(&leases(), &waiting, &Value::Null, NOW), Ok(Deletion::Waiting(waiting)));
}

#[test]
fn a_deletion_keeps_its_preconditions() {
    let node = made(&built_in("nodes"), json!({"metadata": {"name": "n"}}));
    let when = |key: &str, value: &Value| {
        deleted(&built_in("nodes"), &node, &json!({"preconditions": {key: value}}), NOW)
    };
    assert_eq!(when("uid", &node["metadata"]["uid"]), Ok(Deletion::Gone));
    assert_eq!(when("uid", &json!("another")).unwrap_err().code, 409);
    assert_eq!(when("resourceVersion", &json!("1")).unwrap_err().code, 409);
}
