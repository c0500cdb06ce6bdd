//! Keeps a stage running for other programs: `kubectl`, `hcloud`, an agent under a debugger.

use std::process::ExitCode;

use crate::{
    api::Api,
    cloud::{Access, Project},
    cluster::Identity,
    stage::{Credentials, Setup, Stage, StageError},
};

/// Runs until interrupted.
pub(crate) async fn play(setup: Setup) -> Result<ExitCode, StageError> {
    let stage = Stage::set(setup).await?;
    Credentials::issue(PROVIDER, &stage.cloud, &stage.api).await?;
    let token = stage.cloud.issue_token(Project::OURS, Access::ReadWrite, "you");
    let kubeconfig = match &*stage.api {
        Api::Loopback(cluster) => {
            cluster.kubeconfig_for(&Identity::Admin, None).map_err(crate::api::ApiError::from)?
        }
        Api::Real(_) => stage.api.controller_kubeconfig()?,
    };
    println!(
        "export KUBECONFIG={} HCLOUD_ENDPOINT={} HCLOUD_TOKEN={token}",
        kubeconfig.display(),
        stage.cloud.endpoint()
    );
    eprintln!(
        "\nRunning until ctrl-c: one machine, {}, held by the lease {}. Paste the line above into another shell, then\n\
         \n  kubectl get nodes,capacitylease\n  kubectl describe node {0}\n\n\
         To rent two more, for five minutes, from the ProviderConfig that is there:\n{RENT}\n\
         Metadata of the machine: {}\nLogs: {}",
        stage.machine().name,
        stage.lease,
        stage.cloud.metadata_endpoint(stage.machine().id),
        stage.dir().display(),
    );
    std::future::pending().await
}

const PROVIDER: &str = "hetzner";
const RENT: &str = "
  kubectl apply -f - <<EOF
  apiVersion: curfew.dev/v1alpha1
  kind: CapacityLease
  metadata: {name: lab}
  spec:
    duration: 5m
    rent: {providerRef: {name: hetzner}, region: fsn1, size: cpx22, replicas: 2}
  EOF
  kubectl get capacitylease lab --watch
";
