//! The four kinds of patch: pure functions from an object and a patch to the object meant. Merge keys are those
//! of the real API, so a merge patch replaces a list whole while a strategic one touches one item.

use serde_json::{Map, Value};

use super::{refusal::Refusal, resource::Resource};

/// Which kind, by `Content-Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Merge,
    Strategic,
    /// Server-side apply.
    Apply,
}

impl Kind {
    pub(crate) fn of(content_type: &str, resource: &Resource) -> Result<Self, Refusal> {
        let media = content_type.split(';').next().unwrap_or_default().trim();
        Ok(match media {
            "application/json-patch+json" => Self::Json,
            "application/merge-patch+json" => Self::Merge,
            "application/strategic-merge-patch+json" if resource.custom.is_none() => Self::Strategic,
            "application/apply-patch+yaml" => Self::Apply,
            _ => {
                let strategic =
                    if resource.custom.is_none() { ", application/strategic-merge-patch+json" } else { "" };
                return Err(Refusal::unsupported_media_type(format!(
                    "the body of the request was in an unknown format - accepted media types include: \
                     application/json-patch+json, application/merge-patch+json{strategic}, \
                     application/apply-patch+yaml"
                )));
            }
        })
    }
}

/// The object after the patch. `force`: an apply may overwrite what it did not write itself.
pub(crate) fn patched(
    kind: Kind,
    resource: &Resource,
    current: &Value,
    patch: &Value,
    force: bool,
) -> Result<Value, Refusal> {
    let mut object = current.clone();
    match kind {
        Kind::Json => {
            let steps: json_patch::Patch = serde_json::from_value(patch.clone())
                .map_err(|error| Refusal::bad_request(format!("cannot read the JSON patch: {error}")))?;
            json_patch::patch(&mut object, &steps).map_err(|error| {
                let name = current["metadata"]["name"].as_str().unwrap_or_default();
                let why = vec![(String::new(), format!("the server rejected our request: {error}"))];
                Refusal::invalid(&resource.kind, &resource.group, name, &why)
            })?;
        }
        Kind::Merge => json_patch::merge(&mut object, patch),
        Kind::Strategic => strategic(&mut object, patch, "", &resource.kind)?,
        Kind::Apply => {
            if !force {
                no_conflict(resource, current, patch)?;
            }
            applied(&mut object, patch, "", resource);
        }
    }
    Ok(object)
}

/// How items of a list are told apart, by the kind and the list's field; `None`: the list is one value.
fn merge_key(kind: &str, field: &str) -> Option<&'static str> {
    Some(match (kind, field) {
        (_, "ownerReferences") => "uid",
        ("Node" | "Pod" | "PodDisruptionBudget" | "DaemonSet" | "Namespace", "conditions")
        | ("Node", "addresses") => "type",
        (
            "Pod" | "DaemonSet",
            "containers" | "initContainers" | "ephemeralContainers" | "volumes" | "env" | "imagePullSecrets",
        ) => "name",
        ("Pod" | "DaemonSet", "ports") => "containerPort",
        ("Pod" | "DaemonSet", "volumeMounts") => "mountPath",
        ("Pod" | "DaemonSet", "hostAliases") => "ip",
        _ => return None,
    })
}

/// Lists of plain values that a strategic patch adds to.
fn is_set(field: &str) -> bool {
    matches!(field, "finalizers" | "podCIDRs")
}

fn strategic(target: &mut Value, patch: &Value, field: &str, kind: &str) -> Result<(), Refusal> {
    match (patch, &mut *target) {
        (Value::Object(changes), Value::Object(_)) => strategic_map(target, changes, kind),
        (Value::Object(changes), _) => {
            *target = Value::Object(Map::new());
            strategic_map(target, changes, kind)
        }
        (Value::Array(items), _) => {
            if let Some(key) = merge_key(kind, field) {
                return strategic_list(target, items, key, kind);
            }
            match target {
                Value::Array(present) if is_set(field) => {
                    let added: Vec<Value> =
                        items.iter().filter(|item| !present.contains(item)).cloned().collect();
                    present.extend(added);
                }
                _ => *target = patch.clone(),
            }
            Ok(())
        }
        _ => {
            *target = patch.clone();
            Ok(())
        }
    }
}

