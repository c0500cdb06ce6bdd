//! The kinds `CapacityLease` and `ProviderConfig` as people type them and as they see them.
//!
//! Owns the schemas. Values are kept as typed (durations are strings), so that an object which slipped past the
//! schema still decodes; `terms` is the only door from here to values that are used.

#![expect(unreachable_pub, reason = "KubeSchema derives a hidden twin of each type, with its visibility")]

mod instance;
mod lease;
mod provider_config;
mod rent;
mod status;
mod watchdog;

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::CustomResourceExt;
use schemars::Schema;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

pub use instance::{Attachment, EnforcedBy, Instance, InstancePhase, Receipt};
pub use lease::{AdoptSpec, CapacityLease, CapacityLeaseSpec, OnRelease};
pub use provider_config::{
    CatalogueStatus, HetznerSpec, ImageSpec, NodeCredentialSpec, ProviderConfig, ProviderConfigSpec,
    ProviderConfigStatus, ProviderWatchdogSpec, TokenRef, UserDataRef,
};
pub use rent::{Architecture, CpuType, ProviderRef, RentSpec, RequirementsSpec, Strategy};
pub use status::{CapacityLeaseStatus, Cost, NodeStatus, Phase, Rejected, Residue, Selection};
pub use watchdog::WatchdogSpec;

/// Both `CustomResourceDefinition`s.
#[must_use]
pub fn definitions() -> [CustomResourceDefinition; 2] {
    let mut definitions = [CapacityLease::crd(), ProviderConfig::crd()];
    let versions = definitions.iter_mut().flat_map(|definition| &mut definition.spec.versions);
    for schema in versions.filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut()) {
        unfold(schema);
    }
    definitions
}

/// Both as YAML, as `deploy/crd.yaml` holds them.
///
/// # Errors
///
/// If one cannot be written as YAML.
pub fn print() -> Result<String, serde_saphyr::ser_error::Error> {
    let documents = definitions().iter().map(serde_saphyr::to_string).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("# Printed by: curfew-controller crd\n{}", documents.join("---\n")))
}

/// Descriptions without the line breaks of this source, for `kubectl explain` to break as its window is wide.
fn unfold(schema: &mut JSONSchemaProps) {
    schema.description = schema.description.take().map(|text| text.replace('\n', " "));
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        unfold(items);
    }
    schema.properties.iter_mut().flat_map(BTreeMap::values_mut).for_each(unfold);
}

/// What `curfew_contract::duration` reads and `format: duration` of the API server takes too (it would also take
/// `1 day`). No sign: nothing here may be negative.
const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

/// What an absent field of a status means is for its reader to say: an API server that fills it in would say it for the
/// controller. kube-apiserver 1.20 also refuses a definition with an empty text as a default.
fn without_defaults(schema: &mut Schema) {
    let properties = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut);
    for property in properties.into_iter().flatten().filter_map(|(_, property)| property.as_object_mut()) {
        property.remove("default");
    }
}

/// A word that only a newer controller knows reads as none: it must not make the object unreadable for this one.
fn known<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let word = serde_json::Value::deserialize(from)?;
    Ok(serde_json::from_value(word).unwrap_or_default())
}

#[cfg(test)]
mod tests;
