use std::fs;

use super::*;
use crate::{
    net::testing::{Asked, Reply, Server},
    node::testing::{Machine, n1, node, status},
    time::Wall,
};

const DEADLINE: &str =
    r#"{"curfew.dev/deadline":"2026-05-01T13:00:00Z","curfew.dev/deadline-for":"hcloud://42","x":"y"}"#;

fn dated(body: String) -> Reply {
    Reply::Whole { status: "200 OK", headers: "Date: Fri, 01 May 2026 12:00:07 GMT\r\n", body }
}

fn wall(text: &str) -> Wall {
    text.parse::<jiff::Timestamp>().unwrap().into()
}

/// The certificate of the connection a request came over: one handshake, one look at the file.
fn shown_by(asked: &Asked) -> Vec<u8> {
    asked.client.as_ref().expect("a client certificate").to_vec()
}

fn der(pem: &str) -> Vec<u8> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
}

#[tokio::test]
async fn a_consistent_read_tells_the_deadline_and_the_servers_time() {
    let machine = Machine::new();
    let server = machine.api_server(|_| dated(node("17", DEADLINE))).await;
    let before = clocks::read().boot;
    let seen = machine.api().read(&n1()).await.unwrap();
    let answered = seen.answered.unwrap();
    assert_eq!(seen.deadline.as_deref(), Some("2026-05-01T13:00:00Z"));
    assert_eq!(seen.deadline_for.as_deref(), Some("hcloud://42"));
    assert_eq!((seen.resource_version.as_str(), seen.uid.as_str(), seen.deleted), ("17", "u-1", false));
    assert_eq!(answered.date, wall("2026-05-01T12:00:07Z"));
    assert!(before <= answered.sent && answered.sent <= answered.received);
    let asked = &server.asked()[0];
    assert!(asked.head.starts_with("GET /api/v1/nodes/n1 HTTP/1.1\r\n"), "{}", asked.head);
    assert!(asked.head.contains("accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1\r\n"));
}

#[tokio::test]
async fn a_heartbeat_is_one_merge_patch_of_one_annotation_and_tells_the_deadline_too() {
    let machine = Machine::new();
    let server = machine.api_server(|_| dated(node("18", DEADLINE))).await;
    let seen = machine.api().beat(&n1(), r#"{"v":1,"at":"…"}"#).await.unwrap();
    assert_eq!(seen.deadline.as_deref(), Some("2026-05-01T13:00:00Z"));
    assert!(seen.answered.is_some());
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].head.starts_with("PATCH /api/v1/nodes/n1 HTTP/1.1\r\n"));
    assert!(asked[0].head.contains("content-type: application/merge-patch+json\r\n"));
    assert_eq!(
        asked[0].body,
        r#"{"metadata":{"annotations":{"curfew.dev/heartbeat":"{\"v\":1,\"at\":\"…\"}"}}}"#
    );
}

