//! A watch of one's own Node. Owns the stream: its lines, its silence, its end. Whoever calls decides what comes next.

mod lines;

use reqwest::{Method, Response};
use serde::Deserialize;
use tokio::time::timeout;

use crate::{
    clocks,
    fuse::Answered,
    net::{HttpError, client::BODY_LIMIT},
    node::{
        ApiError, NodeApi, NodeName, Seen,
        api::{Ask, Stream},
        seen::{Metadata, shortened},
    },
};
use lines::Lines;

/// What a watch tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is open. Its one time of the API server, where it told it.
    Opened(Option<Answered>),
    /// The Node was created, changed or deleted.
    Seen(Seen),
    /// Nothing has changed up to here. The next watch may begin here.
    Bookmark {
        /// Of the cluster, not of the Node.
        resource_version: String,
    },
}

/// Why a watch that was open is no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By the server, in good order: its time was up. Watch again from the last resource version.
    Closed,
    /// The resource version is too old (410). Read, then watch from there.
    Expired,
    /// Nothing came for [`crate::node::Options::silence`]: the connection may be dead. Read, then watch.
    Silent,
    /// By an event of type `ERROR`. Read, then watch.
    Failed {
        /// As an HTTP status.
        code: u16,
        /// The server's own words, shortened.
        message: String,
    },
}

impl NodeApi {
    /// Tells `on` of every change of the Node after resource version `from`, until the watch ends. To stop it, drop the
    /// future.
    ///
    /// Errors are those of opening it, of a connection that broke, and of events that cannot be read.
    pub async fn watch(
        &self,
        node: &NodeName,
        from: &str,
        mut on: impl FnMut(Event),
    ) -> Result<Ended, ApiError> {
        let Stream { connection, answered, mut response } = match self.stream(&ask(node, from)).await {
            Err(ApiError::Status { code: 410, .. }) => return Ok(Ended::Expired),
            stream => stream?,
        };
        on(Event::Opened(answered));
        let mut lines = Lines::default();
        loop {
            let line = timeout(self.options.silence, next(&connection.host, &mut response, &mut lines)).await;
            let Ok(line) = line else {
                self.forget(&connection);
                return Ok(Ended::Silent);
            };
            let Some(line) = self.checked(&connection, line)? else { return Ok(Ended::Closed) };
            match told(&line, node)? {
                Told::Event(event) => on(event),
                Told::Nothing => {}
                Told::End(ended) => return Ok(ended),
            }
        }
    }
}

fn ask(node: &NodeName, from: &str) -> Ask {
    let seconds = LONGEST - clocks::read().boot.millis().unsigned_abs() % JITTER;
    let path = format!(
        "/api/v1/nodes?watch=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3D{node}\
         &resourceVersion={from}&timeoutSeconds={seconds}"
    );
    Ask::new(Method::GET, path).partial()
}

/// The next whole line, `None` after the last.
async fn next(host: &str, response: &mut Response, lines: &mut Lines) -> Result<Option<Vec<u8>>, ApiError> {
    loop {
        if let Some(line) = lines.next() {
            return Ok(Some(line));
        }
        match response.chunk().await.map_err(|error| HttpError::from_reqwest(host, error))? {
            Some(chunk) if lines.len() + chunk.len() > BODY_LIMIT => {
                return Err(HttpError::TooLarge { host: host.to_owned(), limit: BODY_LIMIT }.into());
            }
            Some(chunk) => lines.push(&chunk),
            None => return Ok(None),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Told {
    Event(Event),
    /// Of a type that later versions may bring.
    Nothing,
    End(Ended),
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    object: Object,
}

/// A Node's metadata, or a `Status`.
#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    code: u16,
    #[serde(default)]
    message: String,
}

fn told(line: &[u8], node: &NodeName) -> Result<Told, ApiError> {
    let malformed = |source| ApiError::Malformed { what: "a watch event", source: Some(source) };
    let Line { kind, object } = serde_json::from_slice(line).map_err(malformed)?;
    Ok(match kind.as_str() {
        "ADDED" | "MODIFIED" => Told::Event(Event::Seen(object.metadata.seen(node, None, false)?)),
        "DELETED" => Told::Event(Event::Seen(object.metadata.seen(node, None, true)?)),
        "BOOKMARK" => Told::Event(Event::Bookmark { resource_version: object.metadata.resource_version()? }),
        "ERROR" if object.code == 410 => Told::End(Ended::Expired),
        "ERROR" => Told::End(Ended::Failed { code: object.code, message: shortened(&object.message) }),
        _ => Told::Nothing,
    })
}

/// Seconds until the server ends a watch, at most.
const LONGEST: u64 = 660;

/// Seconds that the ends of a fleet's watches are spread over.
const JITTER: u64 = 120;

#[cfg(test)]
mod tests;
