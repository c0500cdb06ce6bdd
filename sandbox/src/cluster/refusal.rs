//! The errors of the API as `Status` objects, with the codes and reasons of the real server. Clients branch on
//! both, so nothing here invents one.

use serde_json::{Value, json};

use super::resource::Resource;

/// An answer other than success.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) details: Value,
    /// Seconds, for the `Retry-After` header.
    pub(crate) retry_after: Option<u32>,
}

impl Refusal {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null, retry_after: None }
    }

    fn about(self, resource: &Resource, name: &str) -> Self {
        Self { details: json!({"name": name, "group": resource.group, "kind": resource.plural}), ..self }
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn forbidden(what: &str, why: impl std::fmt::Display) -> Self {
        Self::new(403, "Forbidden", format!("{what} is forbidden: {why}"))
    }

    pub(crate) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
    }

    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} {name:?} not found", resource.id())).about(resource, name)
    }

    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} {name:?} already exists", resource.id()))
            .about(resource, name)
    }

    pub(crate) fn conflict(resource: &Resource, name: &str, why: impl std::fmt::Display) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.id());
        Self::new(409, "Conflict", message).about(resource, name)
    }

    pub(crate) fn stale(resource: &Resource, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// `causes` are pairs of field path and message.
    pub(crate) fn invalid(kind: &str, group: &str, name: &str, causes: &[(String, String)]) -> Self {
        let told: Vec<String> =
            causes.iter().map(|(f, m)| if f.is_empty() { m.clone() } else { format!("{f}: {m}") }).collect();
        let told = match told.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let kind_id = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let listed: Vec<Value> = causes
            .iter()
            .map(|(f, m)| json!({"reason": "FieldValueInvalid", "message": m, "field": f}))
            .collect();
        Self {
            details: json!({"name": name, "group": group, "kind": kind, "causes": listed}),
            ..Self::new(422, "Invalid", format!("{kind_id} {name:?} is invalid: {told}"))
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message)
    }

    pub(crate) fn not_acceptable(accept: &str) -> Self {
        let message =
            format!("only the following media types are accepted: application/json (asked: {accept})");
        Self::new(406, "NotAcceptable", message)
    }

    pub(crate) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// The history a watch asks for is gone.
    pub(crate) fn expired(asked: u64, oldest: u64) -> Self {
        Self::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "InternalError", message)
    }

    /// A revision the server has not reached yet.
    pub(crate) fn future_revision(asked: u64, current: u64) -> Self {
        Self {
            details: json!({"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                            "retryAfterSeconds": 1}),
            retry_after: Some(1),
            ..Self::new(504, "Timeout", format!("Too large resource version: {asked}, current: {current}"))
        }
    }

    /// An eviction a disruption budget forbids.
    pub(crate) fn disruption_budget(why: &str, retry_after: Option<u32>) -> Self {
        Self {
            details: json!({"causes": [{"reason": "DisruptionBudget", "message": why}],
                            "retryAfterSeconds": retry_after}),
            retry_after,
            ..Self::new(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
            )
        }
    }

    /// A fault that a test has switched on.
    pub(crate) fn fault(code: u16, retry_after: Option<u32>) -> Self {
        let (reason, message) = match code {
            429 => (
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
            ),
            503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
            504 => ("Timeout", "the server was unable to return a response in the time allotted"),
            _ => ("InternalError", "an error on the server has prevented the request from succeeding"),
        };
        Self { retry_after, ..Self::new(code, reason, message) }
    }

    /// The `Status` object.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}
