//! The command line of `cloud-init`, as typed, and the options it means. Reads the local files that it names.

use std::{fs, net::Ipv4Addr, path::PathBuf};

use clap::{ArgGroup, Args, ValueEnum};
use jiff::SignedDuration;

use super::{
    error::{Error, Refused},
    options::{Agent, Download, ExtraFile, Flavour, Options, Patience, PrivateNetwork, Secret},
    placeholder,
    value::{AgentOption, Content, KubeletArg, Label, Mode, Network, Path, Sha256, Taint, Url},
};

/// Which Kubernetes the machine joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FlavourName {
    /// None of ours: a kubelet on the image is held until the machine is armed, and then started.
    None,
    /// k3s, as an agent.
    K3s,
    /// `kubeadm join`; kubeadm and kubelet are on the image.
    Kubeadm,
}

/// Options of `curfew-controller cloud-init`.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(group = ArgGroup::new("agent").args(["agent_url", "agent_on_image"]).required(true))]
#[command(group = ArgGroup::new("token").args(["token_on_machine", "token_url", "token_in_user_data", "token_in_lease"]))]
#[command(group = ArgGroup::new("join").args(["join_on_machine", "join_url", "join_in_user_data"]))]
pub(crate) struct CloudInitArgs {
    /// Which Kubernetes the machine joins.
    #[arg(long, value_enum)]
    flavour: FlavourName,

    /// Where curfew-agent may be fetched; several are tried in turn.
    #[arg(long, value_name = "URL", requires = "agent_sha256")]
    agent_url: Vec<Url>,
    /// What it must be.
    #[arg(long, value_name = "HEX")]
    agent_sha256: Option<Sha256>,
    /// It is on the image, here. With --agent-sha256 it is checked all the same.
    #[arg(long, value_name = "PATH")]
    agent_on_image: Option<Path>,
    /// Where it is put, unless that is read-only, full or noexec.
    #[arg(long, value_name = "DIR", default_value = "/usr/local/bin")]
    bin_dir: Path,

    /// An option of the agent, as its environment spells it; `curfew-agent run --help` names them.
    #[arg(long, value_name = "CURFEW_NAME=VALUE")]
    agent_option: Vec<AgentOption>,
    /// How long the machine may live at most, whatever anybody says (5m to 400 days).
    #[arg(long, value_name = "DURATION", value_parser = lifetime)]
    max_lifetime: Option<SignedDuration>,
    /// A template for the leases of a ProviderConfig: the controller fills in the lease, the longest life and the token of
    /// each machine that it rents.
    #[arg(long, conflicts_with = "max_lifetime")]
    for_leases: bool,
    /// Arm everything and delete nothing.
    #[arg(long)]
    observe: bool,

    /// The provider's token is in this file: of the image, or put there after the boot [default: /etc/curfew/token].
    #[arg(long, value_name = "PATH")]
    token_on_machine: Option<Path>,
    /// The provider's token comes from this address, once. An address that gives it twice is as bad as user-data.
    #[arg(long, value_name = "URL")]
    token_url: Option<Url>,
    /// The provider's token is in this local file and goes into the document. Read the README first.
    #[arg(long, value_name = "FILE")]
    token_in_user_data: Option<PathBuf>,

    /// The provider's token is put into each machine's document by the controller: the ProviderConfig's
    /// nodeCredential.secretRef. Read the README first.
    #[arg(long, requires = "for_leases")]
    token_in_lease: bool,

    /// The join secret is in this file of the machine [default: /etc/curfew/join]. For k3s it is the token, for kubeadm
    /// the `JoinConfiguration`.
    #[arg(long, value_name = "PATH")]
    join_on_machine: Option<Path>,
    /// The join secret comes from this address, once.
    #[arg(long, value_name = "URL")]
    join_url: Option<Url>,
    /// The join secret is in this local file and goes into the document.
    #[arg(long, value_name = "FILE")]
    join_in_user_data: Option<PathBuf>,

