//! The agent's own certificate, read from its files at each handshake.
//!
//! Files that cannot be used (torn in mid-rotation, certificate and key of different pairs) must end the handshake. To
//! present no certificate instead would make the agent anonymous, and the server's refusal would name the wrong cause.

use std::sync::Arc;

use rustls::{
    Error, SignatureAlgorithm, SignatureScheme,
    client::ResolvesClientCert,
    crypto::CryptoProvider,
    sign::{CertifiedKey, Signer, SigningKey},
};

use super::refusal;
use crate::net::Pem;

/// A client certificate and its key; both may be in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) certificate: Pem,
    pub(crate) key: Pem,
}

impl Identity {
    pub(super) fn resolver(self, provider: Arc<CryptoProvider>) -> Arc<dyn ResolvesClientCert> {
        Arc::new(Resolver { identity: self, provider })
    }

    fn load(&self, provider: &CryptoProvider) -> Result<CertifiedKey, Error> {
        let chain = self.certificate.certificates().map_err(|error| refusal(&error))?;
        let key = self.key.key().map_err(|error| refusal(&error))?;
        CertifiedKey::from_der(chain, key, provider).map_err(|error| {
            Error::General(format!("certificate {} and key {}: {error}", self.certificate, self.key))
        })
    }
}

#[derive(Debug)]
struct Resolver {
    identity: Identity,
    provider: Arc<CryptoProvider>,
}

impl ResolvesClientCert for Resolver {
    fn resolve(&self, _issuers: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let certified = self
            .identity
            .load(&self.provider)
            .unwrap_or_else(|error| CertifiedKey::new(Vec::new(), Arc::new(Unusable(error))));
        Some(Arc::new(certified))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// A key that signs nothing: the only way to fail a handshake from a resolver.
#[derive(Clone, Debug)]
struct Unusable(Error);

impl SigningKey for Unusable {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let scheme = *offered.first()?;
        Some(Box::new(UnusableSigner { fault: self.0.clone(), scheme }))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

#[derive(Debug)]
struct UnusableSigner {
    fault: Error,
    scheme: SignatureScheme,
}

impl Signer for UnusableSigner {
    fn sign(&self, _message: &[u8]) -> Result<Vec<u8>, Error> {
        Err(self.fault.clone())
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}
