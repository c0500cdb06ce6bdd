//! Faults that can be switched on, as a client meets them.

use std::time::Duration;

use axum::http::Request;
use curfew_sandbox::cluster::{Identity, Outage, Validity};
use futures::StreamExt;
use jiff::SignedDuration;
use kube::client::Body;
use serde_json::Value;

use crate::{
    bench::{Bench, ask},
    watches::{next, watch},
};

/// Long enough for an answer that would come, short enough to wait for one that does not.
const MOMENT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_stopped_server_refuses_and_cuts_and_resumes_on_its_port() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Admin).await;
    let mut events = watch(&client, "", "").await;
    next(&mut events).await;
    bench.cluster.stop().await;
    while let Some(Ok(_)) = events.next().await {}
    assert!(client.apiserver_version().await.is_err());
    bench.cluster.resume().await.unwrap();
    assert!(client.apiserver_version().await.is_ok());
    while bench.cluster.open_watches() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_hanging_server_says_nothing_on_open_and_new_connections_until_it_is_lifted() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Admin).await;
    let mut events = watch(&client, "fieldSelector=metadata.name%3Dn1", "").await;
    next(&mut events).await;
    bench.cluster.hang(true);
    bench.cluster.set_annotation("n1", "a", Some("b")).unwrap();
    assert!(tokio::time::timeout(MOMENT, events.next()).await.is_err());
    assert!(tokio::time::timeout(MOMENT, client.apiserver_version()).await.is_err());
    let fresh = bench.client(&Identity::Admin).await;
    assert!(tokio::time::timeout(MOMENT, fresh.apiserver_version()).await.is_err());
    bench.cluster.hang(false);
    assert_eq!(next(&mut events).await.0, "MODIFIED");
    assert!(fresh.apiserver_version().await.is_ok());
}

#[tokio::test]
async fn an_outage_is_answered_with_its_code_and_when_to_come_back() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Admin).await;
    for code in [429, 500, 503] {
        bench.cluster.outage(Some(Outage { code, retry_after: Some(7) }));
        let request = Request::get("/api/v1/nodes").body(Body::empty()).unwrap();
        let response = client.send(request).await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["retry-after"]),
            (code, &"7".parse().unwrap())
        );
    }
    bench.cluster.outage(None);
    assert_eq!(ask(&client, "GET /api/v1/nodes", &Value::Null).await.0, 200);
}

#[tokio::test]
async fn a_muted_watch_stays_open_and_silent_while_new_ones_speak() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Admin).await;
    let mut old = watch(&client, "fieldSelector=metadata.name%3Dn1", "").await;
    next(&mut old).await;
    bench.cluster.mute_watches();
    let mut new = watch(&client, "fieldSelector=metadata.name%3Dn1", "").await;
    next(&mut new).await;
    bench.cluster.set_annotation("n1", "a", Some("b")).unwrap();
    assert_eq!(next(&mut new).await.0, "MODIFIED");
    assert!(tokio::time::timeout(MOMENT, old.next()).await.is_err());
    bench.cluster.end_watches();
    assert!(old.next().await.is_none());
}

#[tokio::test]
async fn every_answer_is_dated_by_the_servers_own_clock() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Admin).await;
    bench.cluster.skew(SignedDuration::from_hours(-3));
    for (path, code) in [("/api/v1/nodes", 200), ("/no/such/path", 404)] {
        let response = client.send(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
        let date =
            jiff::fmt::rfc2822::parse(response.headers()["date"].to_str().unwrap()).unwrap().timestamp();
        assert_eq!(response.status(), code);
        assert!(bench.cluster.now().duration_since(date).abs() < SignedDuration::from_mins(5));
        // The Node was made before the clock was set back.
        let node =
            bench.cluster.node("n1").unwrap()["metadata"]["creationTimestamp"].as_str().unwrap().to_owned();
        assert!(date < node.parse::<jiff::Timestamp>().unwrap() - SignedDuration::from_hours(2));
    }
}

#[tokio::test]
async fn a_server_certificate_out_of_its_time_is_refused_by_clients() {
    let bench = Bench::start().await;
    let hours = |from, until| {
        let at = |h| bench.cluster.now() + SignedDuration::from_hours(h);
        Validity { from: at(from), until: at(until) }
    };
    for (validity, good) in [(hours(-2, -1), false), (hours(1, 2), false), (hours(-1, 1), true)] {
        bench.cluster.set_server_validity(validity).unwrap();
        let client = bench.client(&Identity::Admin).await;
        assert_eq!(client.apiserver_version().await.is_ok(), good, "{validity:?}");
    }
}
