//! Which proxy, if any, and for which hosts none. Owns the reading of `HTTPS_PROXY` and its like; never shows the
//! password in an address.

use std::fmt;

use reqwest::{NoProxy, Proxy, Url};

/// The proxy for `https` addresses. Plain HTTP, which only ever goes to this machine or its metadata service, has none.
#[derive(Clone, Default)]
pub struct Proxies {
    url: Option<Url>,
    except: String,
}

/// A proxy's address that cannot be used. Does not repeat it: there may be a password in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the proxy's address is unusable: it must be http://[USER:PASSWORD@]HOST:PORT or https://…")]
pub struct ProxyError;

impl Proxies {
    /// No proxy for anything.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// What `HTTPS_PROXY`, else `ALL_PROXY`, and `NO_PROXY` say, in either case; `variable` looks one up.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ProxyError> {
        let either = |name: &str| {
            variable(name).or_else(|| variable(&name.to_lowercase())).filter(|value| !value.trim().is_empty())
        };
        let except = either("NO_PROXY").unwrap_or_default();
        match either("HTTPS_PROXY").or_else(|| either("ALL_PROXY")) {
            Some(url) => Ok(Self { except, ..Self::at(&url)? }),
            None => Ok(Self::none()),
        }
    }

    /// The proxy at `url` for everything but this machine itself.
    pub fn at(url: &str) -> Result<Self, ProxyError> {
        let url = url.trim();
        let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let url = Url::parse(&full).map_err(|_unusable| ProxyError)?;
        if matches!(url.scheme(), "http" | "https") && url.has_host() {
            Ok(Self { url: Some(url), except: String::new() })
        } else {
            Err(ProxyError)
        }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.url.is_none()
    }

    pub(crate) fn proxy(&self) -> Result<Option<Proxy>, reqwest::Error> {
        let Some(url) = &self.url else { return Ok(None) };
        let except = NoProxy::from_string(&format!("{},{NEVER}", self.except));
        Ok(Some(Proxy::https(url.clone())?.no_proxy(except)))
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("host", &self.url.as_ref().and_then(Url::host_str))
            .field("except", &self.except)
            .finish()
    }
}

/// This machine and its metadata service: a proxy would answer for another machine.
const NEVER: &str = "localhost,127.0.0.0/8,::1,169.254.0.0/16,fe80::/10";