fn strategic_map(target: &mut Value, changes: &Map<String, Value>, kind: &str) -> Result<(), Refusal> {
    match changes.get("$patch").map(|directive| directive.as_str().unwrap_or_default()) {
        None | Some("merge") => {}
        Some("delete") => {
            *target = Value::Object(Map::new());
            return Ok(());
        }
        Some("replace") => {
            let kept = changes.iter().filter(|(name, _)| *name != "$patch");
            *target = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
            return Ok(());
        }
        Some(other) => return Err(Refusal::bad_request(format!("Unknown patch type: {other}"))),
    }
    for (name, change) in changes {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = change.as_array().cloned().unwrap_or_default();
            if let Some(present) = target[list].as_array_mut() {
                present.retain(|item| !gone.contains(item));
            }
        } else if let Some(list) = name.strip_prefix("$setElementOrder/") {
            // Only the order of the items, which none of the merged lists here gives a meaning to.
            if merge_key(kind, list).is_none() && !is_set(list) {
                return Err(Refusal::bad_request(format!("{name} on a list that is replaced whole")));
            }
        } else if name == "$retainKeys" {
            let kept = super::resource::strings(Some(change));
            if let Value::Object(map) = target {
                map.retain(|key, _| kept.contains(key));
            }
        } else if name == "$patch" {
        } else if change.is_null() {
            if let Value::Object(map) = target {
                map.remove(name);
            }
        } else {
            strategic(&mut target[name.as_str()], change, name, kind)?;
        }
    }
    Ok(())
}

fn strategic_list(target: &mut Value, items: &[Value], key: &str, kind: &str) -> Result<(), Refusal> {
    if !target.is_array() {
        *target = Value::Array(vec![]);
    }
    let Value::Array(present) = target else { return Ok(()) };
    if items.iter().any(|item| item["$patch"] == "replace" && item.get(key).is_none()) {
        *present = items.iter().filter(|item| item.get("$patch").is_none()).cloned().collect();
        return Ok(());
    }
    for item in items {
        let Some(id) = item.get(key) else {
            let message = format!("map: {item} does not contain declared merge key: {key}");
            return Err(Refusal::bad_request(message));
        };
        let place = present.iter().position(|have| have.get(key) == Some(id));
        match (place, item["$patch"] == "delete") {
            (Some(at), true) => {
                present.remove(at);
            }
            (None, true) => {}
            (Some(at), false) => strategic(&mut present[at], item, "", kind)?,
            (None, false) => {
                let mut fresh = Value::Object(Map::new());
                strategic(&mut fresh, item, "", kind)?;
                present.push(fresh);
            }
        }
    }
    Ok(())
}

/// Lists that server-side apply merges: those of the strategic patch, `taints` aside, and a definition's
/// `x-kubernetes-list-map-keys`, of which `conditions` is the only one here.
fn apply_key(resource: &Resource, field: &str) -> Option<&'static str> {
    match &resource.custom {
        Some(custom) if field == "conditions" => custom.merges_conditions().then_some("type"),
        Some(_) => None,
        None => merge_key(&resource.kind, field),
    }
}

fn applied(target: &mut Value, patch: &Value, field: &str, resource: &Resource) {
    match (patch, &mut *target) {
        (Value::Object(changes), Value::Object(_)) => {
            for (name, change) in changes {
                applied(&mut target[name.as_str()], change, name, resource);
            }
        }
        (Value::Array(items), Value::Array(present)) => match apply_key(resource, field) {
            Some(key) => {
                for item in items {
                    match present.iter_mut().find(|have| have.get(key) == item.get(key)) {
                        Some(have) => applied(have, item, "", resource),
                        None => present.push(item.clone()),
                    }
                }
            }
            None if is_set(field) => {
                let added: Vec<Value> =
                    items.iter().filter(|item| !present.contains(item)).cloned().collect();
                present.extend(added);
            }
            None => *target = patch.clone(),
        },
        _ => *target = patch.clone(),
    }
}

/// Without ownership of fields on record, whatever would change is somebody else's.
fn no_conflict(resource: &Resource, current: &Value, patch: &Value) -> Result<(), Refusal> {
    let mut forced = current.clone();
    applied(&mut forced, patch, "", resource);
    let mut changed = Vec::new();
    overwritten(current, &forced, "", &mut changed);
    if changed.is_empty() {
        return Ok(());
    }
    let name = current["metadata"]["name"].as_str().unwrap_or_default();
    let why = format!("Apply failed with {} conflict(s): {}", changed.len(), changed.join(", "));
    Err(Refusal::conflict(resource, name, why))
}

fn overwritten(before: &Value, after: &Value, path: &str, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                if let Some(now) = new.get(name) {
                    overwritten(value, now, &format!("{path}.{name}"), found);
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if new.starts_with(old) => {}
        _ if before == after => {}
        _ => found.push(path.to_owned()),
    }
}

#[cfg(test)]
mod tests;
