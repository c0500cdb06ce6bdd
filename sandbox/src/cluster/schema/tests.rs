use super::*;
use serde_json::json;

fn lease() -> Custom {
    let duration =
        json!({"type": "string", "format": "duration", "pattern": "^[0-9]+[smh]$", "maxLength": 8});
    let watchdog = json!({"type": "object", "default": {}, "properties": {
        "slack": {"type": "string", "format": "duration", "default": "10m"},
        "renewInterval": {"type": "string", "format": "duration", "default": "1m"},
    }, "x-kubernetes-validations": [{"rule": "self.slack > self.renewInterval", "message": "slack is too short"}]});
    let schema = json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "required": ["duration"], "properties": {
            "duration": duration, "watchdog": watchdog,
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "release": {"type": "string", "enum": ["Expire", "Keep"]},
            "selector": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"},
                         "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed"}]},
            "list": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        }},
    }});
    Custom { schema, columns: vec![] }
}

fn faults(spec: &Value, before: &Value) -> Vec<String> {
    let mut object = json!({"metadata": {"name": "x"}, "spec": spec});
    lease().prune_and_default(&mut object);
    lease().validate(&object, before).into_iter().map(|(path, _)| path).collect()
}

#[test]
fn defaults_are_filled_in_and_unknown_fields_are_named_and_dropped() {
    let mut object = json!({"metadata": {"labels": {"a": "b"}}, "spec": {
        "duration": "1h", "duraton": "2h", "selector": {"any": "x"}, "list": [{"a": "1", "b": "2"}]}});
    assert_eq!(lease().prune_and_default(&mut object), ["spec.list[0].b", "spec.duraton"]);
    let expected = json!({"metadata": {"labels": {"a": "b"}}, "spec": {
        "duration": "1h", "selector": {"any": "x"}, "list": [{"a": "1"}],
        "watchdog": {"slack": "10m", "renewInterval": "1m"}}});
    assert_eq!(object, expected);
}

#[test]
fn each_bound_of_the_schema_is_kept() {
    for (spec, path) in [
        (json!({}), "spec.duration"),
        (json!({"duration": 1}), "spec.duration"),
        (json!({"duration": "soon"}), "spec.duration"),
        (json!({"duration": "1h", "count": 0}), "spec.count"),
        (json!({"duration": "1h", "count": 10}), "spec.count"),
        (json!({"duration": "1h", "count": 1.5}), "spec.count"),
        (json!({"duration": "1h", "release": "Never"}), "spec.release"),
        (json!({"duration": "1h", "selector": {}}), "spec.selector"),
        (json!({"duration": "1h", "selector": {"a": 1}}), "spec.selector.a"),
        (json!({"duration": "1h", "list": []}), "spec.list"),
        (json!({"duration": "1h", "watchdog": {"slack": "30s"}}), "spec.watchdog"),
        (json!({"duration": "1h", "watchdog": {"slack": "10 parsecs"}}), "spec.watchdog.slack"),
    ] {
        assert!(faults(&spec, &Value::Null).iter().all(|found| found == path), "{spec}");
        assert!(!faults(&spec, &Value::Null).is_empty(), "{spec}");
    }
    assert_eq!(faults(&json!({"duration": "1h", "count": 9, "release": "Keep"}), &Value::Null), [""; 0]);
}

#[test]
fn a_fixed_field_may_be_set_once() {
    let with = |value: &str| json!({"duration": "1h", "selector": {"pool": value}});
    let before = json!({"spec": with("a")});
    assert_eq!(faults(&with("a"), &before), [""; 0]);
    assert_eq!(faults(&with("b"), &before), ["spec.selector"]);
    assert_eq!(faults(&with("b"), &json!({"spec": {"duration": "1h"}})), [""; 0]);
}

#[test]
fn a_definition_that_asks_for_more_than_is_checked_is_refused() {
    let crd = |schema: Value| json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
    assert_eq!(unsupported(&crd(lease().schema)), []);
    for property in [
        json!({"type": "string", "pattern": "(unclosed"}),
        json!({"type": "integer", "multipleOf": 2}),
        json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.all(x, true)"}]}),
        json!({"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}),
    ] {
        let schema = json!({"type": "object", "properties": {"x": property}});
        assert_eq!(unsupported(&crd(schema)).len(), 1, "{property}");
    }
}

#[test]
fn one_of_means_exactly_one() {
    let schema = json!({"type": "object", "oneOf": [{"required": ["rent"]}, {"required": ["adopt"]}]});
    let count = |value: Value| {
        let mut found = Vec::new();
        check(&schema, &value, "spec", &mut found);
        found.len()
    };
    assert_eq!(count(json!({"rent": 1})), 0);
    assert_eq!(count(json!({"rent": 1, "adopt": 1})), 1);
    assert_eq!(count(json!({})), 1);
}
