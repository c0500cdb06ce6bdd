//! What was asked, by whom, and how it was answered: the evidence tests and the RBAC of the controller are
//! compared with.

use jiff::Timestamp;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// When, by the API server's own clock.
    pub at: Timestamp,
    /// The user of the client certificate; `system:anonymous` without one, empty if it was refused.
    pub user: String,
    /// As authorization names it: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`; for a path that
    /// is no resource, the HTTP method in small letters.
    pub verb: String,
    /// API group; empty for the core.
    pub group: String,
    /// Plural; for a path that is no resource, the path.
    pub resource: String,
    /// `status`, `eviction`.
    pub subresource: Option<String>,
    /// Namespace; empty for what is cluster-scoped, and for a list of all namespaces.
    pub namespace: String,
    /// Name of the object.
    pub name: Option<String>,
    /// Query string, as sent.
    pub query: String,
    /// HTTP status of the answer.
    pub code: u16,
    /// Bytes of the answer's body; those of a watch grow.
    pub bytes: u64,
}
