//! The form in which a client asked for an answer: whole objects, their metadata, or a table. Pure.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{refusal::Refusal, resource::Resource, table};

/// What `Accept` asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As they are.
    Whole,
    /// `PartialObjectMetadata`, `PartialObjectMetadataList`.
    Metadata,
    /// `Table`, for people.
    Table,
}

impl Shape {
    /// The first form in the header that is known.
    pub(crate) fn accepted(accept: &str) -> Result<Self, Refusal> {
        if accept.trim().is_empty() {
            return Ok(Self::Whole);
        }
        let one = |offer: &str| {
            let mut parts = offer.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let parameters: Vec<&str> = parts.collect();
            let form = parameters.iter().find_map(|p| p.strip_prefix("as="));
            match (media, form) {
                ("application/json" | "*/*" | "application/*", None) => Some(Self::Whole),
                ("application/json", Some("PartialObjectMetadata" | "PartialObjectMetadataList")) => {
                    Some(Self::Metadata)
                }
                ("application/json", Some("Table")) if parameters.contains(&"v=v1") => Some(Self::Table),
                _ => None,
            }
        };
        accept.split(',').find_map(one).ok_or_else(|| Refusal::not_acceptable(accept))
    }

    /// One object.
    pub(crate) fn object(self, resource: &Resource, object: Value, now: Timestamp) -> Value {
        match self {
            // A `Status` is told as it is.
            _ if object["kind"] == "Status" => object,
            Self::Whole => object,
            Self::Metadata => partial(&object),
            Self::Table => {
                let revision = object["metadata"]["resourceVersion"].clone();
                table::of(resource, &[object], &revision, true, now)
            }
        }
    }

    /// The object of one event of a watch; columns are told with the first only.
    pub(crate) fn event(self, resource: &Resource, object: Value, first: bool, now: Timestamp) -> Value {
        match self {
            Self::Table => table::of(resource, &[object], &Value::Null, first, now),
            _ => self.object(resource, object, now),
        }
    }

    /// A list as of a revision, and where its next part begins.
    pub(crate) fn list(
        self,
        resource: &Resource,
        items: &[Value],
        (revision, next): (u64, Option<String>),
        now: Timestamp,
    ) -> Value {
        let mut meta = json!({"resourceVersion": revision.to_string()});
        if let Some(next) = next {
            meta["continue"] = next.into();
        }
        match self {
            Self::Table => {
                let mut table = table::of(resource, items, &meta["resourceVersion"], true, now);
                table["metadata"] = meta;
                table
            }
            Self::Metadata => {
                let items: Vec<Value> = items.iter().map(partial).collect();
                json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "items": items})
            }
            Self::Whole => {
                let kind = format!("{}List", resource.kind);
                json!({"kind": kind, "apiVersion": resource.api_version(), "metadata": meta, "items": items})
            }
        }
    }

    /// A bookmark: how far a watch has come.
    pub(crate) fn bookmark(self, resource: &Resource, revision: u64, initial_end: bool) -> Value {
        let mut meta = json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
        if initial_end {
            meta["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        match self {
            Self::Whole => {
                json!({"kind": resource.kind, "apiVersion": resource.api_version(), "metadata": meta})
            }
            _ => json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta}),
        }
    }
}

/// Only the metadata.
pub(crate) fn partial(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}
