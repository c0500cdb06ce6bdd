//! Objects as controllers and people meet them.

use axum::http::Request;
use curfew_sandbox::cluster::Identity;
use kube::client::Body;
use serde_json::{Value, json};

use crate::bench::{Bench, ask};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const LEASES: &str = "/apis/curfew.dev/v1alpha1/capacityleases";

fn definition() -> Value {
    let spec = json!({"type": "object", "required": ["duration"], "properties": {
        "duration": {"type": "string", "format": "duration",
            "x-kubernetes-validations": [{"rule": "self <= duration('720h')", "message": "too long"}]},
        "slack": {"type": "string", "format": "duration", "default": "10m"},
    }});
    let status = json!({"type": "object", "properties": {"phase": {"type": "string"}}});
    let version = json!({
        "name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
        "additionalPrinterColumns": [{"name": "Slack", "type": "string", "jsonPath": ".spec.slack"}],
    });
    let names = json!({"plural": "capacityleases", "singular": "capacitylease", "kind": "CapacityLease"});
    json!({"metadata": {"name": "capacityleases.curfew.dev"},
           "spec": {"group": "curfew.dev", "scope": "Cluster", "names": names, "versions": [version]}})
}

fn lease(duration: &str) -> Value {
    json!({"apiVersion": "curfew.dev/v1alpha1", "kind": "CapacityLease", "metadata": {"name": "a"},
           "spec": {"duration": duration}})
}

#[tokio::test]
async fn a_definition_is_established_and_then_served_as_it_says() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Admin).await;
    assert_eq!(ask(&client, &format!("POST {LEASES}"), &lease("1h")).await.0, 404);
    let (code, crd) = ask(&client, &format!("POST {CRDS}"), &definition()).await;
    assert_eq!((code, &crd["status"]["conditions"][1]["type"]), (201, &json!("Established")));
    let (code, made) = ask(&client, &format!("POST {LEASES}"), &lease("1h")).await;
    assert_eq!(
        (code, &made["spec"]["slack"], &made["metadata"]["generation"]),
        (201, &json!("10m"), &json!(1))
    );
    let (code, refused) =
        ask(&client, &format!("PATCH merge {LEASES}/a"), &json!({"spec": {"duration": "721h"}})).await;
    assert_eq!(code, 422);
    assert!(refused["message"].as_str().unwrap().contains("too long"), "{refused}");
    let (code, status) =
        ask(&client, &format!("PATCH merge {LEASES}/a/status"), &json!({"status": {"phase": "Active"}}))
            .await;
    assert_eq!((code, &status["status"]["phase"]), (200, &json!("Active")));
    assert_eq!(ask(&client, &format!("PUT {LEASES}/a"), &made).await.0, 409);
    assert_eq!(ask(&client, &format!("PATCH strategic {LEASES}/a"), &json!({})).await.0, 415);
    let strict = format!("PATCH merge {LEASES}/a?fieldValidation=Strict");
    assert_eq!(ask(&client, &strict, &json!({"spec": {"duraton": "1h"}})).await.0, 400);
    assert_eq!(ask(&client, &format!("GET {LEASES}/a/scale"), &Value::Null).await.0, 404);
    let dry = ask(&client, &format!("DELETE {LEASES}/a?dryRun=All"), &Value::Null).await;
    assert_eq!((dry.0, bench.cluster.object("capacityleases.curfew.dev", "", "a").is_some()), (200, true));
}

#[tokio::test]
async fn a_table_has_the_columns_of_the_definition() {
    let bench = Bench::with(|options| options.definitions = vec![definition()]).await;
    let client = bench.client(&Identity::Admin).await;
    ask(&client, &format!("POST {LEASES}"), &lease("1h")).await;
    let request = Request::get(LEASES)
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
    let response = client.send(request.body(Body::empty()).unwrap()).await.unwrap();
    let table: Value = serde_json::from_slice(&response.into_body().collect_bytes().await.unwrap()).unwrap();
    assert_eq!((&table["kind"], &table["rows"][0]["cells"]), (&json!("Table"), &json!(["a", "10m"])));
}

#[tokio::test]
async fn an_event_is_one_object_in_both_groups() {
    let bench = Bench::start().await;
    let kubelet = bench.kubelet().await;
    let admin = bench.client(&Identity::Admin).await;
    let event = json!({
        "metadata": {"name": "e"}, "regarding": {"kind": "Node", "name": "n1"}, "note": "said", "reason": "Check",
        "type": "Normal", "action": "Look", "eventTime": "2026-11-30T00:00:00.000000Z",
        "reportingController": "curfew", "reportingInstance": "x",
    });
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    assert_eq!(ask(&kubelet, &format!("POST {path}"), &event).await.0, 201);
    let series = json!({"series": {"count": 2, "lastObservedTime": "2026-11-30T00:00:01.000000Z"}});
    assert_eq!(ask(&kubelet, &format!("PATCH merge {path}/e"), &series).await.0, 200);
    let selected = "GET /api/v1/events?fieldSelector=involvedObject.name%3Dn1";
    let (_, list) = ask(&admin, selected, &Value::Null).await;
    assert_eq!(
        (&list["items"][0]["message"], &list["items"][0]["series"]["count"]),
        (&json!("said"), &json!(2))
    );
    let (_, one) = ask(&admin, &format!("GET {path}/e"), &Value::Null).await;
    assert_eq!((&one["note"], &one["apiVersion"]), (&json!("said"), &json!("events.k8s.io/v1")));
}

#[tokio::test]
async fn what_is_not_supported_is_refused_and_never_quietly() {
    let bench = Bench::start().await;
    let admin = bench.client(&Identity::Admin).await;
    for (request, code) in [
        ("GET /api/v1/configmaps", 404),
        ("DELETE /api/v1/nodes", 405),
        ("DELETE /api/v1/namespaces/default", 405),
        ("GET /api/v1/nodes?fieldSelector=spec.providerID%3Dx", 400),
        ("GET /api/v1/nodes/n1/proxy", 404),
        ("PATCH apply /api/v1/nodes/n1", 422),
        ("PATCH merge /api/v1/nodes/n1?force=true", 422),
        ("POST /api/v1/namespaces/nowhere/pods", 404),
        ("GET /openapi/v2", 406),
    ] {
        assert_eq!(ask(&admin, request, &json!({})).await.0, code, "{request}");
    }
}
