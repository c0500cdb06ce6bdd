//! The cluster's certificate authority, and what it says about a client. Owns the CA key, which never leaves
//! memory; verifies against a time that is given.

use std::{net::IpAddr, sync::Arc};

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::{
    DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime},
    server::{
        ServerConfig, WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{Error, authz::User};

/// From when to when a certificate is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Not before.
    pub from: Timestamp,
    /// Not after.
    pub until: Timestamp,
}

/// How a private key is spelled in PEM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyForm {
    /// `EC PRIVATE KEY`, as kubeadm's kubelets write it.
    #[default]
    Sec1,
    /// `PRIVATE KEY`.
    Pkcs8,
}

/// A client certificate with its key.
pub(crate) struct Credential {
    pub(crate) certificate: String,
    key: KeyPair,
}

impl Credential {
    pub(crate) fn key(&self, form: KeyForm) -> Result<String, Error> {
        match form {
            KeyForm::Pkcs8 => Ok(self.key.serialize_pem()),
            KeyForm::Sec1 => sec1(&self.key),
        }
    }
}

/// The CA.
pub(crate) struct Authority {
    /// The CA certificate, PEM.
    pub(crate) certificate: String,
    issuer: Issuer<'static, KeyPair>,
    clients: Arc<dyn ClientCertVerifier>,
    provider: Arc<CryptoProvider>,
}

impl Authority {
    pub(crate) fn new(validity: Validity) -> Result<Self, Error> {
        let key = KeyPair::generate()?;
        let mut params = params(validity, vec![])?;
        params.distinguished_name.push(DnType::CommonName, "kubernetes");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone())?;
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build()?;
        Ok(Self { certificate: certificate.pem(), issuer: Issuer::new(params, key), clients, provider })
    }

    /// A certificate for `user`, with the groups it names.
    pub(crate) fn client(
        &self,
        name: &str,
        groups: &[&str],
        validity: Validity,
    ) -> Result<Credential, Error> {
        let key = KeyPair::generate()?;
        let mut params = params(validity, vec![])?;
        params.distinguished_name.push(DnType::CommonName, name);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        Ok(Credential { certificate: params.signed_by(&key, &self.issuer)?.pem(), key })
    }

    /// The server's side of TLS, with a fresh certificate. It takes any client certificate: who that is, is
    /// decided for each request, so that a bad one is answered 401 instead of cutting the connection.
    pub(crate) fn server(&self, validity: Validity, address: IpAddr) -> Result<ServerConfig, Error> {
        let key = KeyPair::generate()?;
        let names = ["localhost", "127.0.0.1", "kubernetes"].map(str::to_owned);
        let mut params = params(validity, [names.to_vec(), vec![address.to_string()]].concat())?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&key, &self.issuer)?;
        let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(|_| Error::Key)?;
        let mut config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(AnyClient(self.provider.clone())))
            .with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Whom a client certificate names; `None` if it is foreign, expired or not yet good.
    pub(crate) fn user(&self, chain: &[CertificateDer<'_>], now: Timestamp) -> Option<User> {
        let (own, others) = chain.split_first()?;
        let seconds = u64::try_from(now.as_second()).ok()?;
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        self.clients.verify_client_cert(own, others, now).ok()?;
        let (_, parsed) = X509Certificate::from_der(own).ok()?;
        let name = parsed.subject().iter_common_name().next()?.as_str().ok()?.to_owned();
        let named = parsed.subject().iter_organization().filter_map(|o| o.as_str().ok().map(Into::into));
        Some(User { name, groups: named.chain(["system:authenticated".into()]).collect() })
    }
}

fn params(validity: Validity, names: Vec<String>) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let since = |at: Timestamp| std::time::Duration::from_secs(at.as_second().unsigned_abs());
    params.not_before = epoch + since(validity.from);
    params.not_after = epoch + since(validity.until);
    Ok(params)
}

/// Rewrites a P-256 key from PKCS #8 to RFC 5915, which rcgen does not write.
fn sec1(key: &KeyPair) -> Result<String, Error> {
    const SECRET: std::ops::Range<usize> = 36..68;
    const BEFORE: [u8; 7] = [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20];
    /// The curve, then the header of the public key.
    const BETWEEN: [u8; 17] = [
        0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0xa1, 0x44, 0x03, 0x42, 0x00,
    ];
    let pkcs8 = key.serialized_der();
    let (head, secret) = (pkcs8.get(34..36), pkcs8.get(SECRET));
    let (Some([0x04, 0x20]), Some(secret), public @ [0x04, ..]) = (head, secret, key.public_key_raw()) else {
        return Err(Error::Key);
    };
    let der = [&BEFORE[..], secret, &BETWEEN[..], public].concat();
    let text = super::kubeconfig::base64(&der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    Ok(format!("-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----\n", lines.join("\n")))
}

/// Checks that a client holds the key of its certificate, and nothing about the certificate.
#[derive(Debug)]
struct AnyClient(Arc<CryptoProvider>);

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
