//! What a kubelet's credential may do: the table that was probed on a real API server.

use curfew_sandbox::cluster::{Cluster, Identity, KeyForm, NodeForm, NodeReads, User, Validity};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::bench::{Bench, ask, client};

const NODE: &str = "/api/v1/nodes/n1";
const OTHER: &str = "/api/v1/nodes/n2";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn meta(meta: &Value) -> Value {
    json!({"metadata": meta})
}

/// For server-side apply.
fn node(name: &str, meta: &Value) -> Value {
    let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": meta});
    node["metadata"]["name"] = name.into();
    node
}

fn armed() -> Value {
    json!({"status": {"conditions": [{"type": "Armed", "status": "True", "reason": "r", "message": ""}]}})
}

/// Request, body, code. Each is asked of a fresh cluster.
fn table() -> Vec<(String, Value, u16)> {
    let annotation = json!({"annotations": {"curfew.dev/heartbeat": "x"}});
    let apply = |path: &str| format!("PATCH apply {path}?fieldManager=t&force=true");
    let event =
        json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Node", "name": "n1"}, "reason": "r"});
    let eviction =
        |name: &str| json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
    let access = json!({"spec": {"resourceAttributes": {"verb": "list", "resource": "nodes"}}});
    let owner = json!({"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n2", "uid": "u"}]});
    let mut applied_condition = armed();
    applied_condition["apiVersion"] = "v1".into();
    applied_condition["kind"] = "Node".into();
    let row = |request: &str, body: Value, code| (request.to_owned(), body, code);
    let none = Value::Null;
    vec![
        row("POST /api/v1/nodes", meta(&json!({"name": "n1"})), 409),
        row("POST /api/v1/nodes", meta(&json!({"name": "n3"})), 403),
        row(&format!("GET {NODE}"), none.clone(), 200),
        row(&format!("GET {OTHER}"), none.clone(), 403),
        row(&format!("GET {NODE}/status"), none.clone(), 403),
        row("GET /api/v1/nodes", none.clone(), 403),
        row("GET /api/v1/nodes?watch=true", none.clone(), 403),
        row("GET /api/v1/nodes?labelSelector=kubernetes.io/hostname%3Dn1", none.clone(), 403),
        row("GET /api/v1/nodes?fieldSelector=metadata.name%3Dn1", none.clone(), 200),
        row("GET /api/v1/nodes?fieldSelector=metadata.name%3Dn2", none.clone(), 403),
        row(
            "GET /api/v1/nodes?fieldSelector=metadata.name%3Dn1&watch=true&timeoutSeconds=0",
            none.clone(),
            200,
        ),
        row(
            "GET /api/v1/nodes?fieldSelector=metadata.name%3Dn2&watch=true&timeoutSeconds=0",
            none.clone(),
            403,
        ),
        row(&format!("PATCH merge {NODE}"), meta(&annotation), 200),
        row(&format!("PATCH strategic {NODE}"), meta(&annotation), 200),
        row(
            &format!("PATCH json {NODE}"),
            json!([{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]),
            200,
        ),
        row(&apply(NODE), node("n1", &annotation), 200),
        row(&format!("PATCH merge {OTHER}"), meta(&annotation), 403),
        row(&apply(OTHER), node("n2", &annotation), 403),
        row(&format!("PATCH merge {NODE}"), meta(&json!({"resourceVersion": "1"})), 409),
        row(&format!("PATCH merge {NODE}"), meta(&json!({"uid": "another"})), 422),
        row(&apply(NODE), node("n1", &json!({"uid": "another"})), 409),
        row(
            &format!("PATCH merge {NODE}"),
            meta(&json!({"labels": {"curfew.dev/x": "1", "plain": "1"}})),
            200,
        ),
        row(
            &format!("PATCH merge {NODE}"),
            meta(&json!({"labels": {"node-restriction.kubernetes.io/x": "1"}})),
            403,
        ),
        row(&format!("PATCH merge {NODE}"), meta(&json!({"labels": {"kubernetes.io/unknown": "1"}})), 403),
        row(&format!("PATCH merge {NODE}"), meta(&json!({"finalizers": ["curfew.dev/x"]})), 200),
        row(&format!("PATCH merge {NODE}"), meta(&owner), 403),
        row(&format!("PATCH merge {NODE}"), json!({"spec": {"unschedulable": true}}), 200),
        row(
            &format!("PATCH merge {NODE}"),
            json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}),
            403,
        ),
        row(&format!("PATCH strategic {NODE}/status"), armed(), 200),
        row(&format!("PATCH merge {NODE}/status"), armed(), 200),
        row(&apply(&format!("{NODE}/status")), applied_condition, 200),
        row(&format!("PATCH merge {NODE}/status"), meta(&annotation), 200),
        row(&format!("DELETE {NODE}"), none.clone(), 403),
        row(&format!("POST {EVENTS}"), event, 201),
        row(&format!("GET {EVENTS}"), none.clone(), 403),
        row(&format!("GET {EVENTS}/e"), none.clone(), 403),
        row(&format!("GET {LEASES}/n1"), none.clone(), 200),
        row(&format!("PATCH merge {LEASES}/n1"), meta(&annotation), 200),
        row(&format!("PATCH merge {LEASES}/n2"), meta(&annotation), 403),
        row(&format!("GET {LEASES}"), none.clone(), 403),
        row(&format!("GET {LEASES}?watch=true"), none.clone(), 403),
        row("GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1", none.clone(), 200),
        row("GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn2", none.clone(), 403),
        row("GET /api/v1/pods", none.clone(), 403),
        row(&format!("POST {PODS}/on-n1/eviction"), eviction("on-n1"), 201),
        row(&format!("POST {PODS}/on-n2/eviction"), eviction("on-n2"), 403),
        row("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", access, 201),
        row("POST /apis/authentication.k8s.io/v1/selfsubjectreviews", json!({}), 201),
        row("GET /api/v1/namespaces/kube-system", none.clone(), 403),
        row("GET /api/v1/secrets", none, 403),
    ]
}

