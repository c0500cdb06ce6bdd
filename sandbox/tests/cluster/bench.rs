//! A cluster with two Nodes and two pods, and clients that speak to it.

use std::{collections::BTreeMap, path::Path};

use axum::http::Request;
use curfew_sandbox::cluster::{Cluster, Identity, Options};
use kube::{Client, Config, client::Body, config::Kubeconfig};
use serde_json::{Value, json};

pub(crate) struct Bench {
    pub(crate) cluster: Cluster,
    pub(crate) dir: tempfile::TempDir,
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::new(dir.path());
        change(&mut options);
        let cluster = Cluster::start(options).await.unwrap();
        for (name, server) in [("n1", "hcloud://1"), ("n2", "hcloud://2")] {
            cluster.add_node(name, server, &BTreeMap::new()).unwrap();
            let pod = json!({"metadata": {"name": format!("on-{name}")},
                             "spec": {"nodeName": name, "containers": [{"name": "c"}]}});
            cluster.create(("", "v1", "pods"), "default", &pod).unwrap();
        }
        Self { cluster, dir }
    }

    pub(crate) async fn client(&self, identity: &Identity) -> Client {
        client(&self.cluster.kubeconfig_for(identity, None).unwrap()).await
    }

    pub(crate) async fn kubelet(&self) -> Client {
        self.client(&Identity::Kubelet("n1".into())).await
    }
}

/// A client that reads the file as any client does.
pub(crate) async fn client(kubeconfig: &Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(file, &options).await.unwrap();
    // Every answer is wanted, not the last of several.
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

/// One request; the code and the body of the answer. A patch is named by its content type: `PATCH merge`.
pub(crate) async fn ask(client: &Client, request: &str, body: &Value) -> (u16, Value) {
    let words: Vec<&str> = request.split_whitespace().collect();
    let (method, path, media) = match words.as_slice() {
        ["PATCH", "apply", path] => ("PATCH", path, "application/apply-patch+yaml"),
        ["PATCH", "json", path] => ("PATCH", path, "application/json-patch+json"),
        ["PATCH", "merge", path] => ("PATCH", path, "application/merge-patch+json"),
        ["PATCH", "strategic", path] => ("PATCH", path, "application/strategic-merge-patch+json"),
        [method, path] => (*method, path, "application/json"),
        other => panic!("{other:?}"),
    };
    let bytes = if body.is_null() { vec![] } else { body.to_string().into_bytes() };
    let request = Request::builder()
        .method(method)
        .uri(*path)
        .header("content-type", media)
        .body(Body::from(bytes))
        .unwrap();
    let response = client.send(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.unwrap();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}