    /// k3s: the server to join, `https://ADDRESS:6443`.
    #[arg(long, value_name = "URL", required_if_eq("flavour", "k3s"))]
    server: Option<Url>,
    /// k3s: where its binary may be fetched; without it the image's is taken.
    #[arg(long, value_name = "URL", requires = "k3s_sha256")]
    k3s_url: Vec<Url>,
    /// k3s: what its binary must be.
    #[arg(long, value_name = "HEX", requires = "k3s_url")]
    k3s_sha256: Option<Sha256>,

    /// A label the Node registers with.
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<Label>,
    /// A taint the Node registers with.
    #[arg(long, value_name = "KEY=VALUE:EFFECT")]
    taint: Vec<Taint>,
    /// One more argument of the kubelet.
    #[arg(long, value_name = "NAME=VALUE")]
    kubelet_arg: Vec<KubeletArg>,

    /// A local file to be written on the machine: MODE:PATH=FILE, for example 0644:/etc/motd=motd. It is readable like all of
    /// user-data.
    #[arg(long, value_name = "MODE:PATH=FILE", value_parser = extra)]
    file: Vec<(Mode, Path, PathBuf)>,
    /// Shell, run once before anything is fetched (a proxy, a resolver).
    #[arg(long, value_name = "COMMAND")]
    early_command: Vec<String>,
    /// Shell, run once when the machine is armed, before it joins.
    #[arg(long, value_name = "COMMAND")]
    pre_command: Vec<String>,
    /// Shell, run once when it has joined.
    #[arg(long, value_name = "COMMAND")]
    post_command: Vec<String>,

    /// The machine has no public address: its Node's address is its own in this network.
    #[arg(long, value_name = "CIDR")]
    private_network: Option<Network>,
    /// The default route where the network sets none. The provider's API must be reachable through it.
    #[arg(long, value_name = "ADDRESS", requires = "private_network")]
    private_gateway: Option<Ipv4Addr>,

    /// Let pods read metadata and user-data.
    #[arg(long)]
    no_metadata_guard: bool,
    /// Join the cluster even if the machine cannot be armed.
    #[arg(long)]
    join_unarmed: bool,
    /// Units only below /run, which comes by itself where /etc is read-only.
    #[arg(long)]
    transient_units: bool,

    /// How long one attempt to fetch a file may take.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = patience)]
    attempt_timeout: SignedDuration,
    /// How long all attempts may take before the bootstrap has failed; it is tried again a minute later.
    #[arg(long, value_name = "DURATION", default_value = "15m", value_parser = patience)]
    fetch_timeout: SignedDuration,
    /// How long to wait until the agent is armed, likewise.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = patience)]
    armed_timeout: SignedDuration,
}

