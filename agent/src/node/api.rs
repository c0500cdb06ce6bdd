//! The four things the agent says to the API server: who am I, how is my Node, here is my heartbeat, tell me of changes.
//! What it says while draining is `work`'s.
//!
//! Every call has a hard time-out and asks exactly once. Writes one annotation, by merge patch: server-side apply would
//! re-create a Node that someone deleted.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use curfew_contract::annotation;
use reqwest::{
    Method, RequestBuilder, Response,
    header::{ACCEPT, CONTENT_TYPE, DATE, RETRY_AFTER},
};
use serde_json::json;

use crate::{
    clocks,
    fuse::Answered,
    net::{
        BestTime, DatesIgnored, HttpError, Proxies,
        client::{BODY_LIMIT, body},
        http::within,
    },
    node::{
        ApiError, NodeName, Seen,
        connection::Connection,
        kubeconfig::KubeconfigError,
        seen::{self, date, message, shortened},
    },
    patience,
};

/// What the API server is spoken to with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Path of the kubelet's kubeconfig. Read anew for each call: it may appear, change and go.
    pub kubeconfig: PathBuf,
    /// The way out, where the kubeconfig names no proxy.
    pub proxies: Proxies,
    /// The time the server's certificate is checked at.
    pub best_time: Arc<BestTime>,
    /// Where it is recorded that dates were ignored.
    pub dates_ignored: Arc<DatesIgnored>,
    /// How long a watch may say nothing. Bookmarks come about each minute.
    pub silence: Duration,
}

/// The API server, as one Node sees it.
pub struct NodeApi {
    pub(super) options: Options,
    connection: Mutex<Option<Arc<Connection>>>,
}

impl NodeApi {
    /// Reads and opens nothing yet.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        Self { options, connection: Mutex::new(None) }
    }

    /// The Node the credential belongs to (`SelfSubjectReview`, Kubernetes 1.28 and later).
    pub async fn whoami(&self) -> Result<NodeName, ApiError> {
        let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
        let ask = Ask::new(Method::POST, "/apis/authentication.k8s.io/v1/selfsubjectreviews".to_owned())
            .with("application/json", review.to_string());
        let (_answered, body) = self.call(&ask).await?;
        let username = seen::username(&body)
            .map_err(|error| ApiError::Malformed { what: "a SelfSubjectReview", source: Some(error) })?;
        match username.strip_prefix(NODE_USER) {
            Some(name) => Ok(NodeName::new(name)?),
            None => Err(ApiError::NotANode { username: shortened(&username) }),
        }
    }

    /// The Node as it is now: a consistent read.
    pub async fn read(&self, node: &NodeName) -> Result<Seen, ApiError> {
        self.node(node, Ask::new(Method::GET, path(node)).partial()).await
    }

    /// Writes the heartbeat, and learns how the Node is now. 404 if there is no such Node.
    pub async fn beat(&self, node: &NodeName, heartbeat: &str) -> Result<Seen, ApiError> {
        let patch = json!({ "metadata": { "annotations": { (annotation::HEARTBEAT): heartbeat } } });
        self.node(node, Ask::merge(node, &patch)).await
    }

    /// Keeps new work away from the Node.
    pub async fn cordon(&self, node: &NodeName) -> Result<(), ApiError> {
        let patch = json!({ "spec": { "unschedulable": true } });
        self.call(&Ask::merge(node, &patch)).await.map(drop)
    }

    pub(super) async fn node(&self, node: &NodeName, ask: Ask) -> Result<Seen, ApiError> {
        let (answered, body) = self.call(&ask).await?;
        seen::node(&body)?.seen(node, answered, false)
    }

    pub(super) async fn call(&self, ask: &Ask) -> Result<(Option<Answered>, Vec<u8>), ApiError> {
        let connection = self.connection()?;
        let host = connection.host.as_str();
        let outcome = within(host, CALL, async {
            let (answered, response) = opened(host, ask.on(&connection)?).await?;
            Ok((answered, body(host, response, BODY_LIMIT).await?))
        });
        self.checked(&connection, outcome.await)
    }

    /// Begins an exchange whose body has no end: the head of the answer is waited for as for any other.
    pub(super) async fn stream(&self, ask: &Ask) -> Result<Stream, ApiError> {
        let connection = self.connection()?;
        let host = connection.host.as_str();
        let outcome = within(host, CALL, async { opened(host, ask.on(&connection)?).await }).await;
        let (answered, response) = self.checked(&connection, outcome)?;
        Ok(Stream { connection, answered, response })
    }

    /// The client there is, unless the kubeconfig says something else by now. While the file cannot be read, the client
    /// there is goes on.
    fn connection(&self) -> Result<Arc<Connection>, ApiError> {
        let mut slot = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let text =
            patience::read(&self.options.kubeconfig).map(|text| String::from_utf8_lossy(&text).into_owned());
        match (slot.as_ref(), text) {
            (Some(connection), Ok(text)) if connection.is_of(&text) => Ok(Arc::clone(connection)),
            (Some(connection), Err(_missing)) => Ok(Arc::clone(connection)),
            (None, Err(error)) => {
                Err(KubeconfigError::Unreadable(self.options.kubeconfig.clone(), error).into())
            }
            (_, Ok(text)) => {
                let connection = Arc::new(Connection::new(&self.options, text)?);
                *slot = Some(Arc::clone(&connection));
                Ok(connection)
            }
        }
    }

    /// Gives `outcome` on, and the client up if a new one may do better.
    pub(super) fn checked<T>(
        &self,
        connection: &Arc<Connection>,
        outcome: Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        if outcome.as_ref().is_err_and(ApiError::wants_new_connection) {
            self.forget(connection);
        }
        outcome
    }

    /// The next call opens a connection of its own. Another one that someone has opened meanwhile is kept.
    pub(super) fn forget(&self, connection: &Arc<Connection>) {
        let mut slot = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            *slot = None;
        }
    }
}

