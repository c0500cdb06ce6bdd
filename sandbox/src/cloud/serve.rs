//! The bytes: reads a call off a connection, lets the desk answer it, delivers the answer as the desk says.
//!
//! Decides nothing about meaning. Here is the only clock of the cloud.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, to_bytes};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderName, USER_AGENT};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::desk::{Answer, Call, Content, Delivery};
use super::door::Mode;
use super::list::Query;
use super::server::Created;
use super::state::{Kill, State};

type Hook = Box<dyn Fn(u64) + Send + Sync>;
type BootHook = Arc<dyn Fn(Created) + Send + Sync>;

/// What all connections share.
#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    hooks: Mutex<Vec<Hook>>,
    boot_hooks: Mutex<Vec<BootHook>>,
    /// Counts calls and changes, so that whoever waits looks again.
    pub(crate) changes: watch::Sender<u64>,
}

impl Shared {
    /// Runs `change` on the state and wakes whoever waits.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        let result = change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner), now());
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// Looks without changing, or waking anybody.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.advance(now());
        look(&state)
    }

    pub(crate) fn hook(&self, hook: Hook) {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner).push(hook);
    }

    pub(crate) fn boot_hook(&self, hook: BootHook) {
        self.boot_hooks.lock().unwrap_or_else(PoisonError::into_inner).push(hook);
    }

    /// Each hook for each server on a thread of its own: a machine that takes long to boot holds up no other.
    fn boot(&self, created: &[Created]) {
        let hooks = self.boot_hooks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (hook, server) in hooks.iter().flat_map(|hook| created.iter().map(move |server| (hook, server))) {
            let (hook, server) = (Arc::clone(hook), server.clone());
            std::thread::spawn(move || hook(server));
        }
    }

    fn kill(&self, servers: &[u64]) {
        let hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        for (hook, id) in hooks.iter().flat_map(|hook| servers.iter().map(move |id| (hook, id))) {
            hook(*id);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the cloud's one clock; everything else takes the time as an argument"
)]
fn now() -> Timestamp {
    Timestamp::now()
}

/// Machines that die when this connection has ended: their DELETE's answer is on the wire by then.
struct Farewell {
    shared: Arc<Shared>,
    servers: Mutex<Vec<u64>>,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        let servers = std::mem::take(self.servers.get_mut().unwrap_or_else(PoisonError::into_inner));
        if !servers.is_empty() {
            let shared = Arc::clone(&self.shared);
            // A hook may block, and a blocked worker can stall the whole runtime.
            std::thread::spawn(move || shared.kill(&servers));
        }
    }
}

/// Why a connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is reset on purpose")]
struct OnPurpose;

/// Serves one connection to its end. Returns the stream if it is to be reset.
pub(crate) async fn connection<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    peer: SocketAddr,
    shared: Arc<Shared>,
    mode: watch::Receiver<Mode>,
) -> Option<S> {
    let farewell = Farewell { shared: Arc::clone(&shared), servers: Mutex::default() };
    let service = service_fn(|request| answer(request, peer, &farewell, mode.clone()));
    let mut connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut closed = mode.clone();
    let result = tokio::select! {
        result = &mut connection => result,
        _ = closed.wait_for(|mode| *mode == Mode::Refuse) => return Some(connection.into_parts().io.into_inner()),
    };
    result.is_err_and(|error| error.is_user()).then(|| connection.into_parts().io.into_inner())
}

async fn answer(
    request: Request<Incoming>,
    peer: SocketAddr,
    farewell: &Farewell,
    mut mode: watch::Receiver<Mode>,
) -> Result<Response<Body>, OnPurpose> {
    let call = read(request, peer).await?;
    if *mode.borrow() != Mode::Up {
        // A request that reached a hanging provider is lost; what comes back later is a new one.
        let _ = mode.wait_for(|mode| *mode != Mode::Hang).await;
        return Err(OnPurpose);
    }
    let shared = &farewell.shared;
    let (answer, killed, kill, created) = shared.with(|state, now| {
        let answer = state.handle(&call, now);
        let created = std::mem::take(&mut state.created);
        (answer, std::mem::take(&mut state.killed), state.settings.kill, created)
    });
    shared.boot(&created);
    let last = !killed.is_empty() && kill == Kill::AfterAnswer && answer.delivery != Delivery::Never;
    if last {
        farewell.servers.lock().unwrap_or_else(PoisonError::into_inner).extend(killed);
    } else if !killed.is_empty() {
        let shared = Arc::clone(shared);
        // Runs to its end even if the caller, being killed, hangs up.
        let _ = tokio::task::spawn_blocking(move || shared.kill(&killed)).await;
    }
    match answer.delivery {
        Delivery::Now => {}
        Delivery::After(delay) => tokio::time::sleep(delay).await,
        Delivery::Never => pending::<()>().await,
        Delivery::Reset => return Err(OnPurpose),
    }
    Ok(response(answer, last))
}

async fn read(request: Request<Incoming>, peer: SocketAddr) -> Result<Call, OnPurpose> {
    let (parts, body) = request.into_parts();
    let header = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let query = reqwest::Url::parse(&format!("http://cloud{}", parts.uri)).map_err(|_| OnPurpose)?;
    Ok(Call {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        target: parts.uri.to_string(),
        query: Query(query.query_pairs().map(|(key, value)| (key.into(), value.into())).collect()),
        bearer: header(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned),
        user_agent: header(USER_AGENT).map(str::to_owned),
        body: to_bytes(Body::new(body), 1 << 20).await.map_err(|_| OnPurpose)?.to_vec(),
        peer,
    })
}

fn response(answer: Answer, last: bool) -> Response<Body> {
    let (kind, text) = match answer.content {
        Content::Json(value) => ("application/json", value.to_string()),
        Content::Html(text) => ("text/html", text.to_owned()),
        Content::Text(text) => ("text/plain; charset=utf-8", text),
    };
    let mut builder = Response::builder()
        .status(answer.status)
        .header(CONTENT_TYPE, kind)
        .header("X-Correlation-Id", answer.correlation);
    if let Some(budget) = answer.budget {
        builder = builder
            .header("RateLimit-Limit", budget.limit)
            .header("RateLimit-Remaining", budget.remaining)
            .header("RateLimit-Reset", budget.reset);
    }
    if let Some(value) = answer.retry_after {
        builder = builder.header("Retry-After", value);
    }
    if last {
        // The machine dies when the connection has ended, so it must end with this answer.
        builder = builder.header(CONNECTION, "close");
    }
    builder.body(Body::from(text)).unwrap_or_else(|_| Response::new(Body::empty()))
}
