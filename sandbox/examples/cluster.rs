//! Runs the loopback cluster until interrupted, with two Nodes and a pod: `cargo run -p sandbox --example
//! cluster [DIR] [CRD.json]`. Prints the path of the administrator's kubeconfig, then that of n1's kubelet.

use std::collections::BTreeMap;

use curfew_sandbox::cluster::{Cluster, Identity, KeyForm, NodeForm, Options};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let dir = arguments.next().map_or_else(|| std::env::temp_dir().join("curfew-cluster"), Into::into);
    let mut options = Options::new(&dir);
    if let Some(definition) = arguments.next() {
        options.definitions.push(serde_json::from_slice(&std::fs::read(definition)?)?);
    }
    let cluster = Cluster::start(options).await?;
    for (name, server) in [("n1", "hcloud://1"), ("n2", "hcloud://2")] {
        cluster.add_node(name, server, &BTreeMap::new())?;
    }
    let pod = json!({"metadata": {"name": "p1"}, "spec": {"nodeName": "n1", "containers": [{"name": "c"}]}});
    cluster.create(("", "v1", "pods"), "default", &pod)?;
    println!("{}", cluster.kubeconfig_for(&Identity::Admin, None)?.display());
    let form = NodeForm::Kubeadm(KeyForm::Sec1);
    println!("{}", cluster.kubelet_files("n1", &dir.join("n1"), form, None)?.display());
    tokio::signal::ctrl_c().await?;
    Ok(())
}
