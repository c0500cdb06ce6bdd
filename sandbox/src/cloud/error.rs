//! What the cloud says when it says no: status, `error.code`, message, details.
//!
//! Codes, statuses and messages are the provider's (its OpenAPI description and answers seen in public). A
//! request that this double does not support gets one of them too, and never a quiet success.

use serde_json::{Value, json};

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The body is not JSON.
    Json,
    /// No token, an unknown one, a revoked one.
    Unauthorized,
    /// A read token on a write. 401, not 403.
    TokenReadonly,
    /// The project may have no more servers.
    ServerLimit,
    /// No such route or resource, or one of another project.
    NotFound(String),
    /// The route exists, not with this method.
    MethodNotAllowed,
    /// The name is taken in this project.
    NameTaken,
    /// Placement found no host.
    OutOfStock,
    /// A field of the body or query, and what is wrong with it.
    Invalid {
        /// As the request spells it.
        field: String,
        /// What is wrong.
        why: String,
    },
    /// Another action runs on the server.
    Locked,
    /// Delete protection. The same status as `Locked`, another remedy.
    Protected,
    /// The project's bucket is empty; the limit per hour.
    RateLimit(u32),
    /// An error within the API itself.
    Server,
    /// 503 in JSON.
    Unavailable,
    /// 504 in JSON.
    Timeout,
}

impl Refusal {
    pub(crate) fn invalid(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), why: why.into() }
    }

    pub(crate) fn no_server(id: u64) -> Self {
        Self::NotFound(format!("server with ID '{id}' not found"))
    }

    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Json => 400,
            Self::Unauthorized | Self::TokenReadonly => 401,
            Self::ServerLimit => 403,
            Self::NotFound(_) => 404,
            Self::MethodNotAllowed => 405,
            Self::NameTaken => 409,
            Self::OutOfStock => 412,
            Self::Invalid { .. } => 422,
            Self::Locked | Self::Protected => 423,
            Self::RateLimit(_) => 429,
            Self::Server => 500,
            Self::Unavailable => 503,
            Self::Timeout => 504,
        }
    }

    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Json => "json_error",
            Self::Unauthorized => "unauthorized",
            Self::TokenReadonly => "token_readonly",
            Self::ServerLimit => "resource_limit_exceeded",
            Self::NotFound(_) => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::NameTaken => "uniqueness_error",
            Self::OutOfStock => "resource_unavailable",
            Self::Invalid { .. } => "invalid_input",
            Self::Locked => "locked",
            Self::Protected => "protected",
            Self::RateLimit(_) => "rate_limit_exceeded",
            Self::Server => "server_error",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Json => "invalid JSON in the request body".into(),
            Self::Unauthorized => "unable to authenticate".into(),
            Self::TokenReadonly => "not allowed because token is readonly".into(),
            Self::ServerLimit => "server limit exceeded".into(),
            Self::NotFound(what) => what.clone(),
            Self::MethodNotAllowed => "method not allowed".into(),
            Self::NameTaken => "server name is already used".into(),
            Self::OutOfStock => "error during placement".into(),
            Self::Invalid { field, why } => format!("invalid input in field '{field}': {why}"),
            Self::Locked => "cannot perform operation because server is locked".into(),
            Self::Protected => "server is protected from deletion".into(),
            Self::RateLimit(limit) => format!("limit of {limit} requests per hour reached"),
            Self::Server => "an internal server error occurred".into(),
            Self::Unavailable => "service unavailable".into(),
            Self::Timeout => "request timeout".into(),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::ServerLimit => json!({ "limits": [{ "name": "project_limit" }] }),
            Self::NameTaken => json!({ "fields": [{ "name": "name" }] }),
            Self::Invalid { field, why } => json!({ "fields": [{ "name": field, "messages": [why] }] }),
            _ => Value::Null,
        }
    }

    pub(crate) fn body(&self) -> Value {
        json!({ "error": { "code": self.code(), "message": self.message(), "details": self.details() } })
    }
}
