//! Watches as clients meet them.

use std::time::Duration;

use axum::http::Request;
use curfew_sandbox::cluster::Identity;
use futures::{AsyncBufRead, AsyncBufReadExt, StreamExt, io::Lines};
use kube::Client;
use serde_json::{Value, json};

use crate::bench::{Bench, ask};

pub(crate) type Events = Lines<Box<dyn AsyncBufRead + Send + Unpin>>;

pub(crate) async fn watch(client: &Client, query: &str, accept: &str) -> Events {
    let request = Request::get(format!("/api/v1/nodes?watch=true&{query}")).header("accept", accept);
    let stream = client.request_stream(request.body(Vec::new()).unwrap()).await.unwrap();
    let stream: Box<dyn AsyncBufRead + Send + Unpin> = Box::new(Box::pin(stream));
    stream.lines()
}

/// The next event's type and object.
pub(crate) async fn next(events: &mut Events) -> (String, Value) {
    let line = tokio::time::timeout(Duration::from_secs(30), events.next()).await.expect("an event comes");
    let event: Value = serde_json::from_str(&line.expect("the watch goes on").unwrap()).unwrap();
    (event["type"].as_str().unwrap().into(), event["object"].clone())
}

fn revision(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap().into()
}

#[tokio::test]
async fn a_watch_tells_what_is_there_then_that_this_was_all_then_what_changes() {
    let bench = Bench::start().await;
    let kubelet = bench.kubelet().await;
    let query = "fieldSelector=metadata.name%3Dn1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut events =
        watch(&kubelet, query, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").await;
    let (kind, object) = next(&mut events).await;
    assert_eq!(
        (kind.as_str(), &object["kind"], &object["spec"]),
        ("ADDED", &json!("PartialObjectMetadata"), &Value::Null)
    );
    let (kind, object) = next(&mut events).await;
    assert_eq!(kind, "BOOKMARK");
    assert_eq!(object["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    bench.cluster.set_annotation("n2", "a", Some("b")).unwrap();
    bench.cluster.set_annotation("n1", "a", Some("b")).unwrap();
    let (kind, object) = next(&mut events).await;
    assert_eq!((kind.as_str(), &object["metadata"]["annotations"]["a"]), ("MODIFIED", &json!("b")));
    bench.cluster.delete(("", "v1", "nodes"), "", "n1").unwrap();
    assert_eq!(next(&mut events).await.0, "DELETED");
    assert_eq!(bench.cluster.open_watches(), 1);
}

#[tokio::test]
async fn an_idle_watch_gets_bookmarks_and_ends_at_its_timeout() {
    let bench = Bench::with(|options| options.bookmark_every = Duration::from_millis(20)).await;
    let client = bench.client(&Identity::Admin).await;
    let seen = revision(&bench.cluster.node("n2").unwrap());
    let query = format!(
        "resourceVersion={seen}&allowWatchBookmarks=true&timeoutSeconds=2&fieldSelector=metadata.name%3Dn1"
    );
    let mut events = watch(&client, &query, "").await;
    assert_eq!(next(&mut events).await.0, "BOOKMARK");
    while let Some(line) = events.next().await {
        assert!(line.unwrap().contains("BOOKMARK"));
    }
}

#[tokio::test]
async fn a_resumed_watch_misses_nothing_and_one_that_leaves_the_selection_is_deleted() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Admin).await;
    let seen = revision(&bench.cluster.node("n1").unwrap());
    for value in [Some("1"), Some("2"), None] {
        let labels = json!({"metadata": {"labels": {"pool": value}}});
        bench.cluster.merge_patch(("", "v1", "nodes"), "", "n1", &labels).unwrap();
    }
    let mut events = watch(&client, &format!("resourceVersion={seen}&labelSelector=pool"), "").await;
    for expected in ["ADDED", "MODIFIED", "DELETED"] {
        assert_eq!(next(&mut events).await.0, expected);
    }
}

#[tokio::test]
async fn after_a_restart_a_resumed_watch_is_answered_200_and_then_410() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Admin).await;
    let seen = revision(&bench.cluster.node("n2").unwrap());
    bench.cluster.restart().await.unwrap();
    let (kind, status) = next(&mut watch(&client, &format!("resourceVersion={seen}"), "").await).await;
    assert_eq!(
        (kind.as_str(), &status["code"], &status["reason"]),
        ("ERROR", &json!(410), &json!("Expired"))
    );
}

#[tokio::test]
async fn a_watch_from_the_far_future_is_silent_and_a_list_from_there_times_out() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Admin).await;
    let mut events = watch(&client, "resourceVersion=999999&timeoutSeconds=1", "").await;
    bench.cluster.set_annotation("n1", "a", Some("b")).unwrap();
    assert!(events.next().await.is_none());
    assert_eq!(ask(&client, "GET /api/v1/nodes?resourceVersion=999999", &Value::Null).await.0, 504);
}

#[tokio::test]
async fn initial_events_are_refused_without_the_match_they_need() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Admin).await;
    let (code, _) = ask(&client, "GET /api/v1/nodes?watch=true&sendInitialEvents=true", &Value::Null).await;
    assert_eq!(code, 422);
}

#[tokio::test]
async fn the_ledger_names_who_asked_what_and_how_much_was_answered() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Controller).await;
    ask(&client, "GET /api/v1/nodes/n1", &Value::Null).await;
    ask(&client, "PATCH merge /api/v1/nodes/n9/status", &json!({})).await;
    let calls = bench.cluster.calls();
    let told: Vec<_> = calls
        .iter()
        .map(|c| (c.user.as_str(), c.verb.as_str(), c.resource.as_str(), c.subresource.as_deref(), c.code))
        .collect();
    assert_eq!(
        told,
        [
            ("curfew-controller", "get", "nodes", None, 200),
            ("curfew-controller", "patch", "nodes", Some("status"), 404)
        ]
    );
    assert!(calls[0].bytes > 100);
}
