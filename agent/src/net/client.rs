//! The HTTP client under every call: what it may do without being asked is nothing.

use std::{net::SocketAddr, time::Duration};

use reqwest::{Client, Response, redirect, retry};
use rustls::ClientConfig;

use crate::net::{HttpError, Proxies, error::SetupError, resolver::Resolver};

/// A client that follows no redirect (a token would go along), repeats nothing, and reads no environment.
pub(crate) fn client(
    tls: ClientConfig,
    proxies: &Proxies,
    fallback: &[SocketAddr],
) -> Result<Client, SetupError> {
    let mut builder = Client::builder()
        .no_proxy()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("curfew-agent/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .connect_timeout(CONNECT)
        .dns_resolver(Resolver::new(fallback));
    if let Some(proxy) = proxies.proxy()? {
        builder = builder.proxy(proxy);
    }
    Ok(builder.build()?)
}

/// The whole body, if it is no longer than `limit` bytes.
pub(crate) async fn body(host: &str, mut response: Response, limit: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| HttpError::from_reqwest(host, error))? {
        if body.len() + chunk.len() > limit {
            return Err(HttpError::TooLarge { host: host.to_owned(), limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Of one connection, divided among the addresses of a host, so that a dead one leaves time for the others.
const CONNECT: Duration = Duration::from_secs(6);

/// Longer than any answer of either API that the agent asks for.
pub(crate) const BODY_LIMIT: usize = 1 << 20;
