//! From a provider's [`Request`] to its [`Answer`], within a hard time-out. Knows one host and no meaning.
//!
//! Follows no redirect (the token would go along), repeats nothing, and sends nothing to any other host.

use std::{net::IpAddr, path::Path, sync::Arc, time::Duration};

use curfew_provider::{Answer, Method, Request, Token};
use reqwest::{
    Client, Response, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    redirect, retry,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::TransportError;

/// Where a provider's API is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    url: Url,
}

/// Which endpoints may be spoken to without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    /// Only this machine: elsewhere the token could be read on the wire.
    ThisMachine,
    /// Any. For an endpoint that a `ProviderConfig` names: whoever may write that may have the token sent to any
    /// host they like, so to refuse them `http` would protect nothing, and would keep out a gateway in one's own
    /// network.
    AsNamed,
}

/// Why an address is none that can be spoken to. Does not repeat it: there may be a password in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EndpointError {
    #[error(
        "the endpoint is not of the form https://HOST[:PORT]/PATH, without user, password, query or fragment"
    )]
    Form,
    #[error(
        "the endpoint is plain http, on which the token could be read: use https (http is for this machine only)"
    )]
    Plain,
}

impl Endpoint {
    /// Reads an address, with its `/v1`.
    pub(crate) fn read(text: &str, plain: Plain) -> Result<Self, EndpointError> {
        let url = Url::parse(text.trim()).map_err(|_unusable| EndpointError::Form)?;
        let bare = url.username().is_empty() && url.password().is_none();
        let bare = bare && url.query().is_none() && url.fragment().is_none() && url.has_host();
        if !bare || !matches!(url.scheme(), "http" | "https") {
            return Err(EndpointError::Form);
        }
        let endpoint = Self { url };
        if endpoint.url.scheme() == "http" && plain == Plain::ThisMachine && !endpoint.is_this_machine() {
            return Err(EndpointError::Plain);
        }
        Ok(endpoint)
    }

    /// As the driver takes it.
    pub(crate) fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Host and port, for people.
    pub(crate) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    fn is_this_machine(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    fn holds(&self, url: &Url) -> bool {
        self.url.origin() == url.origin()
    }
}

/// An HTTP client for one endpoint. Holds its connections.
#[derive(Clone, Debug)]
pub(super) struct Transport {
    client: Client,
    endpoint: Endpoint,
}

impl Transport {
    /// A client with no connection yet. Trusts the public certificate authorities, and those in the file.
    pub(super) fn new(endpoint: Endpoint, authorities: Option<&Path>) -> Result<Self, TransportError> {
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls(authorities)?)
            .user_agent(concat!("curfew-controller/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .timeout(CALL);
        if endpoint.is_this_machine() {
            // A proxy would answer for another machine.
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| TransportError::Setup(Box::new(error)))?;
        Ok(Self { client, endpoint })
    }

    /// Host and port, for people.
    pub(super) fn host(&self) -> String {
        self.endpoint.host()
    }

    pub(super) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks. Whatever status was answered is an [`Answer`], a redirect too. The request may have arrived even where
    /// this fails.
    pub(super) async fn send(&self, request: &Request) -> Result<Answer, TransportError> {
        let url = Url::parse(&request.url).ok().filter(|url| self.endpoint.holds(url));
        let url = url.ok_or_else(|| TransportError::Elsewhere { host: self.host() })?;
        let asked = self.client.request(verb(request.method), url);
        let mut asked = asked.header(AUTHORIZATION, authorization(&request.token));
        if let Some(body) = &request.body {
            asked = asked.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        let response = asked.send().await.map_err(|error| self.fault(error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = self.body(response).await?;
        Ok(Answer::new(status, |name| headers.get(name)?.to_str().ok(), body))
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, TransportError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.fault(error))? {
            if body.len() + chunk.len() > BODY_LIMIT {
                return Err(TransportError::TooLarge { host: self.host(), limit: BODY_LIMIT });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn fault(&self, error: reqwest::Error) -> TransportError {
        let (host, source) = (self.host(), error.without_url());
        if source.is_timeout() {
            TransportError::TimedOut { host, after: CALL }
        } else if source.is_connect() {
            TransportError::Connect { host, source }
        } else {
            TransportError::Broken { host, source }
        }
    }
}

fn tls(authorities: Option<&Path>) -> Result<ClientConfig, TransportError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = authorities {
        add_roots(&mut roots, path).map_err(|error| TransportError::Authorities(path.into(), error))?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| TransportError::Setup(Box::new(error)))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn add_roots(roots: &mut RootCertStore, path: &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let before = roots.len();
    for certificate in CertificateDer::pem_file_iter(path)? {
        roots.add(certificate?)?;
    }
    if roots.len() == before { Err("it holds no certificate".into()) } else { Ok(()) }
}

/// As the `Authorization` header, which must be shown nowhere.
fn authorization(token: &Token) -> HeaderValue {
    // A `Token` is visible ASCII: it always is a header. An empty one would be answered with 401.
    let mut value =
        HeaderValue::from_str(&token.authorization()).unwrap_or(HeaderValue::from_static("Bearer"));
    value.set_sensitive(true);
    value
}

const fn verb(method: Method) -> reqwest::Method {
    match method {
        Method::Delete => reqwest::Method::DELETE,
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
    }
}

/// Covers everything: look-up, connection, handshake, answer and body.
const CALL: Duration = Duration::from_secs(10);
/// Of one connection, so that a dead address leaves time for the others.
const CONNECT: Duration = Duration::from_secs(6);
/// A connection that has been silent for longer may be dead without our knowing, and a deletion would wait for it.
const IDLE: Duration = Duration::from_secs(15);
/// Far more than any page: fifty servers, each with its type and that type's prices in every region, are about
/// 400 KiB. An answer that is refused for its size shows no server, and what is not shown is not deleted: too large
/// a bound costs memory, too small a one costs money.
const BODY_LIMIT: usize = 8 << 20;

#[cfg(test)]
mod tests;
