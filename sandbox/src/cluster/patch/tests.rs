use super::*;
use serde_json::json;

fn nodes() -> Resource {
    Resource::built_in().into_iter().find(|r| r.is("", "nodes")).unwrap()
}

fn node() -> Value {
    json!({
        "metadata": {"name": "n1", "annotations": {"a": "1"}, "finalizers": ["x"]},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

fn after(kind: Kind, patch: &Value) -> Value {
    patched(kind, &nodes(), &node(), patch, true).unwrap()
}

#[test]
fn a_merge_patch_drops_ready_and_a_strategic_one_does_not() {
    let patch = json!({"status": {"conditions": [{"type": "WatchdogArmed", "status": "True"}]}});
    let types = |kind| {
        let list = after(kind, &patch)["status"]["conditions"].clone();
        list.as_array().unwrap().iter().map(|c| c["type"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(types(Kind::Merge), ["WatchdogArmed"]);
    assert_eq!(types(Kind::Strategic), ["Ready", "WatchdogArmed"]);
    assert_eq!(types(Kind::Apply), ["Ready", "WatchdogArmed"]);
}

#[test]
fn every_kind_of_patch_sets_and_only_json_ones_remove_an_annotation() {
    let set = json!({"metadata": {"annotations": {"b": "2"}}});
    for kind in [Kind::Merge, Kind::Strategic, Kind::Apply] {
        assert_eq!(after(kind, &set)["metadata"]["annotations"], json!({"a": "1", "b": "2"}));
    }
    let remove = json!({"metadata": {"annotations": {"a": null}}});
    for kind in [Kind::Merge, Kind::Strategic] {
        assert_eq!(after(kind, &remove)["metadata"]["annotations"], json!({}));
    }
    let steps = json!([{"op": "replace", "path": "/metadata/annotations/a", "value": "3"}]);
    assert_eq!(after(Kind::Json, &steps)["metadata"]["annotations"], json!({"a": "3"}));
}

#[test]
fn taints_are_one_value_as_in_the_real_api() {
    let patch = json!({"spec": {"taints": [{"key": "other", "effect": "NoExecute"}]}});
    assert_eq!(after(Kind::Strategic, &patch)["spec"]["taints"], patch["spec"]["taints"]);
}

#[test]
fn directives_of_a_strategic_patch_are_obeyed_or_refused() {
    let gone = json!({"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}});
    assert_eq!(after(Kind::Strategic, &gone)["status"]["conditions"], json!([]));
    let whole = json!({"status": {"conditions": [{"$patch": "replace"}, {"type": "X"}]}});
    assert_eq!(after(Kind::Strategic, &whole)["status"]["conditions"], json!([{"type": "X"}]));
    let list = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"], "finalizers": ["y"]}});
    assert_eq!(after(Kind::Strategic, &list)["metadata"]["finalizers"], json!(["y"]));
    let unknown = json!({"spec": {"$patch": "invert"}});
    assert_eq!(patched(Kind::Strategic, &nodes(), &node(), &unknown, false).unwrap_err().code, 400);
    let keyless = json!({"status": {"conditions": [{"status": "True"}]}});
    assert_eq!(patched(Kind::Strategic, &nodes(), &node(), &keyless, false).unwrap_err().code, 400);
}

#[test]
fn an_apply_overwrites_only_by_force() {
    let other = json!({"metadata": {"annotations": {"a": "2"}}});
    let same = json!({"metadata": {"annotations": {"a": "1", "b": "2"}}});
    assert_eq!(patched(Kind::Apply, &nodes(), &node(), &other, false).unwrap_err().code, 409);
    assert!(patched(Kind::Apply, &nodes(), &node(), &other, true).is_ok());
    assert!(patched(Kind::Apply, &nodes(), &node(), &same, false).is_ok());
}

#[test]
fn a_failed_test_step_is_invalid() {
    let steps = json!([{"op": "test", "path": "/metadata/annotations/a", "value": "9"}]);
    assert_eq!(patched(Kind::Json, &nodes(), &node(), &steps, false).unwrap_err().code, 422);
}
