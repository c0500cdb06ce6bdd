//! Why a call brought nothing. Names the host and what to do; never holds a token, a body, or an address's credentials.

use std::{path::PathBuf, time::Duration};

use curfew_provider::{Blank, Outcome};

use super::Held;
use crate::apply::root;

/// Why a call brought nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// It was not made.
    #[error("not asked")]
    Held(#[from] Held),
    /// No answer came. The request may have arrived all the same.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The answer was no.
    #[error("refused")]
    Refused(#[source] Outcome),
    /// It would have asked for everything.
    #[error(transparent)]
    Blank(#[from] Blank),
}

impl CallError {
    /// An answer that cannot be meant: it decides nothing.
    pub(super) const NO_SENSE: Self = Self::Refused(Outcome::Retry { after: None });

    /// The credential is at fault: time alone will not help, a person must.
    pub(crate) const fn denies(&self) -> bool {
        matches!(self, Self::Refused(outcome) if outcome.denies())
    }

    /// The provider says that there is no such thing in this project. Of a server: the proof that it is gone.
    pub(crate) const fn is_gone(&self) -> bool {
        matches!(self, Self::Refused(Outcome::Gone))
    }

    /// What failed and why, in one line, for a condition or the log.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Held(held) => held.to_string(),
            Self::Refused(outcome) => outcome.to_string(),
            Self::Blank(blank) => blank.to_string(),
            Self::Transport(error) => {
                use std::error::Error;
                error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {}", root(cause)))
            }
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    /// No connection, or no handshake.
    #[error(
        "cannot connect to {host}: check its address, its certificate, the name service, the network and the proxy"
    )]
    Connect {
        /// Host and port.
        host: String,
        #[source]
        source: reqwest::Error,
    },
    /// Time ran out, whatever had come by then.
    #[error("{host} did not answer in full within {} s", after.as_secs())]
    TimedOut {
        /// Host and port.
        host: String,
        after: Duration,
    },
    /// The connection ended, or something that is not HTTP came.
    #[error("the exchange with {host} broke off")]
    Broken {
        /// Host and port.
        host: String,
        #[source]
        source: reqwest::Error,
    },
    /// The body is larger than any answer can be.
    #[error("{host} sent more than {limit} bytes: something else than the API answers there")]
    TooLarge {
        /// Host and port.
        host: String,
        limit: usize,
    },
    /// The request names another host than the account's own: its token must not go there.
    #[error("a request was not for {host}, and was not sent")]
    Elsewhere {
        /// Host and port of the account.
        host: String,
    },
    /// The client could not be built at all.
    #[error("cannot set up the HTTP client")]
    Setup(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The file of certificate authorities is of no use.
    #[error("cannot use the certificate authorities in {0}: it must be a readable PEM file")]
    Authorities(PathBuf, #[source] Box<dyn std::error::Error + Send + Sync>),
}