impl CloudInitArgs {
    /// What they mean. Reads the local files.
    pub(crate) fn options(self) -> Result<Options, Error> {
        let join = secret(self.join_on_machine, self.join_url, self.join_in_user_data, "/etc/curfew/join")?;
        if self.flavour != FlavourName::K3s && (self.server.is_some() || self.k3s_sha256.is_some()) {
            return Err(Error::Contradiction("--server and --k3s-url are for --flavour k3s only"));
        }
        if self.flavour == FlavourName::None && self.for_leases {
            return Err(Error::Contradiction(
                "--for-leases is for --flavour k3s and kubeadm: with none, nothing says on the Node whose it is",
            ));
        }
        let (mut labels, mut lifetime) =
            (self.label, self.max_lifetime.map(curfew_contract::duration::format));
        if self.for_leases {
            labels.push(Label::of_lease());
            lifetime = Some(placeholder::LIFETIME.into());
        }
        let in_lease = self.token_in_lease.then(|| Content(format!("{}\n", placeholder::TOKEN).into_bytes()));
        let token = in_lease.map_or_else(
            || secret(self.token_on_machine, self.token_url, self.token_in_user_data, "/etc/curfew/token"),
            |content| Ok(Secret::InUserData(content)),
        )?;
        let binary = self.k3s_sha256.map(|sha256| Download { urls: self.k3s_url, sha256 });
        let flavour = match (self.flavour, self.server) {
            (FlavourName::None, _) => Flavour::None,
            (FlavourName::Kubeadm, _) => Flavour::Kubeadm { configuration: join },
            (FlavourName::K3s, Some(server)) => Flavour::K3s { server, binary, token: join },
            (FlavourName::K3s, None) => return Err(Error::Contradiction("k3s needs --server")),
        };
        let agent = match (self.agent_on_image, self.agent_sha256) {
            (Some(path), sha256) => Agent::OnImage { path, sha256 },
            (None, Some(sha256)) => Agent::Fetch(Download { urls: self.agent_url, sha256 }),
            (None, None) => return Err(Error::Contradiction("--agent-url needs --agent-sha256")),
        };
        let mut agent_options = self.agent_option;
        let lifetime = lifetime.map(|span| ("CURFEW_MAX_LIFETIME", span));
        let observe = self.observe.then(|| ("CURFEW_OBSERVE", "yes".to_owned()));
        let named = lifetime.into_iter().chain(observe);
        agent_options.extend(named.map(|(name, value)| AgentOption { name: name.into(), value }));
        let file = |(mode, path, local): (Mode, Path, PathBuf)| {
            Ok::<_, Error>(ExtraFile { path, mode, content: read(local)? })
        };
        Ok(Options {
            agent,
            agent_options,
            token,
            flavour,
            labels,
            taints: self.taint,
            kubelet_args: self.kubelet_arg,
            files: self.file.into_iter().map(file).collect::<Result<_, _>>()?,
            early_commands: self.early_command,
            pre_commands: self.pre_command,
            post_commands: self.post_command,
            bin_dir: self.bin_dir,
            transient_units: self.transient_units,
            private_network: self
                .private_network
                .map(|network| PrivateNetwork { network, gateway: self.private_gateway }),
            metadata_guard: !self.no_metadata_guard,
            join_unarmed: self.join_unarmed,
            patience: Patience {
                attempt: self.attempt_timeout,
                download: self.fetch_timeout,
                armed: self.armed_timeout,
            },
        })
    }
}

fn secret(
    on_machine: Option<Path>,
    url: Option<Url>,
    local: Option<PathBuf>,
    usual: &str,
) -> Result<Secret, Error> {
    Ok(match (on_machine, url, local) {
        (Some(path), ..) => Secret::OnMachine(path),
        (None, Some(url), _) => Secret::OneTime(url),
        (None, None, Some(local)) => Secret::InUserData(read(local)?),
        (None, None, None) => Secret::OnMachine(usual.parse()?),
    })
}

fn read(local: PathBuf) -> Result<Content, Error> {
    fs::read(&local).map(Content).map_err(|source| Error::Unreadable(local, source))
}

fn extra(text: &str) -> Result<(Mode, Path, PathBuf), Refused> {
    let parts = text.split_once(':').and_then(|(mode, rest)| Some((mode, rest.split_once('=')?)));
    let Some((mode, (path, local))) = parts else {
        return Err(Refused::of(text, "a file", "0644:/etc/motd=motd"));
    };
    Ok((mode.parse()?, path.parse()?, local.into()))
}

fn patience(text: &str) -> Result<SignedDuration, String> {
    let span = curfew_contract::duration::parse(text).map_err(|error| error.to_string())?;
    if span >= SignedDuration::from_secs(1) { Ok(span) } else { Err("at least a second".into()) }
}

/// What the agent takes: with any other it would fall back to its own, and nobody would see it in the document.
fn lifetime(text: &str) -> Result<SignedDuration, String> {
    let span = curfew_contract::duration::parse(text).map_err(|error| error.to_string())?;
    let possible = SignedDuration::from_mins(5)..=SignedDuration::from_hours(400 * 24);
    if possible.contains(&span) { Ok(span) } else { Err("the agent takes 5m to 400 days (9600h)".into()) }
}
