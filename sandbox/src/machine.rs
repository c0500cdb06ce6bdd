//! A rented machine: a server in the cloud, a Node in the cluster, firmware tables, a kubelet's credential, a token; and
//! a PID 1 that keeps the agent running and runs the backstop's timer. When the server is deleted its processes die.
//! Rented by hand, or booted because a server was created (`fleet`).

mod fleet;
mod options;
mod pid1;
mod user_data;

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
    api::{Api, ApiError, Joining},
    cloud::{Access, Cloud, Project, ServerSpec},
    cluster::{KeyForm, NodeForm},
    process::Process,
    programs::Programs,
};
use curfew_contract::label;
use options::Options;
use pid1::Host;

pub use fleet::{Boots, Fleet, Turn};
pub use user_data::TEMPLATE;

/// Where machines stand.
#[derive(Clone)]
pub struct Site {
    /// The cloud that rents them out.
    pub cloud: Arc<Cloud>,
    /// The cluster they join.
    pub api: Arc<Api>,
    /// What runs on them.
    pub programs: Programs,
    /// Below it each has its files.
    pub dir: PathBuf,
}

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
    /// What it was given to boot from.
    #[error("the user-data of machine {name} is not the sandbox's template, or was not filled in")]
    UserData {
        /// Which.
        name: String,
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
    /// The backstop's token.
    pub backstop_token: String,
    dir: PathBuf,
    host: Arc<Host>,
    pid1: JoinHandle<()>,
}

impl Machine {
    /// Rents a server, boots it, and joins it, ready at once.
    pub async fn rent(spec: Spec, site: &Site) -> Result<Self, MachineError> {
        let id = site.cloud.add_server(ServerSpec::new(&spec.name, &spec.consent));
        let joining = Joining::new(&spec.name, id, spec.labels.clone());
        let failed = |source| MachineError::Join { name: joining.name.clone(), source };
        site.api.join(&joining).await.map_err(failed)?;
        site.api.mark_ready(&joining.name, true).await.map_err(failed)?;
        let token = site.cloud.issue_token(Project::OURS, Access::ReadWrite, AGENT);
        Self::boot(&spec, id, token, site)
    }

    /// Boots the machine of a server: its agent runs, with this token, and its backstop's timer. It joins nothing. On a
    /// real machine the backstop reads the same token file as the agent; here it has a token of its own, so that the
    /// cloud's ledger tells who deleted. Must be called from a thread that lives as long as the machine.
    pub fn boot(spec: &Spec, id: u64, token: String, site: &Site) -> Result<Self, MachineError> {
        let Site { cloud, api, programs, dir } = site;
        let (name, dir) = (spec.name.clone(), dir.join(&spec.name));
        let join = |source| MachineError::Join { name: name.clone(), source };
        let kubeconfig = api.node_kubeconfig(&name, &dir.join("kubelet"), spec.form).map_err(join)?;
        let backstop_token = cloud.issue_token(Project::OURS, Access::ReadWrite, BACKSTOP);
        let install = || -> io::Result<()> {
            fs::create_dir_all(dir.join("dmi"))?;
            firmware(id)
                .into_iter()
                .try_for_each(|(file, text)| fs::write(dir.join("dmi").join(file), text))?;
            ["run", "state"].iter().try_for_each(|part| fs::create_dir_all(dir.join(part)))?;
            secret(&dir.join(AGENT), &token)?;
            secret(&dir.join(BACKSTOP), &backstop_token)
        };
        install().map_err(|source| MachineError::Files { name: name.clone(), source })?;
        let node = (!api.credential_names_node()).then(|| name.clone());
        let options = Options { spec, cloud, id, dir: &dir, kubeconfig: &kubeconfig, node };
        let host =
            Arc::new(Host::new(dir.clone(), programs.clone(), options.of(AGENT), options.of(BACKSTOP)));
        site.bury(&host, id, &name);
        let pid1 = tokio::spawn(pid1::run(Arc::clone(&host), spec.check_every));
        Ok(Self { name, id, token, backstop_token, dir, host, pid1 })
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

    /// `kill -9` of the agent, and the end of the backstop's timer: nothing is left on the machine that could delete it.
    pub fn kill_all(&self) {
        self.host.stop_timer();
        self.host.kill_agent(false);
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

impl Site {
    /// The machine dies with its server, and its Node is seen to be lost: it stays until somebody deletes it, since no
    /// cloud controller manager runs here.
    fn bury(&self, host: &Arc<Host>, id: u64, name: &str) {
        let (dying, api, name) = (Arc::clone(host), Arc::clone(&self.api), name.to_owned());
        let runtime = tokio::runtime::Handle::current();
        self.cloud.on_gone(move |gone| {
            if gone == id {
                dying.die();
                let (api, name) = (Arc::clone(&api), name.clone());
                // It fails if the Node was never there, or is gone already.
                runtime.spawn(async move { drop(api.mark_ready(&name, false).await) });
            }
        });
        // It may have gone before anybody listened.
        if self.cloud.gone_at(id).is_some() {
            host.die();
        }
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
