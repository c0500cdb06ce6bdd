use super::*;
use crate::{
    net::testing::Reply,
    node::testing::{Machine, n1, node, status},
};
use std::time::Duration;

fn pod(name: &str) -> Pod {
    Pod {
        namespace: "default".into(),
        name: name.into(),
        uid: format!("uid-{name}"),
        is_the_machines: false,
        leaving: None,
    }
}

#[tokio::test]
async fn the_whole_node_tells_whether_it_is_cordoned() {
    for (spec, cordoned) in
        [(r#""spec":{"unschedulable":true}"#, true), (r#""spec":{}"#, false), (r#""status":{}"#, false)]
    {
        let machine = Machine::new();
        let whole = node("17", "{}").replacen('{', &format!("{{{spec},"), 1);
        let server = machine.api_server(move |_| Reply::ok(whole.clone())).await;
        let (seen, _asked, unschedulable) = machine.api().look(&n1()).await.unwrap();
        assert_eq!((seen.resource_version.as_str(), unschedulable), ("17", cordoned));
        assert!(server.asked()[0].head.contains("accept: application/json\r\n"));
    }
}

#[tokio::test]
async fn cordon_and_mark_are_one_write_that_spares_what_has_changed_meanwhile() {
    let machine = Machine::new();
    let marked = r#"{"curfew.dev/cordoned-for":"2026-05-01T13:00:00Z"}"#;
    let server = machine.api_server(move |_| Reply::ok(node("18", marked))).await;
    let seen = machine.api().cordon_for(&n1(), "17", "2026-05-01T13:00:00Z").await.unwrap();
    assert_eq!(seen.cordoned_for.as_deref(), Some("2026-05-01T13:00:00Z"));
    machine.api().uncordon(&n1(), "18").await.unwrap();
    let asked = server.asked();
    assert_eq!(
        asked[0].body,
        r#"{"metadata":{"annotations":{"curfew.dev/cordoned-for":"2026-05-01T13:00:00Z"},"resourceVersion":"17"},"spec":{"unschedulable":true}}"#
    );
    assert_eq!(
        asked[1].body,
        r#"{"metadata":{"annotations":{"curfew.dev/cordoned-for":null},"resourceVersion":"18"},"spec":{"unschedulable":null}}"#
    );
}

#[tokio::test]
async fn pods_are_asked_for_by_their_node_as_metadata_and_read_as_they_come() {
    let item = |name: &str| {
        format!(r#"{{"metadata":{{"namespace":"default","name":"{name}","uid":"uid-{name}"}}}}"#)
    };
    let list = format!(r#"{{"metadata":{{}},"items":[{},{}]}}"#, item("a"), item("b"));
    for (body, expected) in [
        (list.clone(), Some(vec![pod("a"), pod("b")])),
        (r#"{"items":null}"#.into(), Some(vec![])),
        (list[..list.len() - 2].to_owned(), None),
        ("<html>".into(), None),
        (r#"{"items":[{"metadata":{}}]}"#.into(), None),
    ] {
        let machine = Machine::new();
        let text = body.clone();
        let server = machine.api_server(move |_| Reply::ok(text.clone())).await;
        assert_eq!(machine.api().pods(&n1()).await.ok(), expected, "{body}");
        let head = &server.asked()[0].head;
        let query = "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1%2Cstatus.phase!%3DSucceeded%2Cstatus.phase!%3DFailed&resourceVersion=0 HTTP";
        assert!(head.starts_with(query), "{head}");
        assert!(head.contains("as=PartialObjectMetadataList"));
    }
}

#[tokio::test]
async fn a_list_of_pods_that_never_ends_is_not_taken_into_memory() {
    let machine = Machine::new();
    let item = r#"{"metadata":{"namespace":"default","name":"p","uid":"u"}},"#;
    let endless = format!(r#"{{"items":[{}"#, item.repeat(40_000));
    let _server = machine.api_server(move |_| Reply::ok(endless.clone())).await;
    let error = machine.api().pods(&n1()).await.unwrap_err();
    assert!(matches!(error, ApiError::Reach(HttpError::TooLarge { .. })), "{error:?}");
}

#[tokio::test]
async fn an_eviction_names_the_very_pod_and_leaves_its_period_alone_unless_told() {
    let machine = Machine::new();
    let server = machine.api_server(|_| Reply::ok(r#"{"kind":"Status","status":"Success"}"#)).await;
    machine.api().evict(&pod("a"), None).await.unwrap();
    machine.api().evict(&pod("a"), Some(7)).await.unwrap();
    let asked = server.asked();
    assert!(asked[0].head.starts_with("POST /api/v1/namespaces/default/pods/a/eviction HTTP"));
    assert_eq!(
        asked[0].body,
        r#"{"deleteOptions":{"preconditions":{"uid":"uid-a"}},"metadata":{"name":"a","namespace":"default"}}"#
    );
    assert!(asked[1].body.contains(r#""gracePeriodSeconds":7"#), "{}", asked[1].body);
}

#[tokio::test]
async fn a_budgets_refusal_says_when_to_come_back_and_keeps_the_connection() {
    let machine = Machine::new();
    let server = machine
        .api_server(|_| Reply::Whole {
            status: "429 Too Many Requests",
            headers: "Retry-After: 10\r\n",
            body: r#"{"kind":"Status","status":"Failure","message":"budget"}"#.into(),
        })
        .await;
    let api = machine.api();
    machine.rotate();
    for _ in 0..2 {
        let error = api.evict(&pod("a"), None).await.unwrap_err();
        let busy = matches!(&error, ApiError::Busy { retry_after: Some(after), message }
            if *after == Duration::from_secs(10) && message == "budget");
        assert!(busy, "{error:?}");
        machine.rotate();
    }
    let shown: Vec<_> = server.asked().into_iter().map(|asked| asked.client).collect();
    assert_eq!(shown[0], shown[1], "a second handshake");
}

#[tokio::test]
async fn a_created_failure_is_a_failure() {
    let machine = Machine::new();
    let body = r#"{"kind":"Status","status":"Failure","code":500,"message":"more than one budget"}"#;
    let _server = machine
        .api_server(move |_| Reply::Whole { status: "201 Created", headers: "", body: body.into() })
        .await;
    let error = machine.api().evict(&pod("a"), None).await.unwrap_err();
    assert!(matches!(error, ApiError::Status { code: 500, .. }), "{error:?}");
    let machine = Machine::new();
    let _server = machine.api_server(|_| status("404 Not Found", "pods \\\"a\\\" not found")).await;
    assert!(matches!(machine.api().evict(&pod("a"), None).await, Err(ApiError::NotFound { .. })));
}
