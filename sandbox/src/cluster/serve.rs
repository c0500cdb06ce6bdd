//! TLS and HTTP: from a connection to a request to bytes. Owns sockets and headers, decides nothing about
//! objects.

use std::{collections::BTreeMap, convert::Infallible, net::SocketAddr, sync::Arc};

use axum::body::{Body, to_bytes};
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::Incoming,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderValue, RETRY_AFTER, WARNING},
    http::request::Parts,
};
use hyper_util::rt::TokioIo;
use jiff::{Timestamp, fmt::rfc2822};
use rustls::pki_types::CertificateDer;
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinSet};
use tokio_rustls::TlsAcceptor;

use super::{
    api::{self, Answer, Ask},
    authz::User,
    discovery,
    fault::Gate,
    ledger::Call,
    refusal::Refusal,
    resource::{Target, Verb},
    shape::Shape,
    shared::{Shared, served},
    watch::Watch,
};

/// The real server's limit.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// Accepts connections for as long as it is polled; dropped, it cuts them all.
pub(crate) async fn serve(shared: Arc<Shared>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    let gate = Gate { stream, faults: shared.faults.clone() };
                    connections.spawn(converse(shared.clone(), gate));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// A fresh listener on the same port, whatever state old connections on it are in.
pub(crate) async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

async fn converse(shared: Arc<Shared>, gate: Gate) {
    // A client that breaks off mid-handshake or mid-request is its own business.
    let Ok(stream) = TlsAcceptor::from(shared.tls()).accept(gate).await else { return };
    let chain: Arc<[CertificateDer<'static>]> = stream
        .get_ref()
        .1
        .peer_certificates()
        .map(|chain| chain.iter().cloned().map(CertificateDer::into_owned).collect())
        .unwrap_or_default();
    let service = hyper::service::service_fn(move |request| {
        let (shared, chain) = (shared.clone(), chain.clone());
        async move { Ok::<_, Infallible>(respond(&shared, &chain, request).await) }
    });
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(
    shared: &Arc<Shared>,
    chain: &[CertificateDer<'static>],
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let now = shared.now();
    let user = who(shared, chain, &parts.headers, now);
    let place = shared.record(call(&parts, user.as_ref(), now));
    let body = to_bytes(Body::new(body), MAX_BODY).await;
    let result = match (shared.faults.outage(), user, body) {
        (Some(outage), ..) => Err(Refusal::fault(outage.code, outage.retry_after)),
        (None, None, _) => Err(Refusal::unauthorized()),
        (None, Some(_), Err(_)) => Err(Refusal::bad_request("the body of the request could not be read")),
        (None, Some(user), Ok(body)) => decide(shared, &user, &parts, &body, place, now),
    };
    let mut response = result.unwrap_or_else(|refusal| refused(&refusal));
    let length = hyper::body::Body::size_hint(response.body()).exact().unwrap_or(0);
    shared.settle(place, response.status().as_u16(), usize::try_from(length).unwrap_or(usize::MAX));
    if let Some(date) = http_date(shared.now()) {
        response.headers_mut().insert(DATE, date);
    }
    response
}

/// `None`: whoever this is, the credential is not good.
fn who(shared: &Shared, chain: &[CertificateDer<'_>], headers: &HeaderMap, now: Timestamp) -> Option<User> {
    if !chain.is_empty() {
        return shared.authority.user(chain, now);
    }
    // No tokens are issued here, so none is good.
    (!headers.contains_key(AUTHORIZATION)).then(User::anonymous)
}

fn call(parts: &Parts, user: Option<&User>, at: Timestamp) -> Call {
    let path = parts.uri.path();
    let target = Target::parse(path);
    let watch = query(parts).get("watch").is_some_and(|v| is_true(v));
    let verb = target.as_ref().and_then(|t| Verb::of(parts.method.as_str(), t.name.is_some(), watch));
    let target = target.unwrap_or_else(|| Target { plural: path.into(), ..Target::default() });
    Call {
        at,
        user: user.map(|u| u.name.clone()).unwrap_or_default(),
        verb: verb.map_or_else(|| parts.method.as_str().to_lowercase(), |v| v.as_str().into()),
        group: target.group,
        resource: target.plural,
        subresource: target.subresource,
        namespace: target.namespace,
        name: target.name,
        query: parts.uri.query().unwrap_or_default().into(),
        code: 0,
        bytes: 0,
    }
}

fn is_true(value: &str) -> bool {
    matches!(value, "true" | "1" | "")
}

fn query(parts: &Parts) -> BTreeMap<String, String> {
    axum::extract::Query::try_from_uri(&parts.uri).map(|q| q.0).unwrap_or_default()
}

fn header<'a>(parts: &'a Parts, name: &hyper::header::HeaderName) -> &'a str {
    parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn decide(
    shared: &Arc<Shared>,
    user: &User,
    parts: &Parts,
    body: &[u8],
    place: usize,
    now: Timestamp,
) -> Result<Response<Body>, Refusal> {
    let path = parts.uri.path();
    let Some(target) = Target::parse(path) else {
        let resources = shared.read(served);
        return discovery::answer(path, parts.method.as_str(), header(parts, &ACCEPT), user, &resources)
            .map(|document| json(StatusCode::OK, &document));
    };
    let query = query(parts);
    let watch = query.get("watch").is_some_and(|v| is_true(v));
    let verb = Verb::of(parts.method.as_str(), target.name.is_some(), watch)
        .ok_or_else(Refusal::method_not_allowed)?;
    let shape = Shape::accepted(header(parts, &ACCEPT))?;
    let content_type = header(parts, &CONTENT_TYPE);
    let ask = Ask { user, verb, target: &target, query: &query, content_type, body, now };
    let (resource, answer) = shared.write(|store| {
        let fits = |r: &super::resource::Resource| {
            r.is(&target.group, &target.plural) && r.version == target.version
        };
        let resource = served(store).into_iter().find(fits).ok_or_else(Refusal::no_such_path)?;
        let answer = api::answer(store, &resource, &ask, shared.rules())?;
        Ok((resource, answer))
    })?;
    Ok(match answer {
        Answer::Object { code, object, dropped } => {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::OK);
            let mut response = json(status, &shape.object(&resource, object, now));
            for path in dropped {
                if let Ok(value) = HeaderValue::from_str(&format!("299 - \"unknown field \\\"{path}\\\"\"")) {
                    response.headers_mut().append(WARNING, value);
                }
            }
            response
        }
        Answer::List { items, revision, next } => {
            json(StatusCode::OK, &shape.list(&resource, &items, (revision, next), now))
        }
        Answer::Watch(selector) => {
            let watch = Watch::open(shared, &resource, &target.namespace, selector, shape, &query, place)?;
            let mut response = Response::new(Body::from_stream(watch.stream()));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
    })
}

fn json(code: StatusCode, document: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(document.to_string()));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refused(refusal: &Refusal) -> Response<Body> {
    let code = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(code, &refusal.status());
    if let Some(seconds) = refusal.retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

fn http_date(now: Timestamp) -> Option<HeaderValue> {
    let text = rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&now).ok()?;
    HeaderValue::from_str(&text).ok()
}