/// One request, before it is known over which client.
pub(super) struct Ask {
    method: Method,
    path: String,
    accept: &'static str,
    body: Option<(&'static str, String)>,
}

/// An answer whose body is still coming.
pub(super) struct Stream {
    pub(super) connection: Arc<Connection>,
    pub(super) answered: Option<Answered>,
    pub(super) response: Response,
}

impl Ask {
    pub(super) const fn new(method: Method, path: String) -> Self {
        Self { method, path, accept: "application/json", body: None }
    }

    /// Metadata only: a Node's status and images are most of it.
    pub(super) const fn partial(mut self) -> Self {
        self.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        self
    }

    /// Metadata only, of each object of a list.
    pub(super) const fn partial_list(mut self) -> Self {
        self.accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        self
    }

    /// A change of the Node, answered with its metadata.
    pub(super) fn merge(node: &NodeName, patch: &serde_json::Value) -> Self {
        Self::new(Method::PATCH, path(node)).partial().with("application/merge-patch+json", patch.to_string())
    }

    pub(super) fn with(mut self, content_type: &'static str, body: String) -> Self {
        self.body = Some((content_type, body));
        self
    }

    fn on(&self, connection: &Connection) -> Result<RequestBuilder, KubeconfigError> {
        let request = connection.request(self.method.clone(), &self.path)?.header(ACCEPT, self.accept);
        Ok(match &self.body {
            Some((content_type, body)) => request.header(CONTENT_TYPE, *content_type).body(body.clone()),
            None => request,
        })
    }
}

/// Sends, and returns as soon as the head of a 2xx answer is here.
async fn opened(host: &str, request: RequestBuilder) -> Result<(Option<Answered>, Response), ApiError> {
    let sent = clocks::read().boot;
    let response = request.send().await.map_err(|error| HttpError::from_reqwest(host, error))?;
    let received = clocks::read().boot;
    if !response.status().is_success() {
        let code = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let message = message(&body(host, response, BODY_LIMIT).await?);
        return Err(ApiError::from_status(code, message, retry_after.map(Duration::from_secs)));
    }
    let date = response.headers().get(DATE).and_then(|value| date(value.to_str().ok()?));
    Ok((date.map(|date| Answered { date, sent, received }), response))
}

pub(super) fn path(node: &NodeName) -> String {
    format!("/api/v1/nodes/{node}")
}

/// Of the user names that client certificates of kubelets carry (Kubernetes, Node authorization).
const NODE_USER: &str = "system:node:";

/// Of a whole call, or of a watch until it is open.
pub(super) const CALL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
