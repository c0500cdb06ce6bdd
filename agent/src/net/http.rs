//! From a provider's [`Request`] to its [`Answer`], within a hard time-out. Owns no meaning: that is the driver's.
//!
//! A [`Transport`] is cheap to build and holds its connections: whoever must not depend on an old one builds anew.

use std::{
    future::Future,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use curfew_provider::{Answer, Method, Request, Token};
use reqwest::{
    Client, RequestBuilder, Response, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use tokio::time::timeout;

use crate::net::{
    BestTime, Dates, DatesIgnored, HttpError, Pem, PemError, Proxies,
    client::{BODY_LIMIT, body, client},
    error::SetupError,
    tls::{self, ServerPolicy, Trust},
};

/// What a provider is spoken to with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Certificate authorities beside the public ones, in PEM: a private endpoint, a proxy that breaks TLS open.
    pub authorities: Option<PathBuf>,
    /// The way out.
    pub proxies: Proxies,
    /// Addresses of the endpoint that worked before, tried when the look-up fails and after those it finds. Unused
    /// behind a proxy, which looks up for itself.
    pub fallback: Vec<SocketAddr>,
    /// Clamped while firing, strict otherwise.
    pub dates: Dates,
    /// The time certificates are checked at.
    pub best_time: Arc<BestTime>,
    /// Where it is recorded that dates were ignored.
    pub dates_ignored: Arc<DatesIgnored>,
}

/// An HTTP client for a provider's API.
#[derive(Debug)]
pub struct Transport {
    client: Client,
    direct: bool,
    authorities_fault: Option<PemError>,
    last_address: Mutex<Option<SocketAddr>>,
}

impl Transport {
    /// A client with no connection yet. Reads the file of additional authorities; if that fails the public ones must
    /// do, and [`Transport::authorities_fault`] says so: a lost file must not keep a machine alive.
    pub fn new(options: &Options) -> Result<Self, HttpError> {
        let mut roots = tls::public_roots();
        let pem = options.authorities.clone().map(Pem::File);
        let authorities_fault = pem.and_then(|pem| tls::add_roots(&mut roots, &pem).err());
        let policy = ServerPolicy {
            trust: Trust::Roots(Arc::new(roots)),
            dates: options.dates,
            dates_ignored: Arc::clone(&options.dates_ignored),
            name: None,
        };
        let tls = tls::config(policy, None, Arc::clone(&options.best_time)).map_err(SetupError::from)?;
        let direct = options.proxies.is_none();
        let fallback = if direct { options.fallback.as_slice() } else { &[] };
        let client = client(tls, &options.proxies, fallback)?;
        Ok(Self { client, direct, authorities_fault, last_address: Mutex::new(None) })
    }

    /// Why the additional authorities are not in force, if they are not. To be reported.
    #[must_use]
    pub const fn authorities_fault(&self) -> Option<&PemError> {
        self.authorities_fault.as_ref()
    }

    /// The address that answered last, for [`Options::fallback`]. `None` behind a proxy.
    #[must_use]
    pub fn last_address(&self) -> Option<SocketAddr> {
        *self.last_address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks. `limit` covers everything: look-up, connection, handshake, answer and body.
    ///
    /// Whatever status was answered is an [`Answer`], a redirect too. The request may have arrived even where this
    /// fails.
    pub async fn send(&self, request: &Request, limit: Duration) -> Result<Answer, HttpError> {
        let (url, host) = address(&request.url)?;
        if url.scheme() != "https" && !is_this_machine(&url) {
            return Err(HttpError::Plain(host));
        }
        let mut asked = self
            .client
            .request(verb(request.method), url)
            .header(AUTHORIZATION, authorization(&request.token));
        if let Some(body) = &request.body {
            asked = asked.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        within(&host, limit, self.exchange(&host, asked)).await
    }

    /// Asks a metadata service, which takes no token and speaks plain HTTP. Only a 2xx answer in UTF-8 is one.
    pub async fn metadata(&self, url: &str, limit: Duration) -> Result<Option<String>, HttpError> {
        let (url, host) = address(url)?;
        let answered = within(&host, limit, async {
            let response = self.sent(&host, self.client.get(url)).await?;
            let good = response.status().is_success();
            Ok::<_, HttpError>((good, body(&host, response, BODY_LIMIT).await?))
        });
        let (good, body) = answered.await?;
        Ok(if good { String::from_utf8(body).ok() } else { None })
    }

    async fn exchange(&self, host: &str, asked: RequestBuilder) -> Result<Answer, HttpError> {
        let response = self.sent(host, asked).await?;
        if self.direct {
            *self.last_address.lock().unwrap_or_else(PoisonError::into_inner) = response.remote_addr();
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = body(host, response, BODY_LIMIT).await?;
        Ok(Answer::new(status, |name| headers.get(name)?.to_str().ok(), body))
    }

    async fn sent(&self, host: &str, asked: RequestBuilder) -> Result<Response, HttpError> {
        asked.send().await.map_err(|error| HttpError::from_reqwest(host, error))
    }
}

/// `future`, ended after `limit`, which begins now.
pub(crate) async fn within<T, E: From<HttpError>>(
    host: &str,
    limit: Duration,
    future: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let late = |_elapsed| Err(HttpError::TimedOut { host: host.to_owned(), after: limit }.into());
    timeout(limit, future).await.unwrap_or_else(late)
}

/// As the `Authorization` header, which must be shown nowhere.
pub(crate) fn authorization(token: &Token) -> HeaderValue {
    // A `Token` is visible ASCII: it always is a header. An empty one would be answered with 401.
    let mut value =
        HeaderValue::from_str(&token.authorization()).unwrap_or(HeaderValue::from_static("Bearer"));
    value.set_sensitive(true);
    value
}

/// The address and, for people, its host and port.
fn address(text: &str) -> Result<(Url, String), HttpError> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.filter(|url| url.username().is_empty() && url.password().is_none());
    let url = url.ok_or(HttpError::Address)?;
    let host = host_of(&url);
    Ok((url, host))
}

/// Host and port, without anything that could be secret.
pub(crate) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn verb(method: Method) -> reqwest::Method {
    match method {
        Method::Delete => reqwest::Method::DELETE,
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
    }
}

#[cfg(test)]
mod tests;
