//! Certificates and keys as PEM, by path or by value. By path they are read anew each time they are needed: rotation
//! needs no restart.

use std::{fmt, io, path::PathBuf};

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use crate::patience;

/// Where PEM text is.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// In a file that may change under us.
    File(PathBuf),
    /// In the configuration itself.
    Inline(Vec<u8>),
}

/// Why PEM text is of no use. Never holds the text.
#[derive(Debug, thiserror::Error)]
pub enum PemError {
    /// The file cannot be read.
    #[error("cannot read {0}: check that it exists and that the agent may read it")]
    Unreadable(Pem, #[source] io::Error),
    /// It is not PEM.
    #[error("{0} is not PEM: it may be half written, or of another format")]
    NotPem(Pem, #[source] rustls::pki_types::pem::Error),
    /// It is PEM, but of other things.
    #[error("{0} holds no certificate")]
    NoCertificate(Pem),
    /// A certificate that cannot be trusted as a root.
    #[error("{0} holds a certificate that cannot be used")]
    Unusable(Pem, #[source] rustls::Error),
}

impl Pem {
    pub(crate) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, PemError> {
        let found: Vec<_> = CertificateDer::pem_slice_iter(&self.read()?)
            .collect::<Result<_, _>>()
            .map_err(|error| PemError::NotPem(self.clone(), error))?;
        if found.is_empty() { Err(PemError::NoCertificate(self.clone())) } else { Ok(found) }
    }

    /// The first private key. The text may hold certificates beside it, as the kubelet's does.
    pub(crate) fn key(&self) -> Result<PrivateKeyDer<'static>, PemError> {
        PrivateKeyDer::from_pem_slice(&self.read()?).map_err(|error| PemError::NotPem(self.clone(), error))
    }

    fn read(&self) -> Result<Vec<u8>, PemError> {
        match self {
            Self::File(path) => {
                patience::read(path).map_err(|error| PemError::Unreadable(self.clone(), error))
            }
            Self::Inline(text) => Ok(text.clone()),
        }
    }
}

impl fmt::Display for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Inline(_) => f.write_str("the inline PEM data"),
        }
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pem({self})")
    }
}