#[tokio::test]
async fn a_kubelet_may_do_what_it_may_in_a_real_cluster_and_nothing_else() {
    for (request, body, expected) in table() {
        let bench = Bench::start().await;
        let (code, answer) = ask(&bench.kubelet().await, &request, &body).await;
        assert_eq!(code, expected, "{request} {body}: {answer}");
    }
}

#[tokio::test]
async fn a_deleted_node_comes_back_by_apply_and_not_by_merge_patch() {
    let bench = Bench::start().await;
    bench.cluster.delete(("", "v1", "nodes"), "", "n1").unwrap();
    let kubelet = bench.kubelet().await;
    let annotation = json!({"annotations": {"a": "b"}});
    assert_eq!(ask(&kubelet, &format!("PATCH merge {NODE}"), &meta(&annotation)).await.0, 404);
    assert!(bench.cluster.node("n1").is_none());
    let apply = format!("PATCH apply {NODE}?fieldManager=t");
    assert_eq!(ask(&kubelet, &apply, &node("n1", &annotation)).await.0, 201);
    assert!(bench.cluster.node("n1").is_some());
    bench.cluster.delete(("", "v1", "nodes"), "", "n1").unwrap();
    assert_eq!(ask(&kubelet, "POST /api/v1/nodes", &meta(&json!({"name": "n1"}))).await.0, 201);
}

#[tokio::test]
async fn a_merge_patch_of_conditions_drops_ready_and_a_strategic_one_keeps_it() {
    let bench = Bench::start().await;
    let kubelet = bench.kubelet().await;
    let count =
        |cluster: &Cluster| cluster.node("n1").unwrap()["status"]["conditions"].as_array().unwrap().len();
    ask(&kubelet, &format!("PATCH strategic {NODE}/status"), &armed()).await;
    assert_eq!(count(&bench.cluster), 2);
    ask(&kubelet, &format!("PATCH merge {NODE}/status"), &armed()).await;
    assert_eq!(count(&bench.cluster), 1);
}

