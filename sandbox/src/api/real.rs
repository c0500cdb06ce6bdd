//! A real API server: reached directly by the stage, and through a relay by everything on the stage.
//!
//! Uses the administrator's credential for everyone. Creates the CRD, Nodes, work and a lease there, and removes all but
//! the CRD again.

mod relay;
mod work;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use k8s_openapi::{
    api::core::v1::Node, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Config, Resource,
    api::{Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use serde_json::json;

use relay::Relay;

/// The server, and the relay in front of it.
pub struct Real {
    client: Client,
    relay: Relay,
    kubeconfig: PathBuf,
}

/// Why it did not work.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// The kubeconfig.
    #[error("failed to read the kubeconfig {}", .0.display())]
    Kubeconfig(PathBuf, #[source] Box<KubeconfigError>),
    /// It names no server that could be relayed.
    #[error("the kubeconfig's current context names no server of the form https://HOST:PORT")]
    Server,
    /// The relay or its kubeconfig.
    #[error("failed to set up the relay to the API server")]
    Relay(#[from] io::Error),
    /// The API.
    #[error("the API server refused")]
    Api(#[from] Box<kube::Error>),
}

impl RealError {
    /// The HTTP status of a refusal.
    pub(in crate::api) fn code(&self) -> Option<u16> {
        match self {
            Self::Api(error) => match &**error {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            _ => None,
        }
    }

    pub(in crate::api) fn is_missing(&self) -> bool {
        self.code() == Some(NOT_FOUND)
    }
}

impl Real {
    pub(super) async fn connect(kubeconfig: &Path, dir: &Path) -> Result<Self, RealError> {
        let failed = |error| RealError::Kubeconfig(kubeconfig.to_owned(), Box::new(error));
        let mut file = Kubeconfig::read_from(kubeconfig).map_err(failed)?;
        let config = Config::from_custom_kubeconfig(file.clone(), &KubeConfigOptions::default())
            .await
            .map_err(failed)?;
        let url = config.cluster_url.clone();
        let host = url.host().ok_or(RealError::Server)?.to_owned();
        let relay = Relay::open(format!("{host}:{}", url.port_u16().unwrap_or(443))).await?;
        let current = file.current_context.clone().unwrap_or_default();
        let context = file.contexts.iter().find(|c| c.name == current).and_then(|c| c.context.clone());
        let name = context.map(|context| context.cluster).ok_or(RealError::Server)?;
        let cluster = file.clusters.iter_mut().find(|c| c.name == name).and_then(|c| c.cluster.as_mut());
        let cluster = cluster.ok_or(RealError::Server)?;
        cluster.server = Some(format!("https://{}{}", relay.address, url.path().trim_end_matches('/')));
        cluster.tls_server_name.get_or_insert_with(|| host.trim_matches(['[', ']']).to_owned());
        let relayed = dir.join("relayed.kubeconfig");
        // JSON is YAML.
        fs::write(&relayed, serde_json::to_vec(&file).map_err(io::Error::from)?)?;
        let client = Client::try_from(config).map_err(Box::new)?;
        Ok(Self { client, relay, kubeconfig: relayed })
    }

    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub(super) fn hang(&self, on: bool) {
        self.relay.hang(on);
    }

    pub(super) async fn apply_definition(
        &self,
        definition: &CustomResourceDefinition,
    ) -> Result<(), RealError> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let name = definition.meta().name.clone().unwrap_or_default();
        let written = match api.create(&PostParams::default(), definition).await {
            Err(kube::Error::Api(refused)) if refused.code == CONFLICT => {
                api.patch(&name, &PatchParams::default(), &Patch::Merge(definition)).await
            }
            created => created,
        };
        drop(written.map_err(Box::new)?);
        Ok(())
    }

    pub(super) async fn add_node(
        &self,
        name: &str,
        provider_id: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), RealError> {
        let node = json!({"metadata": {"name": name, "labels": labels}, "spec": {"providerID": provider_id}});
        let node: Node = serde_json::from_value(node).map_err(io::Error::from)?;
        self.nodes().create(&PostParams::default(), &node).await.map_err(Box::new)?;
        Ok(())
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }
}

const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;
