//! What the API server said of a Node. Pure: bytes in, values out.

use std::{collections::BTreeMap, mem};

use curfew_contract::annotation;
use jiff::fmt::rfc2822::DateTimeParser;
use serde::Deserialize;

use crate::{
    fuse::Answered,
    node::{ApiError, NodeName},
    time::Wall,
};

/// One sight of this machine's Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The annotation [`annotation::DEADLINE`], as it is.
    pub deadline: Option<String>,
    /// The annotation [`annotation::DEADLINE_FOR`], as it is.
    pub deadline_for: Option<String>,
    /// The annotation [`annotation::GRACE`], as it is.
    pub grace: Option<String>,
    /// The annotation [`annotation::CORDONED_FOR`], as it is.
    pub cordoned_for: Option<String>,
    /// Where a watch may continue from.
    pub resource_version: String,
    /// Another one means: deleted and created again under the same name.
    pub uid: String,
    /// When it was said. `None` for an event of a watch, which may be of any age.
    pub answered: Option<Answered>,
    /// It no longer exists; the rest is how it last was.
    pub deleted: bool,
}

/// Reads a `Date` header (RFC 9110: `Sun, 06 Nov 1994 08:49:37 GMT`).
pub(super) fn date(header: &str) -> Option<Wall> {
    Some(DATES.parse_timestamp(header).ok()?.into())
}

/// Reads a Node or its `PartialObjectMetadata`.
pub(super) fn node(object: &[u8]) -> Result<Metadata, ApiError> {
    #[derive(Deserialize)]
    struct Object {
        metadata: Metadata,
    }
    let malformed = |source| ApiError::Malformed { what: "a Node", source: Some(source) };
    Ok(serde_json::from_slice::<Object>(object).map_err(malformed)?.metadata)
}

/// The part of an object's metadata that matters here. What is absent reads as empty; a bookmark has no name.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Metadata {
    name: String,
    uid: String,
    resource_version: String,
    annotations: Option<BTreeMap<String, String>>,
}

impl Metadata {
    /// As a sight of `node`. Another Node's deadline must never be taken for ours.
    pub(super) fn seen(
        mut self,
        node: &NodeName,
        answered: Option<Answered>,
        deleted: bool,
    ) -> Result<Seen, ApiError> {
        if self.name != node.as_str() || self.uid.is_empty() {
            return Err(ApiError::Malformed { what: "the Node that was asked for", source: None });
        }
        let mut annotations = self.annotations.take().unwrap_or_default();
        Ok(Seen {
            deadline: annotations.remove(annotation::DEADLINE),
            deadline_for: annotations.remove(annotation::DEADLINE_FOR),
            grace: annotations.remove(annotation::GRACE),
            cordoned_for: annotations.remove(annotation::CORDONED_FOR),
            uid: mem::take(&mut self.uid),
            resource_version: self.resource_version()?,
            answered,
            deleted,
        })
    }

    /// Opaque, but made of letters and digits: it goes into an address.
    pub(super) fn resource_version(self) -> Result<String, ApiError> {
        let version = self.resource_version;
        if !version.is_empty() && version.bytes().all(|b| b.is_ascii_alphanumeric()) {
            Ok(version)
        } else {
            Err(ApiError::Malformed { what: "an object with a resourceVersion", source: None })
        }
    }
}

/// The `status.userInfo.username` of a `SelfSubjectReview`.
pub(super) fn username(review: &[u8]) -> Result<String, serde_json::Error> {
    #[derive(Deserialize)]
    struct Review {
        status: Status,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Status {
        user_info: UserInfo,
    }
    #[derive(Deserialize)]
    struct UserInfo {
        username: String,
    }
    Ok(serde_json::from_slice::<Review>(review)?.status.user_info.username)
}

/// The message of a `Status`, short and on one line; empty if it is something else, as from a proxy.
pub(super) fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Status {
        message: String,
    }
    let message = serde_json::from_slice::<Status>(body).map(|status| status.message).unwrap_or_default();
    shortened(&message)
}

/// At most 200 characters, none of them a control character: it goes into a log.
pub(super) fn shortened(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

static DATES: DateTimeParser = DateTimeParser::new();
