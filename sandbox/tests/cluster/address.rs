//! Where a cluster, and a cloud beside it, can be reached.

use std::{net::IpAddr, sync::Arc};

use curfew_sandbox::{
    cloud::{self, Access, Cloud, Project},
    cluster::Identity,
};
use serde_json::Value;

use crate::bench::{Bench, ask};

#[tokio::test]
async fn cluster_and_cloud_listen_where_they_are_told_and_their_certificates_say_so() {
    let listen: IpAddr = [127, 0, 0, 2].into();
    let bench = Bench::with(|options| options.listen = listen).await;
    assert!(bench.cluster.url().starts_with("https://127.0.0.2:"));
    let client = bench.client(&Identity::Admin).await;
    assert_eq!(ask(&client, "GET /api/v1/nodes", &Value::Null).await.0, 200);

    let tls = Some(Arc::new(bench.cluster.server_tls().unwrap()));
    let cloud = Cloud::start(cloud::Options { listen, tls, ..cloud::Options::default() }).await.unwrap();
    let authority = reqwest::Certificate::from_pem(bench.cluster.authority().as_bytes()).unwrap();
    let client = reqwest::Client::builder().tls_certs_only([authority]).no_proxy().build().unwrap();
    let token = cloud.issue_token(Project::OURS, Access::Read, "reader");
    let url = cloud.tls_endpoint().unwrap() + "/servers";
    assert!(url.starts_with("https://127.0.0.2:"));
    assert_eq!(client.get(url).bearer_auth(token).send().await.unwrap().status(), 200);
}
