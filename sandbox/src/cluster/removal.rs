//! What a deletion does to an object: preconditions and finalizers. Pure.

use jiff::Timestamp;
use serde_json::Value;

use super::{refusal::Refusal, resource::Resource, write::stamp};

/// What a deletion does to an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Deletion {
    /// It is gone at once.
    Gone,
    /// It waits for its finalizers.
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
    if meta["finalizers"].as_array().is_none_or(Vec::is_empty) {
        return Ok(Deletion::Gone);
    }
    let mut waiting = object.clone();
    if meta.get("deletionTimestamp").is_none() {
        waiting["metadata"]["deletionTimestamp"] = stamp(now).into();
        waiting["metadata"]["deletionGracePeriodSeconds"] = 0.into();
        if let Some(generation) = meta["generation"].as_i64() {
            waiting["metadata"]["generation"] = (generation + 1).into();
        }
    }
    Ok(Deletion::Waiting(waiting))
}

/// Whether the last finalizer of a deleted object is gone.
pub(crate) fn is_finished(object: &Value) -> bool {
    let meta = &object["metadata"];
    meta.get("deletionTimestamp").is_some() && meta["finalizers"].as_array().is_none_or(Vec::is_empty)
}
