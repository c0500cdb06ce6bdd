//! What a controller that rents meets beside leases and Nodes: Secrets, attachments, the cluster's identity.

use curfew_sandbox::cluster::Identity;
use serde_json::{Value, json};

use crate::bench::{Bench, ask};

const ATTACHMENTS: &str = "/apis/storage.k8s.io/v1/volumeattachments";

async fn code(client: &kube::Client, line: &str) -> u16 {
    ask(client, line, &Value::Null).await.0
}

#[tokio::test]
async fn a_node_is_deleted_only_by_the_uid_that_was_seen() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Controller).await;
    let (_, node) = ask(&client, "GET /api/v1/nodes/n1", &Value::Null).await;
    let by = |uid: &Value| json!({"preconditions": {"uid": uid}});
    let (code, refused) = ask(&client, "DELETE /api/v1/nodes/n1", &by(&json!("another"))).await;
    assert_eq!((code, &refused["reason"]), (409, &json!("Conflict")));
    assert!(refused["message"].as_str().unwrap().contains("Precondition failed: UID"), "{refused}");
    assert_eq!(ask(&client, "DELETE /api/v1/nodes/n1", &by(&node["metadata"]["uid"])).await.0, 200);
    assert!(bench.cluster.node("n1").is_none() && bench.cluster.node("n2").is_some());
}

#[tokio::test]
async fn a_node_is_tainted_by_a_patch_that_leaves_other_taints_alone() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Controller).await;
    let taint = |key: &str, value: &str, effect: &str| json!({"key": key, "value": value, "effect": effect});
    let other = taint("gpu", "yes", "NoSchedule");
    bench.cluster.merge_patch(("", "v1", "nodes"), "", "n1", &json!({"spec": {"taints": [other]}})).unwrap();
    let (_, node) = ask(&client, "GET /api/v1/nodes/n1", &Value::Null).await;
    let gone = taint("node.kubernetes.io/out-of-service", "nodeshutdown", "NoExecute");
    let patch = json!({"metadata": {"resourceVersion": node["metadata"]["resourceVersion"]}, "spec": {"taints": [other, gone]}});
    let (code, tainted) = ask(&client, "PATCH merge /api/v1/nodes/n1", &patch).await;
    assert_eq!((code, &tainted["spec"]["taints"]), (200, &json!([other, gone])));
    assert_eq!(ask(&client, "PATCH merge /api/v1/nodes/n1", &patch).await.0, 409, "it was read before that");
}

#[tokio::test]
async fn attachments_are_listed_for_the_controller_and_detached_by_others() {
    let bench = Bench::start().await;
    let (client, admin) = (bench.client(&Identity::Controller).await, bench.client(&Identity::Admin).await);
    let attachment = json!({"metadata": {"name": "csi-1", "finalizers": ["external-attacher/csi"]}, "spec": {
        "attacher": "csi.hetzner.cloud", "nodeName": "n1", "source": {"persistentVolumeName": "pv-1"}}});
    assert_eq!(ask(&admin, &format!("POST {ATTACHMENTS}"), &attachment).await.0, 201);
    let (code, listed) = ask(&client, &format!("GET {ATTACHMENTS}"), &Value::Null).await;
    assert_eq!((code, &listed["items"][0]["spec"]["nodeName"]), (200, &json!("n1")));
    assert_eq!(self::code(&client, &format!("DELETE {ATTACHMENTS}/csi-1")).await, 403);
    // The attacher's finalizer holds it until the volume is detached.
    assert_eq!(self::code(&admin, &format!("DELETE {ATTACHMENTS}/csi-1")).await, 200);
    assert_eq!(self::code(&admin, &format!("GET {ATTACHMENTS}/csi-1")).await, 200);
    let detached = json!({"metadata": {"finalizers": []}});
    assert_eq!(ask(&admin, &format!("PATCH merge {ATTACHMENTS}/csi-1"), &detached).await.0, 200);
    assert_eq!(self::code(&admin, &format!("GET {ATTACHMENTS}/csi-1")).await, 404);
    let volume = json!({"metadata": {"name": "pv-1"}, "spec": {
        "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "csi.hetzner.cloud", "volumeHandle": "101"}}});
    let (code, made) = ask(&admin, "POST /api/v1/persistentvolumes", &volume).await;
    assert_eq!((code, &made["spec"]["csi"]["volumeHandle"]), (201, &json!("101")));
}

#[tokio::test]
async fn the_controller_reads_secrets_of_its_own_namespace_and_the_clusters_identity() {
    let bench = Bench::start().await;
    let client = bench.client(&Identity::Controller).await;
    bench.cluster.create(("", "v1", "namespaces"), "", &json!({"metadata": {"name": "curfew"}})).unwrap();
    for namespace in ["curfew", "default"] {
        let secret = json!({"metadata": {"name": "hcloud"}, "data": {"token": "czNjcjN0"}});
        bench.cluster.create(("", "v1", "secrets"), namespace, &secret).unwrap();
    }
    let (code, secret) = ask(&client, "GET /api/v1/namespaces/curfew/secrets/hcloud", &Value::Null).await;
    assert_eq!((code, &secret["data"]["token"]), (200, &json!("czNjcjN0")));
    assert_eq!(self::code(&client, "GET /api/v1/namespaces/default/secrets/hcloud").await, 403);
    assert_eq!(self::code(&client, "GET /api/v1/secrets").await, 403);
    let (code, namespace) = ask(&client, "GET /api/v1/namespaces/kube-system", &Value::Null).await;
    assert_eq!((code, namespace["metadata"]["uid"].as_str().unwrap()), (200, bench.cluster.uid().as_str()));
    assert_eq!(self::code(&client, "GET /api/v1/namespaces/default").await, 403);
}