#[tokio::test]
async fn an_annotation_through_status_is_stored_and_a_status_through_the_object_is_not() {
    let bench = Bench::start().await;
    let kubelet = bench.kubelet().await;
    let (code, _) =
        ask(&kubelet, &format!("PATCH merge {NODE}/status"), &meta(&json!({"annotations": {"a": "b"}})))
            .await;
    assert_eq!(
        (code, &bench.cluster.node("n1").unwrap()["metadata"]["annotations"]["a"]),
        (200, &json!("b"))
    );
    let before = bench.cluster.node("n1").unwrap()["status"].clone();
    assert_eq!(ask(&kubelet, &format!("PATCH merge {NODE}"), &armed()).await.0, 200);
    assert_eq!(bench.cluster.node("n1").unwrap()["status"], before);
}

#[tokio::test]
async fn before_selectors_were_authorized_a_kubelet_read_every_node_and_wrote_its_own() {
    let bench = Bench::with(|options| options.node_reads = NodeReads::Every).await;
    let kubelet = bench.kubelet().await;
    for path in ["/api/v1/nodes", OTHER, "/api/v1/nodes?fieldSelector=metadata.name%3Dn2"] {
        assert_eq!(ask(&kubelet, &format!("GET {path}"), &Value::Null).await.0, 200, "{path}");
    }
    assert_eq!(ask(&kubelet, &format!("PATCH merge {OTHER}"), &meta(&json!({}))).await.0, 403);
}

#[tokio::test]
async fn a_certificate_that_is_expired_early_or_foreign_is_401_and_one_without_its_group_403() {
    let bench = Bench::start().await;
    let get = format!("GET {NODE}");
    let hours = |from, until| {
        let at = |h| bench.cluster.now() + SignedDuration::from_hours(h);
        Some(Validity { from: at(from), until: at(until) })
    };
    let kubelet = Identity::Kubelet("n1".into());
    for (validity, code) in [(hours(-2, -1), 401), (hours(1, 2), 401), (hours(-1, 1), 200)] {
        let file = bench.cluster.kubeconfig_for(&kubelet, validity).unwrap();
        assert_eq!(ask(&client(&file).await, &get, &Value::Null).await.0, code);
    }
    let groupless = Identity::Other(User { name: "system:node:n1".into(), groups: vec![] });
    assert_eq!(ask(&bench.client(&groupless).await, &get, &Value::Null).await.0, 403);

    let foreign = Bench::start().await;
    let text = std::fs::read_to_string(foreign.cluster.kubeconfig_for(&kubelet, None).unwrap()).unwrap();
    let own = std::fs::read_to_string(bench.cluster.kubeconfig_for(&kubelet, None).unwrap()).unwrap();
    let (head, _) = own.split_once("    client-certificate-data").unwrap();
    let (_, credential) = text.split_once("    client-certificate-data").unwrap();
    let mixed = bench.dir.path().join("mixed");
    std::fs::write(&mixed, format!("{head}    client-certificate-data{credential}")).unwrap();
    assert_eq!(ask(&client(&mixed).await, &get, &Value::Null).await.0, 401);
}

#[tokio::test]
async fn credential_files_of_every_form_are_good_before_and_after_a_rotation() {
    let bench = Bench::start().await;
    for (name, form) in [
        ("sec1", NodeForm::Kubeadm(KeyForm::Sec1)),
        ("pkcs8", NodeForm::Kubeadm(KeyForm::Pkcs8)),
        ("k3s", NodeForm::K3s),
    ] {
        let dir = bench.dir.path().join(name);
        let mut pems = Vec::new();
        for _ in 0..2 {
            let file = bench.cluster.kubelet_files("n1", &dir, form, None).unwrap();
            assert_eq!(
                ask(&client(&file).await, &format!("GET {NODE}"), &Value::Null).await.0,
                200,
                "{name}"
            );
            let current = if name == "k3s" {
                dir.join("client-kubelet.crt")
            } else {
                dir.join("pki/kubelet-client-current.pem")
            };
            pems.push(std::fs::read_to_string(current).unwrap());
        }
        assert_ne!(pems[0], pems[1]);
        assert_eq!(pems[0].contains("EC PRIVATE KEY"), name == "sec1");
    }
}
