//! The kubelet's kubeconfig, as kubeadm and k3s write it: text in, [`Kubeconfig`] out. Reads no file but, when asked,
//! the token's; starts no program; and accepts nothing that would make the server's identity a matter of faith.
//!
//! Format: <https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/>.

mod document;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use curfew_provider::{Token, TokenError};
use reqwest::Url;
use rustls::pki_types::ServerName;

use crate::net::{Pem, Proxies, ProxyError, tls::Identity};
use document::{Document, Section};

/// Where the cluster is, how to be sure of it, and who the agent is there: the current context's.
#[derive(Clone, Debug)]
pub struct Kubeconfig {
    /// `https` only. May have a path, which every request's path comes after.
    pub(crate) server: Url,
    /// The cluster's own CA; without one the public ones.
    pub(crate) authority: Option<Pem>,
    /// The name the server's certificate must carry, if not the address's host.
    pub(crate) tls_server_name: Option<ServerName<'static>>,
    /// Instead of the environment's.
    pub(crate) proxy: Option<Proxies>,
    pub(crate) identity: Option<Identity>,
    pub(crate) bearer: Option<Bearer>,
}

/// A token, or where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bearer {
    Inline(Token),
    /// Read for each request.
    File(PathBuf),
}

/// Why a kubeconfig cannot be used. Names the field; never holds a credential.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// The file cannot be read.
    #[error("cannot read {}: check --kubeconfig and that the agent may read it", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// It is neither YAML nor JSON.
    #[error("the kubeconfig is not YAML: line {line}, column {column}")]
    NotYaml {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// A field that must be there is not.
    #[error("the kubeconfig has no {0}")]
    Missing(String),
    /// A field has a value of another kind.
    #[error("{field} of the kubeconfig is not {expected}")]
    Invalid {
        /// From the document's root.
        field: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A field the agent will not follow.
    #[error("{field} of the kubeconfig is not supported: {instead}")]
    Refused {
        /// From the document's root.
        field: String,
        /// What a person can do.
        instead: &'static str,
    },
    /// The file of the token cannot be used.
    #[error("the token file {} cannot be used", .0.display())]
    TokenFile(PathBuf, #[source] TokenFileError),
    /// The proxy's address is unusable.
    #[error("{field} of the kubeconfig cannot be used")]
    Proxy {
        /// From the document's root.
        field: String,
        /// Why.
        #[source]
        source: ProxyError,
    },
}

/// Why a token file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// It cannot be read.
    #[error("it cannot be read")]
    Unreadable(#[from] io::Error),
    /// Its content is no token.
    #[error("it holds no token")]
    NoToken(#[from] TokenError),
}

impl Kubeconfig {
    /// Reads the text of a kubeconfig; relative paths in it are relative to `dir`, where the file is.
    pub fn parse(text: &str, dir: &Path) -> Result<Self, KubeconfigError> {
        let document = Document::parse(text)?;
        let context = document.named("contexts", "context", &document.text("current-context")?)?;
        let cluster = document.named("clusters", "cluster", &context.text("cluster")?)?;
        let user = document.named("users", "user", &context.text("user")?)?;
        let (identity, bearer) = credential(&user, dir)?;
        Ok(Self {
            server: server(&cluster)?,
            authority: pem(&cluster, "certificate-authority", dir)?,
            tls_server_name: tls_server_name(&cluster)?,
            proxy: proxy(&cluster)?,
            identity,
            bearer,
        })
    }
}

impl Bearer {
    /// The token, as it is now.
    pub(crate) fn token(&self) -> Result<Token, KubeconfigError> {
        match self {
            Self::Inline(token) => Ok(token.clone()),
            Self::File(path) => token(path).map_err(|error| KubeconfigError::TokenFile(path.clone(), error)),
        }
    }
}

fn token(path: &Path) -> Result<Token, TokenFileError> {
    Ok(Token::new(&fs::read_to_string(path)?)?)
}

fn server(cluster: &Section<'_>) -> Result<Url, KubeconfigError> {
    let url = Url::parse(&cluster.text("server")?).ok();
    let good = |url: &Url| {
        url.scheme() == "https"
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    };
    url.filter(good).ok_or_else(|| cluster.invalid("server", "an address of the form https://HOST[:PORT]"))
}

fn tls_server_name(cluster: &Section<'_>) -> Result<Option<ServerName<'static>>, KubeconfigError> {
    let parse = |name| {
        ServerName::try_from(name)
            .map_err(|_error| cluster.invalid("tls-server-name", "a host name or an IP address"))
    };
    if cluster.flag("insecure-skip-tls-verify")? {
        return Err(cluster.refused(
            "insecure-skip-tls-verify",
            "anyone on the way could set the deadline; give certificate-authority instead",
        ));
    }
    cluster.optional_text("tls-server-name")?.map(parse).transpose()
}

fn proxy(cluster: &Section<'_>) -> Result<Option<Proxies>, KubeconfigError> {
    let at = |url: String| {
        Proxies::at(&url)
            .map_err(|source| KubeconfigError::Proxy { field: cluster.field("proxy-url"), source })
    };
    cluster.optional_text("proxy-url")?.map(at).transpose()
}

type Credential = (Option<Identity>, Option<Bearer>);

fn credential(user: &Section<'_>, dir: &Path) -> Result<Credential, KubeconfigError> {
    for field in ["exec", "auth-provider"] {
        if user.has(field) {
            return Err(user.refused(
                field,
                "the agent starts no programs; make a kubeconfig with client-certificate and client-key, or tokenFile",
            ));
        }
    }
    let (certificate, key) = (pem(user, "client-certificate", dir)?, pem(user, "client-key", dir)?);
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
        (None, None) => None,
        (Some(_), None) => return Err(user.missing("client-key")),
        (None, Some(_)) => return Err(user.missing("client-certificate")),
    };
    // As in client-go, a file goes before a value: it is the one that is renewed.
    let bearer = match (user.optional_text("tokenFile")?, user.optional_text("token")?) {
        (Some(file), _) => Some(Bearer::File(dir.join(file))),
        (None, Some(token)) => {
            let token = Token::new(&token).map_err(|_error| user.invalid("token", "a token"))?;
            Some(Bearer::Inline(token))
        }
        (None, None) => None,
    };
    if identity.is_none() && bearer.is_none() {
        return Err(user.missing("client-certificate, token or tokenFile"));
    }
    Ok((identity, bearer))
}

/// `field-data` goes before `field`, as in client-go.
fn pem(section: &Section<'_>, field: &str, dir: &Path) -> Result<Option<Pem>, KubeconfigError> {
    if let Some(data) = section.optional_bytes(&format!("{field}-data"))? {
        return Ok(Some(Pem::Inline(data)));
    }
    Ok(section.optional_text(field)?.map(|path| Pem::File(dir.join(path))))
}

#[cfg(test)]
mod tests;
