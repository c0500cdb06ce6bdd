//! How the API server is reached: a client made from the kubeconfig as it is now.
//!
//! One client lives as long as all goes well and the kubeconfig's text stays the same; its connections re-read CA,
//! certificate and key at each handshake.

use std::{path::Path, sync::Arc};

use reqwest::{Client, Method, RequestBuilder, header::AUTHORIZATION};

use crate::{
    net::{
        Dates, HttpError, Proxies,
        client::client,
        http::{authorization, host_of},
        tls::{self, ServerPolicy, Trust},
    },
    node::{
        ApiError, Options,
        kubeconfig::{Bearer, Kubeconfig, KubeconfigError},
    },
};

/// A client for one API server.
pub(super) struct Connection {
    client: Client,
    server: String,
    /// Host and port, for people.
    pub(super) host: String,
    bearer: Option<Bearer>,
    text: String,
}

impl Connection {
    /// Whether it was made from this text.
    pub(super) fn is_of(&self, kubeconfig: &str) -> bool {
        self.text == kubeconfig
    }

    /// Opens nothing yet.
    pub(super) fn new(options: &Options, text: String) -> Result<Self, ApiError> {
        let dir = options.kubeconfig.parent().unwrap_or_else(|| Path::new("."));
        let config = Kubeconfig::parse(&text, dir)?;
        let (trust, dates) = match config.authority {
            Some(pem) => (Trust::Pem(pem), Dates::ClampedIfOnlyFault),
            None => (Trust::Roots(Arc::new(tls::public_roots())), Dates::Strict),
        };
        let dates_ignored = Arc::clone(&options.dates_ignored);
        let policy = ServerPolicy { trust, dates, dates_ignored, name: config.tls_server_name };
        let tls = tls::config(policy, config.identity, Arc::clone(&options.best_time))
            .map_err(|error| HttpError::Setup(error.into()))?;
        let proxies: &Proxies = config.proxy.as_ref().unwrap_or(&options.proxies);
        let client = client(tls, proxies, &[]).map_err(HttpError::from)?;
        let server = config.server.as_str().trim_end_matches('/').to_owned();
        Ok(Self { client, server, host: host_of(&config.server), bearer: config.bearer, text })
    }

    /// The start of a request for `path`, which begins with a slash.
    pub(super) fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, KubeconfigError> {
        let request = self.client.request(method, format!("{}{path}", self.server));
        Ok(match self.bearer.as_ref().map(Bearer::token).transpose()? {
            Some(token) => request.header(AUTHORIZATION, authorization(&token)),
            None => request,
        })
    }
}
