//! What keeps the agent from its Node, sorted by who has to do something about it.

use std::time::Duration;

use crate::{
    net::HttpError,
    node::{NodeNameError, kubeconfig::KubeconfigError},
};

/// Why the API server has not done what was asked. The last good deadline stands in every case.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// On this machine: the kubeconfig, or a file it names.
    #[error("the kubeconfig cannot be used")]
    Kubeconfig(#[from] KubeconfigError),
    /// On the way: connection, TLS, time-out.
    #[error("the API server did not answer")]
    Reach(#[from] HttpError),
    /// 401.
    #[error("the API server does not know this credential: expired, or of another cluster ({message})")]
    Unauthorized {
        /// Its own words, shortened.
        message: String,
    },
    /// 403.
    #[error("the API server forbids it to this credential ({message})")]
    Forbidden {
        /// Its own words, shortened.
        message: String,
    },
    /// 404.
    #[error("the API server has no such object: the Node is not registered or was deleted ({message})")]
    NotFound {
        /// Its own words, shortened.
        message: String,
    },
    /// 429: too much at once, or an eviction that a disruption budget forbids.
    #[error("the API server says: not now ({message})")]
    Busy {
        /// When to ask again, if it says so.
        retry_after: Option<Duration>,
        /// Its own words, shortened.
        message: String,
    },
    /// Any other status that is not 2xx.
    #[error("the API server answered {code} ({message})")]
    Status {
        /// The HTTP status.
        code: u16,
        /// Its own words, shortened; empty if it is not the API server's.
        message: String,
    },
    /// 2xx, but not what was asked for.
    #[error("the answer cannot be read as {what}")]
    Malformed {
        /// What it should have been.
        what: &'static str,
        /// Where it is not.
        #[source]
        source: Option<serde_json::Error>,
    },
    /// The credential is a person's or a program's, not a Node's.
    #[error("the credential is of {username:?}, not of a Node: give --node-name, or a kubelet's kubeconfig")]
    NotANode {
        /// As the API server calls it, shortened.
        username: String,
    },
    /// The credential is a Node's, but of one that cannot be.
    #[error("the credential is of a Node whose name cannot be")]
    NodeName(#[from] NodeNameError),
}

impl ApiError {
    pub(super) const fn from_status(code: u16, message: String, retry_after: Option<Duration>) -> Self {
        match code {
            401 => Self::Unauthorized { message },
            403 => Self::Forbidden { message },
            404 => Self::NotFound { message },
            429 => Self::Busy { retry_after, message },
            code => Self::Status { code, message },
        }
    }

    /// Whether a new connection may end it: a rotated certificate, another API server behind the same address.
    pub(super) const fn wants_new_connection(&self) -> bool {
        !matches!(
            self,
            Self::Forbidden { .. }
                | Self::NotFound { .. }
                | Self::NotANode { .. }
                | Self::Busy { .. }
                | Self::Status { code: CONFLICT, .. }
        )
    }
}

/// Somebody else has changed it meanwhile.
const CONFLICT: u16 = 409;
