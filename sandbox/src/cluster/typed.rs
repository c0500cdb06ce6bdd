//! The built-in kinds' own types: what does not fit them is refused, what they do not know is dropped, as the
//! real server does. Pure. Owns no type: they are those of `k8s-openapi`.

use k8s_openapi::{
    api::{
        apps::v1::DaemonSet, coordination::v1::Lease, core::v1, policy::v1::PodDisruptionBudget,
        storage::v1::VolumeAttachment,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{refusal::Refusal, resource::Resource};

/// Reads the object as its kind and writes it again; the paths of fields that were dropped are returned.
pub(crate) fn normalize(resource: &Resource, object: &mut Value) -> Result<Vec<String>, Refusal> {
    if let Some(custom) = &resource.custom {
        return Ok(custom.prune_and_default(object));
    }
    let clean = match resource.kind.as_str() {
        "Node" => through::<v1::Node>(object),
        "Pod" => through::<v1::Pod>(object),
        "PersistentVolume" => through::<v1::PersistentVolume>(object),
        "PersistentVolumeClaim" => through::<v1::PersistentVolumeClaim>(object),
        "VolumeAttachment" => through::<VolumeAttachment>(object),
        "Event" => through::<v1::Event>(object),
        "Namespace" => through::<v1::Namespace>(object),
        "Secret" => through::<v1::Secret>(object),
        "ServiceAccount" => through::<v1::ServiceAccount>(object),
        "Lease" => through::<Lease>(object),
        "DaemonSet" => through::<DaemonSet>(object),
        "PodDisruptionBudget" => through::<PodDisruptionBudget>(object),
        "CustomResourceDefinition" => through::<CustomResourceDefinition>(object),
        kind => return Err(Refusal::internal(format!("no type for kind {kind}"))),
    };
    let clean = clean.map_err(|error| {
        let (kind, version) = (&resource.kind, &resource.version);
        Refusal::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: json: {error}"
        ))
    })?;
    let mut dropped = Vec::new();
    missing(object, &clean, "", &mut dropped);
    *object = clean;
    Ok(dropped)
}

fn through<T: DeserializeOwned + Serialize>(object: &Value) -> serde_json::Result<Value> {
    serde_json::to_value(serde_json::from_value::<T>(object.clone())?)
}

fn missing(before: &Value, after: &Value, path: &str, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match new.get(name) {
                    Some(kept) => missing(value, kept, &at, found),
                    None if value.is_null() || at == "metadata.creationTimestamp" => {}
                    None => found.push(at),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for (at, (value, kept)) in old.iter().zip(new).enumerate() {
                missing(value, kept, &format!("{path}[{at}]"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_node_keeps_what_a_node_has_and_loses_what_it_has_not() {
        let nodes = Resource::built_in().into_iter().find(|r| r.is("", "nodes")).unwrap();
        let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"providerId": "x", "unschedulable": true}});
        assert_eq!(normalize(&nodes, &mut node).unwrap(), ["spec.providerId"]);
        assert_eq!(node["spec"], json!({"unschedulable": true}));
        let mut wrong = json!({"metadata": {"annotations": {"a": 1}}});
        assert_eq!(normalize(&nodes, &mut wrong).unwrap_err().code, 400);
    }
}
