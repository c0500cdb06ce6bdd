//! What becomes of an object that is created or replaced: pure functions from the object before and the object
//! sent to the object kept. Owns uid, generation and the isolation of `status`.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{refusal::Refusal, resource::Resource};

/// The time of an object: RFC 3339, whole seconds.
pub(crate) fn stamp(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// A fresh object. `serial` makes the uid and generated names unique.
pub(crate) fn created(
    resource: &Resource,
    namespace: &str,
    mut object: Value,
    now: Timestamp,
    serial: u64,
) -> Result<Value, Refusal> {
    identify(resource, namespace, &mut object)?;
    let meta = meta(&mut object)?;
    if meta.get("resourceVersion").is_some_and(|v| v.as_str() != Some("")) {
        return Err(Refusal::internal("resourceVersion should not be set on objects to be created"));
    }
    let prefix = meta.get("generateName").and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = match meta.get("name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ if prefix.is_empty() => {
            let why =
                [("metadata.name".to_owned(), "Required value: name or generateName is required".to_owned())];
            return Err(Refusal::invalid(&resource.kind, &resource.group, "", &why));
        }
        _ => format!("{prefix}{serial:05x}"),
    };
    check_name(resource, &name)?;
    meta.insert("name".into(), name.into());
    if resource.namespaced {
        meta.insert("namespace".into(), namespace.into());
    }
    meta.insert("uid".into(), uid(serial, now).into());
    meta.insert("creationTimestamp".into(), stamp(now).into());
    meta.remove("deletionTimestamp");
    meta.remove("deletionGracePeriodSeconds");
    meta.remove("managedFields");
    if counts_generations(resource) {
        meta.insert("generation".into(), 1.into());
    }
    initial_status(resource, &mut object, now);
    Ok(object)
}

fn counts_generations(resource: &Resource) -> bool {
    resource.custom.is_some()
        || matches!(
            resource.plural.as_str(),
            "daemonsets" | "poddisruptionbudgets" | "customresourcedefinitions"
        )
}

fn initial_status(resource: &Resource, object: &mut Value, now: Timestamp) {
    let Value::Object(map) = object else { return };
    match resource.plural.as_str() {
        // A kubelet registers with its status in the same request.
        "nodes" => {}
        "namespaces" => {
            map.insert("status".into(), json!({"phase": "Active"}));
        }
        "pods" => {
            map.insert("status".into(), json!({"phase": "Pending"}));
        }
        "customresourcedefinitions" => {
            let established = established(map, now);
            map.insert("status".into(), established);
        }
        _ if resource.has_status => {
            map.remove("status");
        }
        _ => {}
    }
}

fn established(crd: &Map<String, Value>, now: Timestamp) -> Value {
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": stamp(now)});
    let spec = crd.get("spec").cloned().unwrap_or_default();
    let stored = spec["versions"].as_array().into_iter().flatten().filter(|v| v["storage"] == true);
    json!({
        "acceptedNames": spec["names"],
        "storedVersions": stored.map(|v| v["name"].clone()).collect::<Vec<_>>(),
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
    })
}

/// What kind of write a replacement came from; they differ in how a wrong uid is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    Put,
    Patch,
    Apply,
}

/// The object that replaces `old`. Equal to `old` if nothing changes.
pub(crate) fn replaced(
    resource: &Resource,
    subresource: Option<&str>,
    old: &Value,
    mut new: Value,
    via: Via,
) -> Result<Value, Refusal> {
    let old_meta = &old["metadata"];
    let name = old_meta["name"].as_str().unwrap_or_default();
    identify(resource, old_meta["namespace"].as_str().unwrap_or_default(), &mut new)?;
    check_identity(resource, name, old_meta, &mut new, via)?;
    keep_other_half(resource, subresource, old, &mut new);
    let meta = meta(&mut new)?;
    for fixed in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "uid",
    ] {
        match old_meta.get(fixed) {
            Some(value) => meta.insert(fixed.into(), value.clone()),
            None => meta.remove(fixed),
        };
    }
    meta.remove("managedFields");
    if old_meta.get("deletionTimestamp").is_some() {
        let before = old_meta["finalizers"].as_array().cloned().unwrap_or_default();
        let after = meta.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
        if after.iter().any(|f| !before.contains(f)) {
            let why = "Forbidden: no new finalizers can be added if the object is being deleted";
            let cause = [("metadata.finalizers".to_owned(), why.to_owned())];
            return Err(Refusal::invalid(&resource.kind, &resource.group, name, &cause));
        }
    }
    if counts_generations(resource) && specification(resource, old) != specification(resource, &new) {
        new["metadata"]["generation"] = (old_meta["generation"].as_i64().unwrap_or(1) + 1).into();
    }
    Ok(new)
}

