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

impl Pod {
    /// Bytes it takes in memory, about.
    pub(super) const fn size(&self) -> usize {
        size_of::<Self>() + self.namespace.len() + self.name.len() + self.uid.len()
    }
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

/// Reads a pod, or its `PartialObjectMetadata`.
pub(super) fn pod(object: &[u8]) -> Result<Pod, ApiError> {
    let malformed = |source| ApiError::Malformed { what: "a pod", source };
    let Item { metadata } = serde_json::from_slice(object).map_err(|error| malformed(Some(error)))?;
    if goes_into_an_address(&metadata.namespace) && goes_into_an_address(&metadata.name) {
        Ok(metadata.pod())
    } else {
        Err(malformed(None))
    }
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

/// Names are of the alphabet of DNS.
fn goes_into_an_address(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
}

/// On the API server's copy of a static pod, put there by the kubelet.
const MIRROR: &str = "kubernetes.io/config.mirror";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, more: &str) -> Result<Pod, ApiError> {
        pod(format!(r#"{{"metadata":{{"namespace":"a","name":"{name}","uid":"u"{more}}}}}"#).as_bytes())
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
            assert_eq!(read("p", &more).unwrap().is_the_machines, expected, "{more}");
        }
    }

    #[test]
    fn a_pod_that_is_being_deleted_says_until_when() {
        let more = r#","deletionTimestamp":"1970-01-01T00:01:40Z","deletionGracePeriodSeconds":30"#;
        assert_eq!(read("p", more).unwrap().leaving, Some((Wall::from_millis(100_000), 30)));
    }

    #[test]
    fn what_cannot_go_into_an_address_is_refused() {
        for name in ["../nodes/n1", "p?x=y", "p%2F", ""] {
            assert!(read(name, "").is_err(), "{name}");
        }
    }
}
