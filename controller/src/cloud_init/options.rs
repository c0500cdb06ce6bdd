//! What a document is to say, in types, and which combinations make no sense.

use std::net::Ipv4Addr;

use jiff::SignedDuration;

use super::{
    error::Error,
    value::{AgentOption, Content, KubeletArg, Label, Mode, Network, Path, Sha256, Taint, Url},
};

/// What a document is to say.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the agent comes from.
    pub agent: Agent,
    /// The agent's own options.
    pub agent_options: Vec<AgentOption>,
    /// Where the provider's token comes from.
    pub token: Secret,
    /// Which Kubernetes, and how it joins.
    pub flavour: Flavour,
    /// Labels the Node registers with.
    pub labels: Vec<Label>,
    /// Taints the Node registers with.
    pub taints: Vec<Taint>,
    /// More arguments of the kubelet.
    pub kubelet_args: Vec<KubeletArg>,
    /// Files beside curfew's own.
    pub files: Vec<ExtraFile>,
    /// Shell, once, before anything is fetched.
    pub early_commands: Vec<String>,
    /// Shell, once, after the machine is armed and before it joins.
    pub pre_commands: Vec<String>,
    /// Shell, once, after it has joined.
    pub post_commands: Vec<String>,
    /// Where the agent goes, unless that is read-only.
    pub bin_dir: Path,
    /// Units only below /run, also where /etc could be written.
    pub transient_units: bool,
    /// For a machine without a public address.
    pub private_network: Option<PrivateNetwork>,
    /// Whether pods are kept from the metadata service.
    pub metadata_guard: bool,
    /// Whether a machine that could not be armed joins all the same.
    pub join_unarmed: bool,
    /// How long what is tried.
    pub patience: Patience,
}

/// Where the agent comes from.
#[derive(Clone, Debug)]
pub enum Agent {
    /// From the network.
    Fetch(Download),
    /// It is on the image already.
    OnImage {
        /// Where.
        path: Path,
        /// What it must be, if that is to be checked.
        sha256: Option<Sha256>,
    },
}

/// A file of the network and what it must be.
#[derive(Clone, Debug)]
pub struct Download {
    /// Where it may be had: tried in this order, in turn.
    pub urls: Vec<Url>,
    /// What it must be.
    pub sha256: Sha256,
}

/// Where a secret comes from.
#[derive(Clone, Debug)]
pub enum Secret {
    /// It lies in this file of the image, or somebody puts it there after the boot.
    OnMachine(Path),
    /// From an address that gives it out once. In the document is the address, worth nothing once it was used.
    OneTime(Url),
    /// In the document, for everybody who can read user-data.
    InUserData(Content),
}

/// Which Kubernetes.
#[derive(Clone, Debug)]
pub enum Flavour {
    /// None of ours: one that is on the image is held until the machine is armed, and let go.
    None,
    /// k3s, as an agent.
    K3s {
        /// The server's address, `https://…:6443`.
        server: Url,
        /// The `k3s` binary; without it the image's.
        binary: Option<Download>,
        /// The join token.
        token: Secret,
    },
    /// kubeadm; `kubeadm` and `kubelet` are on the image.
    Kubeadm {
        /// The `JoinConfiguration`, which holds the join token.
        configuration: Secret,
    },
}

/// A file to be written.
#[derive(Clone, Debug)]
pub struct ExtraFile {
    /// Where.
    pub path: Path,
    /// Its permissions.
    pub mode: Mode,
    /// What is in it.
    pub content: Content,
}

/// The network of a machine without a public address.
#[derive(Clone, Debug)]
pub struct PrivateNetwork {
    /// The Node's address is the machine's own in here.
    pub network: Network,
    /// The default route, where nothing else sets one: the provider's API must be reachable.
    pub gateway: Option<Ipv4Addr>,
}

/// How long what is tried before a stage has failed. It is begun again a minute later, for ever.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// One attempt to fetch a file.
    pub attempt: SignedDuration,
    /// All attempts together.
    pub download: SignedDuration,
    /// Until the agent is armed.
    pub armed: SignedDuration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempt: SignedDuration::from_mins(2),
            download: SignedDuration::from_mins(15),
            armed: SignedDuration::from_mins(10),
        }
    }
}

impl Options {
    /// Refuses what contradicts itself.
    pub(super) fn check(&self) -> Result<(), Error> {
        let reveals = self.secrets().any(|secret| matches!(secret, Secret::InUserData(_)));
        if reveals && !self.metadata_guard {
            return Err(Error::Contradiction(
                "a secret in user-data needs the metadata guard: without it every pod can read it",
            ));
        }
        if let Some(path) = self.used_by_the_agent().find(|path| path.is_hidden_from_services()) {
            return Err(Error::Hidden(path.to_string()));
        }
        let is_open = |secret: &Secret| matches!(secret, Secret::OneTime(url) if !url.is_private());
        if self.secrets().any(is_open) {
            return Err(Error::PlainSecret);
        }
        Ok(())
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if matches!(self.token, Secret::InUserData(_)) {
            warnings.push(
                "the provider's token is in this document, or will be. Root on the machine, every host-network process of root, the \
                 provider, and whoever keeps this text can read it, and with it delete everything in its project"
                    .into(),
            );
        }
        if let Some(Secret::InUserData(_)) = self.join_secret() {
            warnings.push(
                "the cluster's join secret is in this document: who reads it can add Nodes for as long as it is valid"
                    .into(),
            );
        }
        if self.join_unarmed {
            warnings.push(
                "a machine that cannot be armed joins all the same, and may bill without an end".into(),
            );
        }
        warnings
    }

    pub(super) fn join_secret(&self) -> Option<&Secret> {
        match &self.flavour {
            Flavour::None => None,
            Flavour::K3s { token: secret, .. } | Flavour::Kubeadm { configuration: secret } => Some(secret),
        }
    }

    /// Where the sandboxed units must find what the document names.
    fn used_by_the_agent(&self) -> impl Iterator<Item = &Path> {
        let token = if let Secret::OnMachine(path) = &self.token { Some(path) } else { None };
        let on_image = if let Agent::OnImage { path, .. } = &self.agent { Some(path) } else { None };
        [&self.bin_dir].into_iter().chain(token).chain(on_image)
    }

    fn secrets(&self) -> impl Iterator<Item = &Secret> {
        std::iter::once(&self.token).chain(self.join_secret())
    }
}
