//! Verification of a server's certificate by webpki, with [`Dates`] about the time it is done at.

use std::sync::Arc;

use rustls::{
    DigitallySignedStruct, Error, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use super::{Dates, ServerPolicy, clamp::clamped, refusal};

#[derive(Debug)]
pub(super) struct Verifier {
    policy: ServerPolicy,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    pub(super) const fn new(policy: ServerPolicy, provider: Arc<CryptoProvider>) -> Self {
        Self { policy, provider }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let roots = self.policy.trust.roots().map_err(|error| refusal(&error))?;
        let webpki = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&self.provider))
            .build()
            .map_err(|error| Error::General(error.to_string()))?;
        let name = self.policy.name.as_ref().unwrap_or(server_name);
        let check = |at| {
            webpki.verify_server_cert(end_entity, intermediates, name, ocsp_response, at).map(|_verified| ())
        };
        let ignored = match self.policy.dates {
            Dates::Strict => check(now).map(|()| false),
            Dates::ClampedIfOnlyFault => clamped(now, check),
        }?;
        self.policy.dates_ignored.record(ignored);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