#[tokio::test]
async fn the_credential_says_which_node_this_is() {
    for (username, expected) in [
        ("system:node:n1", Some("n1")),
        ("system:node:../x", None),
        ("system:node:", None),
        ("kubernetes-admin", None),
    ] {
        let machine = Machine::new();
        let body = format!(r#"{{"status":{{"userInfo":{{"username":"{username}","groups":[]}}}}}}"#);
        let server = machine.api_server(move |_| Reply::ok(body.clone())).await;
        let name = machine.api().whoami().await.ok();
        assert_eq!(name.as_ref().map(NodeName::as_str), expected, "{username}");
        assert!(server.asked()[0].body.contains("SelfSubjectReview"));
    }
}

#[tokio::test]
async fn each_refusal_is_told_apart_and_none_of_them_tells_the_time() {
    for (code, is) in [
        ("401 Unauthorized", (|e| matches!(e, ApiError::Unauthorized { .. })) as fn(&ApiError) -> bool),
        ("403 Forbidden", |e| matches!(e, ApiError::Forbidden { .. })),
        ("404 Not Found", |e| matches!(e, ApiError::NotFound { .. })),
        ("500 Internal Server Error", |e| matches!(e, ApiError::Status { code: 500, .. })),
        ("301 Moved Permanently", |e| matches!(e, ApiError::Status { code: 301, .. })),
    ] {
        let machine = Machine::new();
        let _server = machine.api_server(move |_| status(code, "no\\nway")).await;
        let error = machine.api().read(&n1()).await.unwrap_err();
        assert!(is(&error), "{error:?}");
        assert!(error.to_string().contains("(no way)"), "{error}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_this_node_is_refused() {
    let other = node("1", "{}").replace("\"n1\"", "\"n2\"");
    let versionless = node("", "{}");
    let odd = node("1&watch=0", "{}");
    let numbers = node("1", r#"{"curfew.dev/deadline":17}"#);
    for body in [String::new(), "<html>".into(), "{}".into(), other, versionless, odd, numbers] {
        let machine = Machine::new();
        let text = body.clone();
        let _server = machine.api_server(move |_| Reply::ok(text.clone())).await;
        let error = machine.api().read(&n1()).await.unwrap_err();
        assert!(matches!(error, ApiError::Malformed { .. }), "{body}: {error:?}");
    }
}

#[tokio::test]
async fn calls_share_a_connection_and_ask_once_each() {
    let machine = Machine::new();
    let server = machine.api_server(|_| dated(node("1", "{}"))).await;
    let api = machine.api();
    let first = machine.rotate();
    api.read(&n1()).await.unwrap();
    machine.rotate();
    for _ in 0..3 {
        api.beat(&n1(), "{}").await.unwrap();
    }
    let asked = server.asked();
    assert_eq!(asked.len(), 4);
    assert!(asked.iter().all(|asked| shown_by(asked) == der(&first)), "a second handshake");
}

#[tokio::test]
async fn a_rotated_certificate_is_picked_up_by_the_next_connection() {
    let machine = Machine::new();
    let server = machine
        .api_server(|asked| {
            if asked.head.contains("PATCH") {
                status("401 Unauthorized", "expired")
            } else {
                dated(node("1", "{}"))
            }
        })
        .await;
    let api = machine.api();
    api.read(&n1()).await.unwrap();
    let second = machine.rotate();
    // The old connection is refused, which ends it.
    assert!(matches!(api.beat(&n1(), "{}").await, Err(ApiError::Unauthorized { .. })));
    api.read(&n1()).await.unwrap();
    assert_eq!(shown_by(server.asked().last().unwrap()), der(&second));
}

#[tokio::test]
async fn no_session_is_resumed_since_that_would_keep_the_old_certificate() {
    let machine = Machine::new();
    let closing = |_: &Asked| Reply::Whole {
        status: "200 OK",
        headers: "Connection: close\r\n",
        body: node("1", "{}"),
    };
    let server = machine.api_server(closing).await;
    let api = machine.api();
    for _ in 0..3 {
        let certificate = machine.rotate();
        api.read(&n1()).await.unwrap();
        assert_eq!(shown_by(server.asked().last().unwrap()), der(&certificate));
    }
}

#[tokio::test]
async fn torn_credential_files_fail_the_handshake_and_the_next_attempt_works() {
    let machine = Machine::new();
    let server = machine.api_server(|_| dated(node("1", "{}"))).await;
    let api = machine.api();
    let client = machine.dir.path().join("client.pem");
    let whole = fs::read_to_string(&client).unwrap();
    let other = machine.ca.client("system:node:n1");
    let certificate_only = whole[..whole.find("-----BEGIN PRIVATE").unwrap()].to_owned();
    let strangers = format!("{}{}", other.certificate, &whole[certificate_only.len()..]);
    for torn in [String::new(), whole[..200].to_owned(), certificate_only, strangers] {
        fs::write(&client, torn).unwrap();
        let error = api.read(&n1()).await.unwrap_err();
        let ApiError::Reach(HttpError::Tls { fault, .. }) = &error else { panic!("{error:?}") };
        assert!(fault.to_string().contains("client.pem"), "{fault}");
        assert!(server.asked().is_empty(), "it went out as an anonymous request");
    }
    fs::write(&client, whole).unwrap();
    api.read(&n1()).await.unwrap();
}

#[tokio::test]
async fn an_expired_certificate_of_the_clusters_own_authority_is_accepted_and_reported() {
    let machine = Machine::new();
    let pair = machine.ca.server("127.0.0.1", (2020, 2021));
    let server = Server::tls(&pair, &machine.ca, |_| dated(node("1", "{}"))).await;
    machine.point_at(&server);
    let api = machine.api();
    api.read(&n1()).await.unwrap();
    assert!(api.options.dates_ignored.is_current());
}

#[tokio::test]
async fn the_certificate_may_carry_the_kubeconfigs_server_name_instead_of_the_addresss() {
    let machine = Machine::new();
    let pair = machine.ca.server("api.internal", (2020, 2040));
    let server = Server::tls(&pair, &machine.ca, |_| dated(node("1", "{}"))).await;
    machine.point_at(&server);
    let api = machine.api();
    assert!(matches!(api.read(&n1()).await, Err(ApiError::Reach(HttpError::Tls { .. }))));
    let text = fs::read_to_string(&api.options.kubeconfig).unwrap();
    let named = text.replace("{server:", "{tls-server-name: api.internal, server:");
    fs::write(&api.options.kubeconfig, named).unwrap();
    api.read(&n1()).await.unwrap();
}

#[tokio::test]
async fn a_replaced_authority_and_a_moved_server_need_no_restart() {
    let mut machine = Machine::new();
    let _old = machine.api_server(|_| dated(node("1", "{}"))).await;
    let api = machine.api();
    assert_eq!(api.read(&n1()).await.unwrap().resource_version, "1");
    let next = Machine::new();
    fs::copy(next.dir.path().join("ca.crt"), machine.dir.path().join("ca.crt")).unwrap();
    machine.ca = next.ca;
    machine.rotate();
    let _new = machine.api_server(|_| dated(node("2", "{}"))).await;
    assert_eq!(api.read(&n1()).await.unwrap().resource_version, "2");
}

#[tokio::test]
async fn a_kubeconfig_that_appears_late_or_goes_away_is_no_reason_to_give_up() {
    let machine = Machine::new();
    let api = machine.api();
    let error = api.read(&n1()).await.unwrap_err();
    assert!(matches!(&error, ApiError::Kubeconfig(KubeconfigError::Unreadable(..))), "{error:?}");
    let _server = machine.api_server(|_| dated(node("1", "{}"))).await;
    api.read(&n1()).await.unwrap();
    fs::remove_file(machine.dir.path().join("kubelet.conf")).unwrap();
    api.read(&n1()).await.unwrap();
}

#[test]
fn a_date_header_is_read_to_the_second_and_anything_else_is_none() {
    assert_eq!(date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(wall("1994-11-06T08:49:37Z")));
    for header in ["", "now", "784111777", "Sun, 06 Nov 1994", "Sun, 99 Nov 1994 08:49:37 GMT"] {
        assert_eq!(date(header), None, "{header}");
    }
}
