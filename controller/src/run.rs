//! The driver: starts every task and waits until told to stop.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tracing::info;

use crate::{
    admin,
    apply::Cluster,
    args::RunArgs,
    event::{self, Events},
    identify, provider, publish,
    release::{cleanup, drain, lookup},
    renew, rent,
    shared::Shared,
    sweep, watch,
};

/// Why the controller cannot run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("failed to read the kubeconfig {0}")]
    Kubeconfig(PathBuf, #[source] Box<KubeconfigError>),
    #[error("found no way to reach a cluster: set --kubeconfig or KUBECONFIG, or run in a pod")]
    NoCluster(#[source] Box<kube::config::InferConfigError>),
    #[error("failed to set up the Kubernetes client")]
    Client(#[source] Box<kube::Error>),
    #[error("failed to listen on {0} (--admin-address; \"off\" does without)")]
    Admin(SocketAddr, #[source] std::io::Error),
    #[error("failed to set up {0}")]
    Process(&'static str, #[source] std::io::Error),
    #[error("{0} ended, which it never should")]
    Ended(&'static str),
}

/// Runs until SIGTERM or SIGINT.
pub(crate) async fn run(args: RunArgs) -> Result<(), RunError> {
    let RunArgs { kubeconfig, namespace, provider_ca, admin_address, log: _, log_format: _ } = args;
    let mut terminate = signal(SignalKind::terminate()).map_err(|e| RunError::Process("signals", e))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|e| RunError::Process("signals", e))?;
    let mut config = config(kubeconfig).await?;
    config.read_timeout = Some(SILENCE);
    config.reset_reader_on_write = true;
    info!(version = env!("CARGO_PKG_VERSION"), server = %config.cluster_url, "curfew-controller starts");
    let client = Client::try_from(config).map_err(|e| RunError::Client(Box::new(e)))?;
    let namespace = namespace.unwrap_or_else(own_namespace);
    let (shared, cluster) = (Arc::new(Shared::new()), Cluster::new(client.clone(), namespace));
    let (events, notices) = Events::new();

    let ended = tokio::select! {
        ended = serve(admin_address, Arc::clone(&shared)) => return ended,
        ended = task(watch::time(Arc::clone(&shared), client.clone())) => (ended, "the clock"),
        ended = task(watch::nodes(Arc::clone(&shared), client.clone())) => (ended, "the watch of Nodes"),
        ended = task(watch::leases(Arc::clone(&shared), client.clone())) => (ended, "the watch of leases"),
        ended = task(watch::providers(Arc::clone(&shared), client.clone())) => (ended, "the watch of providers"),
        ended = task(watch::cluster(Arc::clone(&shared), client.clone())) => (ended, "the look at kube-system"),
        ended = task(identify::run(Arc::clone(&shared), cluster.clone())) => (ended, "identification"),
        ended = task(renew::run(Arc::clone(&shared), cluster.clone())) => (ended, "renewal"),
        ended = task(watch::attachments(Arc::clone(&shared), client.clone())) => (ended, "the watch of attachments"),
        ended = task(drain::run(Arc::clone(&shared), cluster.clone(), events.clone())) => (ended, "draining"),
        ended = task(cleanup::run(Arc::clone(&shared), cluster.clone())) => (ended, "clearing away"),
        ended = task(lookup::run(Arc::clone(&shared))) => (ended, "the look for residue"),
        ended = task(provider::run(Arc::clone(&shared), cluster.clone(), events.clone(), provider_ca)) => (ended, "the look at providers"),
        ended = task(rent::run(Arc::clone(&shared), cluster.clone())) => (ended, "renting"),
        ended = task(sweep::run(Arc::clone(&shared), cluster.clone(), events.clone())) => (ended, "the sweep"),
        ended = task(publish::run(Arc::clone(&shared), cluster, events)) => (ended, "publication"),
        ended = task(event::send(client, notices)) => (ended, "the event sender"),
        _ = terminate.recv() => return stopped("SIGTERM"),
        _ = interrupt.recv() => return stopped("SIGINT"),
    };
    Err(RunError::Ended(ended.1))
}

/// In a task of its own, so that no loop can keep another from its turn.
async fn task(work: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(work).await);
}

#[expect(clippy::unnecessary_wraps, reason = "each arm of the select yields how the program ends")]
fn stopped(signal: &str) -> Result<(), RunError> {
    info!(signal, "curfew-controller stops; the machines follow the deadlines they have");
    Ok(())
}

/// The pod's own, as Kubernetes mounts it.
fn own_namespace() -> String {
    let read = std::fs::read_to_string("/var/run/secrets/kubernetes.io/serviceaccount/namespace");
    read.ok()
        .map(|text| text.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "curfew".into())
}

async fn config(path: Option<PathBuf>) -> Result<Config, RunError> {
    let Some(path) = path else {
        return Config::infer().await.map_err(|e| RunError::NoCluster(Box::new(e)));
    };
    let failed = |error| RunError::Kubeconfig(path.clone(), Box::new(error));
    let kubeconfig = Kubeconfig::read_from(&path).map_err(failed)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(failed)
}

async fn serve(address: Option<SocketAddr>, shared: Arc<Shared>) -> Result<(), RunError> {
    let Some(address) = address else { return std::future::pending().await };
    let failed = |error| RunError::Admin(address, error);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    axum::serve(listener, admin::router(shared)).await.map_err(failed)
}

/// A connection on which nothing comes for so long is dead: lists have no time-out of their own, and a watch is
/// ended by the server before.
const SILENCE: Duration = Duration::from_secs(75);
