//! The two spellings of an Event: `v1`, in which it is kept, and `events.k8s.io/v1`. Pure renaming.

use serde_json::Value;

/// `v1`, `events.k8s.io/v1`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// To the form in which it is kept.
pub(crate) fn to_core(event: &mut Value) {
    rename(event, "events.k8s.io/v1", "v1", |(core, new)| (new, core));
}

/// To the form of `events.k8s.io/v1`.
pub(crate) fn to_events(event: &mut Value) {
    rename(event, "v1", "events.k8s.io/v1", |pair| pair);
}

fn rename(
    event: &mut Value,
    from: &str,
    to: &str,
    order: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
) {
    let Value::Object(map) = event else { return };
    for (old, new) in NAMES.map(order) {
        if let Some(value) = map.remove(old) {
            map.insert(new.into(), value);
        }
    }
    if map.get("apiVersion").is_some_and(|version| version == from) {
        map.insert("apiVersion".into(), to.into());
    }
}
