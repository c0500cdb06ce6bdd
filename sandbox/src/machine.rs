//! A rented machine: a server in the cloud, a Node in the cluster, firmware tables, a kubelet's credential, a token; and
//! a PID 1 that keeps the agent running and runs the backstop's timer. When the server is deleted its processes die.

mod pid1;

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use nix::sys::signal::Signal;
use tokio::task::JoinHandle;

use crate::{
    api::{Api, ApiError},
    cloud::{Access, Cloud, Project, ServerSpec},
    cluster::{KeyForm, NodeForm},
    process::Process,
    programs::Programs,
};
use curfew_contract::label;
use pid1::Host;

/// How a machine is set up.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Name of server and Node.
    pub name: String,
    /// Labels of the Node.
    pub labels: BTreeMap<String, String>,
    /// How its kubelet's credential is laid out.
    pub form: NodeForm,
    /// Between two runs of the backstop: a minute on a real machine. None: the backstop's timer is not enabled.
    pub check_every: Option<Duration>,
    /// `--heartbeat`: 30 s on a real machine.
    pub heartbeat: Duration,
    /// `--probe`: an hour on a real machine.
    pub probe: Duration,
    /// Labels of the server at the provider: its consent.
    pub consent: Vec<(&'static str, &'static str)>,
    /// Options of agent and backstop, by name, in place of those they would get.
    pub options: BTreeMap<&'static str, String>,
    /// Further arguments of both, as they are.
    pub arguments: Vec<String>,
}

impl Spec {
    /// A machine whose clocks of supervision run faster than real ones; those of the guarantee do not.
    #[must_use]
    pub fn fast(name: impl Into<String>, labels: BTreeMap<String, String>) -> Self {
        Self {
            name: name.into(),
            labels,
            form: NodeForm::Kubeadm(KeyForm::Sec1),
            check_every: Some(Duration::from_secs(5)),
            heartbeat: Duration::from_secs(1),
            probe: Duration::from_secs(5),
            consent: vec![(label::MANAGED_BY, label::CURFEW)],
            options: BTreeMap::new(),
            arguments: Vec::new(),
        }
    }
}

/// Why there is no machine.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// Its Node or credential.
    #[error("failed to join machine {name} to the cluster")]
    Join {
        /// Which.
        name: String,
        /// Why.
        #[source]
        source: ApiError,
    },
    /// Its files.
    #[error("failed to write the files of machine {name}")]
    Files {
        /// Which.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A machine.
pub struct Machine {
    /// Name of server and Node.
    pub name: String,
    /// The server's id.
    pub id: u64,
    /// The agent's token.
    pub token: String,
    dir: PathBuf,
    host: Arc<Host>,
    pid1: JoinHandle<()>,
}

impl Machine {
    /// Rents a server, joins it and boots it. Its files are kept below `dir`.
    pub async fn rent(
        spec: Spec,
        cloud: &Cloud,
        api: &Api,
        programs: &Programs,
        dir: &Path,
    ) -> Result<Self, MachineError> {
        let name = spec.name.clone();
        let id = cloud.add_server(ServerSpec::new(&name, &spec.consent));
        let dir = dir.join(&name);
        let join = |source| MachineError::Join { name: name.clone(), source };
        api.add_node(&name, &format!("hcloud://{id}"), &spec.labels).await.map_err(join)?;
        let kubeconfig = api.node_kubeconfig(&name, &dir.join("kubelet"), spec.form).map_err(join)?;
        // A token each, so that the cloud's ledger tells who deleted. On a real machine both read one file.
        let token = |holder: &str| cloud.issue_token(Project::OURS, Access::ReadWrite, holder);
        let (agents, backstops) = (token(AGENT), token(BACKSTOP));
        let install = || -> io::Result<()> {
            fs::create_dir_all(dir.join("dmi"))?;
            firmware(id)
                .into_iter()
                .try_for_each(|(file, text)| fs::write(dir.join("dmi").join(file), text))?;
            ["run", "state"].iter().try_for_each(|part| fs::create_dir_all(dir.join(part)))?;
            secret(&dir.join(AGENT), &agents)?;
            secret(&dir.join(BACKSTOP), &backstops)
        };
        install().map_err(|source| MachineError::Files { name: name.clone(), source })?;
        let node = (!api.credential_names_node()).then(|| name.clone());
        let options = Options { spec: &spec, cloud, id, dir: &dir, kubeconfig: &kubeconfig, node };
        let host =
            Arc::new(Host::new(dir.clone(), programs.clone(), options.of(AGENT), options.of(BACKSTOP)));
        let dying = Arc::clone(&host);
        cloud.on_gone(move |gone| {
            if gone == id {
                dying.die();
            }
        });
        let pid1 = tokio::spawn(pid1::run(Arc::clone(&host), spec.check_every));
        Ok(Self { name, id, token: agents, dir, host, pid1 })
    }

    /// Where its files are: `run`, `state`, `dmi`, `kubelet`, and the tokens, named by their holders.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Process id of the agent, while it runs.
    #[must_use]
    pub fn agent_id(&self) -> Option<u32> {
        self.host.agent(Process::id)
    }

    /// `kill -9` of the agent. `restart`: PID 1 starts it again, as systemd would.
    pub fn kill_agent(&self, restart: bool) {
        self.host.kill_agent(restart);
    }

    /// Starts an agent that was killed for good.
    pub fn start_agent(&self) {
        self.host.kill_agent(true);
    }

    /// Sends the agent a signal, for example SIGSTOP.
    pub fn signal_agent(&self, signal: Signal) {
        self.host.agent(|agent| agent.signal(signal));
    }

    /// From the next start of agent and backstop on, neither ledger directory can be written. `false`: this kernel
    /// gives us no namespaces, and files were put in the directories' place: the ledger cannot be read either.
    pub fn freeze_ledger(&self) -> io::Result<bool> {
        let frozen = ["run", "state"].map(|part| self.dir.join(part));
        if self.host.can_freeze(&frozen) {
            self.host.freeze(frozen.to_vec());
            return Ok(true);
        }
        for path in frozen {
            fs::rename(&path, path.with_extension("away"))?;
            fs::write(&path, "")?;
        }
        Ok(false)
    }

    /// What agent and backstop logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.pid1.abort();
        self.host.die();
    }
}

