//! What can go wrong between a question and its answer. Never holds a token, a body, or an address's credentials.

use std::{error::Error, io, time::Duration};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is not one that can be spoken to.
    #[error("an address is not of the form https://HOST[:PORT]/PATH, without a user or password in it")]
    Address,
    /// The token would be readable on the wire.
    #[error(
        "refused to send a token to {0} over plain http: use https:// (plain http is for this machine only)"
    )]
    Plain(String),
    /// No connection came about.
    #[error("cannot connect to {host}: check its address, the name service, the firewall and the proxy")]
    Connect {
        /// Host and port.
        host: String,
        /// What failed.
        #[source]
        source: reqwest::Error,
    },
    /// The handshake failed, on either side.
    #[error("the TLS handshake with {host} failed: {fault}")]
    Tls {
        /// Host and port.
        host: String,
        /// What is wrong with whose certificate.
        fault: rustls::Error,
    },
    /// Time ran out, whatever had come by then.
    #[error("{host} did not answer in full within {} s", after.as_secs_f32())]
    TimedOut {
        /// Host and port.
        host: String,
        /// The time-out.
        after: Duration,
    },
    /// The connection ended, or something that is not HTTP came.
    #[error("the exchange with {host} broke off")]
    Broken {
        /// Host and port.
        host: String,
        /// What failed.
        #[source]
        source: reqwest::Error,
    },
    /// The body is larger than any answer can be.
    #[error("{host} sent more than {limit} bytes: something else than the API answers there")]
    TooLarge {
        /// Host and port.
        host: String,
        /// Bytes.
        limit: usize,
    },
    /// The client could not be built at all.
    #[error("cannot set up the HTTP client")]
    Setup(#[source] SetupError),
}

/// Why a client could not be built.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// By TLS.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
    /// By the HTTP library.
    #[error("HTTP cannot be set up")]
    Http(#[from] reqwest::Error),
}

impl HttpError {
    /// Whether this machine has no way to the other: nothing left it, and nobody was asked.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        let Self::Connect { source, .. } = self else { return false };
        let mut causes =
            std::iter::successors(Some(source as &(dyn Error + 'static)), |cause| (*cause).source());
        let unreachable = [io::ErrorKind::NetworkUnreachable, io::ErrorKind::HostUnreachable];
        causes
            .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|io| unreachable.contains(&io.kind())))
    }

    pub(crate) fn from_reqwest(host: &str, error: reqwest::Error) -> Self {
        let host = host.to_owned();
        let source = error.without_url();
        if let Some(fault) = tls_fault(&source) {
            Self::Tls { host, fault: fault.clone() }
        } else if source.is_connect() {
            Self::Connect { host, source }
        } else {
            Self::Broken { host, source }
        }
    }
}

impl From<SetupError> for HttpError {
    fn from(error: SetupError) -> Self {
        Self::Setup(error)
    }
}

/// The TLS fault an error comes from. `io::Error` skips its own content in the chain of sources, hence the second look.
fn tls_fault<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    let inside: Option<&'e (dyn Error + 'static)> =
        error.downcast_ref::<io::Error>().and_then(io::Error::get_ref).map(|inner| inner as _);
    error.downcast_ref().or_else(|| inside.and_then(tls_fault)).or_else(|| error.source().and_then(tls_fault))
}