fn check_identity(
    resource: &Resource,
    name: &str,
    old_meta: &Value,
    new: &mut Value,
    via: Via,
) -> Result<(), Refusal> {
    let meta = meta(new)?;
    let sent = |meta: &Map<String, Value>, key: &str| {
        meta.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(ToOwned::to_owned)
    };
    if sent(meta, "name").is_some_and(|sent| sent != name) {
        return Err(Refusal::bad_request(format!(
            "the name of the object ({}) does not match the name on the URL ({name})",
            meta["name"].as_str().unwrap_or_default()
        )));
    }
    meta.insert("name".into(), name.into());
    if let Some(uid) = sent(meta, "uid").filter(|uid| old_meta["uid"] != uid.as_str()) {
        let have = old_meta["uid"].as_str().unwrap_or_default();
        return Err(match via {
            Via::Patch => {
                let cause =
                    [("metadata.uid".to_owned(), format!("Invalid value: {uid:?}: field is immutable"))];
                Refusal::invalid(&resource.kind, &resource.group, name, &cause)
            }
            Via::Put | Via::Apply => Refusal::conflict(
                resource,
                name,
                format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {have}"),
            ),
        });
    }
    if sent(meta, "resourceVersion").is_some_and(|version| old_meta["resourceVersion"] != version.as_str()) {
        return Err(Refusal::stale(resource, name));
    }
    Ok(())
}

/// A write to the object leaves its status alone, and the other way round. Built-in kinds take metadata through
/// `/status` too (an annotation on a Node is stored); custom ones do not.
fn keep_other_half(resource: &Resource, subresource: Option<&str>, old: &Value, new: &mut Value) {
    let keep = |new: &mut Value, half: &str| {
        if let Value::Object(map) = new {
            match old.get(half) {
                Some(value) => map.insert(half.into(), value.clone()),
                None => map.remove(half),
            };
        }
    };
    match subresource {
        Some("status") if resource.custom.is_some() => {
            let status = new.get("status").cloned();
            *new = old.clone();
            if let Value::Object(map) = new {
                match status {
                    Some(status) => map.insert("status".into(), status),
                    None => map.remove("status"),
                };
            }
        }
        Some(_) => keep(new, "spec"),
        None if resource.has_status => keep(new, "status"),
        None => {}
    }
}

fn specification(resource: &Resource, object: &Value) -> Value {
    let mut rest = object.clone();
    if let Value::Object(map) = &mut rest {
        map.remove("metadata");
        if resource.has_status {
            map.remove("status");
        }
    }
    rest
}

/// Checks `apiVersion`, `kind` and `namespace` against the URL, and fills them in.
fn identify(resource: &Resource, namespace: &str, object: &mut Value) -> Result<(), Refusal> {
    let want = [("apiVersion", resource.api_version()), ("kind", resource.kind.clone())];
    let Value::Object(map) = &mut *object else {
        return Err(Refusal::bad_request("the body is not a JSON object"));
    };
    for (field, wanted) in want {
        if let Some(sent) = map.get(field).and_then(Value::as_str).filter(|s| !s.is_empty() && *s != wanted) {
            return Err(Refusal::bad_request(format!(
                "the {field} in the data ({sent}) does not match the expected {field} ({wanted})"
            )));
        }
        map.insert(field.into(), wanted.into());
    }
    let meta = meta(object)?;
    match meta.get("namespace").and_then(Value::as_str).filter(|sent| !sent.is_empty()) {
        Some(sent) if sent != namespace => Err(Refusal::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        _ => Ok(()),
    }
}

fn meta(object: &mut Value) -> Result<&mut Map<String, Value>, Refusal> {
    let refuse = || Refusal::bad_request("metadata is not a JSON object");
    let map = object.as_object_mut().ok_or_else(refuse)?;
    map.entry("metadata").or_insert_with(|| json!({})).as_object_mut().ok_or_else(refuse)
}

/// A DNS subdomain, as all kinds here are named.
fn check_name(resource: &Resource, name: &str) -> Result<(), Refusal> {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let fine = name.len() <= 253
        && name.chars().all(|c| edge(c) || c == '-' || c == '.')
        && name.split('.').all(|part| part.starts_with(edge) && part.ends_with(edge));
    if fine {
        return Ok(());
    }
    let why = format!(
        "Invalid value: {name:?}: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
         characters, '-' or '.', and must start and end with an alphanumeric character"
    );
    Err(Refusal::invalid(&resource.kind, &resource.group, name, &[("metadata.name".into(), why)]))
}

/// In the form of a version 4 UUID: unique within the cluster by `serial`, between clusters by the time.
fn uid(serial: u64, now: Timestamp) -> String {
    let nanos = now.as_nanosecond().unsigned_abs();
    let mixed = nanos.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) ^ u128::from(serial);
    let hex = format!("{mixed:032x}");
    format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}

#[cfg(test)]
mod tests;
