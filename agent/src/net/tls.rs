//! Whom the agent believes. Owns the verification of servers and the choice of the client certificate.
//!
//! Dates are checked against the agent's best time. Where a date is the *only* fault of a chain, [`Dates`] may allow
//! that the chain is checked again at a time inside its own validity: a wrong clock must not save the machine.
//! Everything else (issuer, name, signature, use) is never forgiven.

mod clamp;
mod client_certificate;
mod verifier;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::ring,
    pki_types::{ServerName, TrustAnchor},
};

pub(crate) use client_certificate::Identity;

use crate::net::{BestTime, Pem, PemError};

/// What to do about a chain whose only fault is a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dates {
    /// Refuse it.
    Strict,
    /// Accept it if it is good at some time within its own validity.
    ClampedIfOnlyFault,
}

/// Whether the last server that was accepted was accepted in spite of its dates. For `Note::TlsDatesIgnored`.
#[derive(Debug, Default)]
pub struct DatesIgnored(AtomicBool);

impl DatesIgnored {
    /// True from such a handshake until one whose dates are right.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn record(&self, ignored: bool) {
        self.0.store(ignored, Ordering::Relaxed);
    }
}

/// The certificate authorities a server may be vouched for by.
#[derive(Clone, Debug)]
pub(crate) enum Trust {
    Roots(Arc<RootCertStore>),
    /// Read at each handshake.
    Pem(Pem),
}

/// How to be sure of a server.
#[derive(Debug)]
pub(crate) struct ServerPolicy {
    pub(crate) trust: Trust,
    pub(crate) dates: Dates,
    pub(crate) dates_ignored: Arc<DatesIgnored>,
    /// The name its certificate must carry, if not the name it is addressed by.
    pub(crate) name: Option<ServerName<'static>>,
}

/// A TLS configuration for HTTP/1.1. Sessions are never resumed: a resumed session would skip both the check of the
/// server's certificate and a rotated certificate of ours.
pub(crate) fn config(
    server: ServerPolicy,
    identity: Option<Identity>,
    best_time: Arc<BestTime>,
) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_details(Arc::clone(&provider), best_time)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier::Verifier::new(server, Arc::clone(&provider))));
    let mut config = match identity {
        Some(identity) => builder.with_client_cert_resolver(identity.resolver(provider)),
        None => builder.with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// The roots that browsers trust, as they were when the agent was built: the machine may have no file of its own.
pub(crate) fn public_roots() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.iter().map(TrustAnchor::to_owned).collect() }
}

/// Adds what `pem` holds to `roots`.
pub(crate) fn add_roots(roots: &mut RootCertStore, pem: &Pem) -> Result<(), PemError> {
    for certificate in pem.certificates()? {
        roots.add(certificate).map_err(|error| PemError::Unusable(pem.clone(), error))?;
    }
    Ok(())
}

impl Trust {
    fn roots(&self) -> Result<Arc<RootCertStore>, PemError> {
        match self {
            Self::Roots(roots) => Ok(Arc::clone(roots)),
            Self::Pem(pem) => {
                let mut roots = RootCertStore::empty();
                add_roots(&mut roots, pem)?;
                Ok(Arc::new(roots))
            }
        }
    }
}

/// An error that stops a handshake and says why, cause by cause, since rustls carries only one of ours.
fn refusal(error: &PemError) -> rustls::Error {
    use std::error::Error;
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    rustls::Error::General(text)
}

#[cfg(test)]
mod tests;
