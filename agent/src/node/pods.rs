//! What the API server said of a Node's pods. Pure: bytes in, values out.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use crate::{node::ApiError, time::Wall};

/// One pod of this machine, by its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Another one means: another pod of the same name.
    pub uid: String,
    /// A `DaemonSet`'s, or a mirror of a static pod.
    pub is_the_machines: bool,
    /// It is being deleted: when it is to be gone, and how many seconds it was given in all.
    pub leaving: Option<(Wall, i64)>,
}

/// A part of the pods.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// These.
    pub pods: Vec<Pod>,
    /// Where the next part begins, if there is one.
    pub next: Option<String>,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMetadata,
    items: Vec<Item>,
}

#[derive(Default, Deserialize)]
struct ListMetadata {
    #[serde(default, rename = "continue")]
    next: String,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    namespace: String,
    name: String,
    uid: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    owner_references: Vec<Owner>,
    deletion_timestamp: Option<Timestamp>,
    deletion_grace_period_seconds: Option<i64>,
}

#[derive(Deserialize)]
struct Owner {
    kind: String,
    #[serde(default)]
    controller: bool,
}

/// Reads a list of pods, or of their `PartialObjectMetadata`.
pub(super) fn page(body: &[u8]) -> Result<Page, ApiError> {
    let malformed = |source| ApiError::Malformed { what: "a list of pods", source };
    let list: List = serde_json::from_slice(body).map_err(|error| malformed(Some(error)))?;
    let (next, items) = (list.metadata.next, list.items);
    let names = items.iter().flat_map(|item| [&item.metadata.namespace, &item.metadata.name]);
    if !names.chain([&next]).all(|text| goes_into_an_address(text)) {
        return Err(malformed(None));
    }
    let pods = items.into_iter().map(|item| item.metadata.pod()).collect();
    Ok(Page { pods, next: Some(next).filter(|next| !next.is_empty()) })
}

impl Metadata {
    fn pod(self) -> Pod {
        let is_daemon =
            self.owner_references.iter().any(|owner| owner.controller && owner.kind == "DaemonSet");
        Pod {
            is_the_machines: is_daemon || self.annotations.contains_key(MIRROR),
            // A pod that is being deleted without a period is gone with the next look.
            leaving: self
                .deletion_timestamp
                .map(|at| (Wall::from(at), self.deletion_grace_period_seconds.unwrap_or(0))),
            namespace: self.namespace,
            name: self.name,
            uid: self.uid,
        }
    }
}

/// Names are of the alphabet of DNS; a token to continue from is base64 for URLs.
fn goes_into_an_address(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'='))
}

/// On the API server's copy of a static pod, put there by the kubelet.
const MIRROR: &str = "kubernetes.io/config.mirror";

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, more: &str) -> String {
        format!(r#"{{"metadata":{{"namespace":"a","name":"{name}","uid":"u"{more}}}}}"#)
    }

    fn read(items: &[String], next: &str) -> Result<Page, ApiError> {
        page(format!(r#"{{"metadata":{{"continue":"{next}"}},"items":[{}]}}"#, items.join(",")).as_bytes())
    }

    #[test]
    fn a_pod_of_the_machines_own_is_told_from_one_that_can_move() {
        let owner = |kind: &str, controller: &str| {
            format!(r#","ownerReferences":[{{"kind":"{kind}","name":"x","controller":{controller}}}]"#)
        };
        for (more, expected) in [
            (String::new(), false),
            (owner("DaemonSet", "true"), true),
            (owner("DaemonSet", "false"), false),
            (owner("ReplicaSet", "true"), false),
            (r#","annotations":{"kubernetes.io/config.mirror":"d1"}"#.into(), true),
            (r#","annotations":{"kubernetes.io/config.source":"api"}"#.into(), false),
        ] {
            let page = read(&[item("p", &more)], "").unwrap();
            assert_eq!(page.pods[0].is_the_machines, expected, "{more}");
        }
    }

    #[test]
    fn a_pod_that_is_being_deleted_says_until_when() {
        let more = r#","deletionTimestamp":"1970-01-01T00:01:40Z","deletionGracePeriodSeconds":30"#;
        let page = read(&[item("p", more)], "abc_-=").unwrap();
        assert_eq!(page.pods[0].leaving, Some((Wall::from_millis(100_000), 30)));
        assert_eq!(page.next.as_deref(), Some("abc_-="));
    }

    #[test]
    fn what_cannot_go_into_an_address_is_refused() {
        assert!(read(&[item("../nodes/n1", "")], "").is_err());
        assert!(read(&[], "x&fieldSelector=").is_err());
        assert!(page(b"<html>").is_err());
    }
}
