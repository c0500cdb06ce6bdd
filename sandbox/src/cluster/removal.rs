//! What a deletion does to an object: preconditions, periods of grace and finalizers. Pure.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{refusal::Refusal, resource::Resource, write::stamp};

/// What a deletion does to an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Deletion {
    /// It is gone at once.
    Gone,
    /// It waits for its kubelet, or for its finalizers.
    Waiting(Value),
}

/// `options` is the body of the request.
pub(crate) fn deleted(
    resource: &Resource,
    object: &Value,
    options: &Value,
    now: Timestamp,
) -> Result<Deletion, Refusal> {
    let meta = &object["metadata"];
    let name = meta["name"].as_str().unwrap_or_default();
    for (wanted, have) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        if let Some(value) = options["preconditions"][wanted].as_str().filter(|v| meta[wanted] != *v) {
            let why = format!(
                "Precondition failed: {have} in precondition: {value}, {have} in object meta: {}",
                meta[wanted].as_str().unwrap_or_default()
            );
            return Err(Refusal::conflict(resource, name, why));
        }
    }
    let period = if resource.is("", "pods") { period(object, options) } else { 0 };
    if period == 0 && meta["finalizers"].as_array().is_none_or(Vec::is_empty) {
        return Ok(Deletion::Gone);
    }
    let mut waiting = object.clone();
    let set = |waiting: &mut Value, asked: Timestamp| {
        let until = asked.checked_add(SignedDuration::from_secs(period)).unwrap_or(asked);
        waiting["metadata"]["deletionTimestamp"] = stamp(until).into();
        waiting["metadata"]["deletionGracePeriodSeconds"] = period.into();
    };
    if let Some(until) = meta["deletionTimestamp"].as_str().and_then(|text| text.parse::<Timestamp>().ok()) {
        // A period that is running can only be made shorter; it counts from the first request.
        let running = meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        if period < running {
            set(&mut waiting, until - SignedDuration::from_secs(running));
        }
    } else {
        set(&mut waiting, now);
        if let Some(generation) = meta["generation"].as_i64() {
            waiting["metadata"]["generation"] = (generation + 1).into();
        }
    }
    Ok(Deletion::Waiting(waiting))
}

/// Seconds that a pod is given to stop: what the request says, or the pod, or 30. None if no kubelet has it, or if its
/// containers have ended.
fn period(pod: &Value, options: &Value) -> i64 {
    let runs = pod["spec"]["nodeName"].is_string()
        && !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64();
    let period = options["gracePeriodSeconds"].as_i64().or(own).unwrap_or(30);
    match period {
        _ if !runs => 0,
        ..0 => 1,
        _ => period,
    }
}

/// Whether the last finalizer of a deleted object is gone.
pub(crate) fn is_finished(object: &Value) -> bool {
    let meta = &object["metadata"];
    meta.get("deletionTimestamp").is_some()
        && meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
        && meta["finalizers"].as_array().is_none_or(Vec::is_empty)
}