/// What every program on the machine is told.
struct Options<'a> {
    spec: &'a Spec,
    cloud: &'a Cloud,
    id: u64,
    dir: &'a Path,
    kubeconfig: &'a Path,
    node: Option<String>,
}

impl Options<'_> {
    /// As arguments. `who`: whose token.
    fn of(&self, who: &str) -> Vec<String> {
        let path = |part: &str| self.dir.join(part).display().to_string();
        let seconds = |span: Duration| format!("{}s", span.as_secs());
        let mut pairs = BTreeMap::from([
            ("--endpoint", self.cloud.endpoint()),
            ("--metadata", self.cloud.metadata_endpoint(self.id)),
            ("--token-file", path(who)),
            ("--dmi", path("dmi")),
            ("--kubeconfig", self.kubeconfig.display().to_string()),
            ("--run-dir", path("run")),
            ("--state-dir", path("state")),
            ("--max-lifetime", "24h".into()),
            ("--first-hold", "0s".into()),
            ("--heartbeat", seconds(self.spec.heartbeat)),
            ("--probe", seconds(self.spec.probe)),
        ]);
        pairs.extend(self.node.clone().map(|node| ("--node-name", node)));
        pairs.extend(self.spec.options.clone());
        let pairs = pairs.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
        pairs.chain(self.spec.arguments.clone()).collect()
    }
}

/// What a Hetzner server's firmware says, by the files in which Linux shows it.
#[must_use]
pub fn firmware(id: u64) -> [(&'static str, String); 3] {
    [
        ("sys_vendor", "Hetzner\n".into()),
        ("product_serial", format!("{id}\n")),
        ("product_uuid", format!("{}\n", product_uuid(id))),
    ]
}

/// Derived from the server's id, so that a clone can be told from its original.
#[must_use]
pub fn product_uuid(id: u64) -> String {
    format!("00000000-0000-4000-8000-{id:012x}")
}

fn secret(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    io::Write::write_all(&mut file, text.as_bytes())
}

/// Holder of the agent's token, in the cloud's ledger.
pub const AGENT: &str = "agent";
/// Holder of the backstop's token.
pub const BACKSTOP: &str = "backstop";
