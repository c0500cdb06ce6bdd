//! Pods on their way out: evictions, budgets, periods of grace.

use std::time::Duration;

use curfew_sandbox::cluster::{Cluster, STOPS_AFTER};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::bench::{Bench, ask};

const PODS: (&str, &str, &str) = ("", "v1", "pods");
const BUDGETS: (&str, &str, &str) = ("policy", "v1", "poddisruptionbudgets");
const EVICT: &str = "POST /api/v1/namespaces/default/pods/p/eviction";

/// A pod of n1 that runs, takes `stops_after` to stop and is given a minute for it.
async fn running(cluster: &Cluster, stops_after: &str) {
    let pod = json!({
        "metadata": {"name": "p", "labels": {"app": "a"}, "annotations": {STOPS_AFTER: stops_after}},
        "spec": {"nodeName": "n1", "containers": [{"name": "c"}], "terminationGracePeriodSeconds": 60},
    });
    cluster.create(PODS, "default", &pod).unwrap();
    until(|| pod_of(cluster).is_some_and(|pod| pod["status"]["phase"] == "Running")).await;
}

async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn pod_of(cluster: &Cluster) -> Option<Value> {
    cluster.object("pods", "default", "p")
}

fn budget(cluster: &Cluster, name: &str) {
    let spec = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}});
    cluster.create(BUDGETS, "default", &json!({"metadata": {"name": name}, "spec": spec})).unwrap();
}

fn status(cluster: &Cluster, name: &str, allowed: i64) {
    let status = json!({"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1 + allowed,
                        "desiredHealthy": 1, "expectedPods": 2});
    cluster.merge_patch(BUDGETS, "default", &format!("{name}/status"), &json!({"status": status})).unwrap();
}

/// Without kind or version, as the agent sends it.
fn eviction(options: &Value) -> Value {
    json!({"metadata": {"name": "p", "namespace": "default"}, "deleteOptions": options})
}

#[tokio::test]
async fn a_budget_allows_what_its_status_says_and_spends_it() {
    let bench = Bench::start().await;
    let (kubelet, cluster) = (bench.kubelet().await, &bench.cluster);
    running(cluster, "1m").await;
    budget(cluster, "b");
    let evict = async || {
        let (code, said) = ask(&kubelet, EVICT, &eviction(&json!({}))).await;
        (code, said["details"]["causes"][0].clone(), said["details"]["retryAfterSeconds"].clone())
    };
    let (code, cause, after) = evict().await;
    assert_eq!(
        (code, &cause["reason"], after),
        (429, &json!("DisruptionBudget"), json!(10)),
        "not observed yet"
    );
    status(cluster, "b", 0);
    let (code, cause, after) = evict().await;
    assert_eq!((code, after), (429, Value::Null));
    assert_eq!(cause["message"], "The disruption budget b needs 1 healthy pods and has 1 currently");
    status(cluster, "b", 1);
    assert_eq!(evict().await.0, 201);
    let spent = cluster.object("poddisruptionbudgets.policy", "default", "b").unwrap();
    assert_eq!(spent["status"]["disruptionsAllowed"], 0);
    assert!(spent["status"]["disruptedPods"]["p"].is_string());
    assert_eq!(evict().await.0, 201, "one that is being deleted asks no budget");
}

#[tokio::test]
async fn two_budgets_are_a_failure_that_comes_as_201() {
    let bench = Bench::start().await;
    let (kubelet, cluster) = (bench.kubelet().await, &bench.cluster);
    running(cluster, "0s").await;
    budget(cluster, "b");
    budget(cluster, "c");
    let (code, said) = ask(&kubelet, EVICT, &eviction(&json!({}))).await;
    assert_eq!((code, &said["status"], &said["code"]), (201, &json!("Failure"), &json!(500)));
    assert!(pod_of(cluster).unwrap()["metadata"].get("deletionTimestamp").is_none());
}

#[tokio::test]
async fn a_pod_has_its_period_to_stop_and_it_can_only_be_made_shorter() {
    let bench = Bench::start().await;
    let (kubelet, cluster) = (bench.kubelet().await, &bench.cluster);
    running(cluster, "1h").await;
    let foreign = eviction(&json!({"preconditions": {"uid": "another"}}));
    assert_eq!(ask(&kubelet, EVICT, &foreign).await.0, 409);
    assert_eq!(ask(&kubelet, EVICT, &eviction(&json!({}))).await.0, 201);
    let leaving = || {
        let meta = pod_of(cluster).unwrap()["metadata"].clone();
        let until: Timestamp = meta["deletionTimestamp"].as_str().unwrap().parse().unwrap();
        (until, meta["deletionGracePeriodSeconds"].as_i64().unwrap())
    };
    let (until_first, period) = leaving();
    assert_eq!(period, 60);
    for (asked, kept) in [(90, 60), (20, 20), (30, 20)] {
        assert_eq!(ask(&kubelet, EVICT, &eviction(&json!({"gracePeriodSeconds": asked}))).await.0, 201);
        let (until, period) = leaving();
        assert_eq!((period, until_first.duration_since(until).as_secs()), (kept, 60 - kept), "{asked}");
    }
    assert_eq!(ask(&kubelet, EVICT, &eviction(&json!({"gracePeriodSeconds": 1}))).await.0, 201);
    until(|| pod_of(cluster).is_none()).await;
}

#[tokio::test]
async fn a_list_comes_in_parts_of_the_length_that_was_asked_for() {
    let bench = Bench::start().await;
    let (kubelet, cluster) = (bench.kubelet().await, &bench.cluster);
    for (namespace, name) in [("default", "b"), ("default", "a"), ("kube-system", "a")] {
        let pod =
            json!({"metadata": {"name": name}, "spec": {"nodeName": "n1", "containers": [{"name": "c"}]}});
        cluster.create(PODS, namespace, &pod).unwrap();
    }
    let list = "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1&limit=2";
    let (mut names, mut from) = (Vec::new(), String::new());
    loop {
        let (code, part) = ask(&kubelet, &format!("{list}{from}"), &Value::Null).await;
        assert_eq!(code, 200);
        let items = part["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        names.extend(items.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()));
        let Some(next) = part["metadata"]["continue"].as_str() else { break };
        from = format!("&continue={next}");
    }
    assert_eq!(names, ["a", "b", "on-n1", "a"]);
    let whole = ask(&kubelet, &format!("{list}&resourceVersion=0"), &Value::Null).await.1;
    assert_eq!(whole["items"].as_array().unwrap().len(), 4, "out of its memory, in one piece");
}
