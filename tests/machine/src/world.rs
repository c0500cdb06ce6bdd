//! A row's own cloud, cluster and controller, and what belongs to a machine in them.

use std::{
    collections::BTreeMap,
    io,
    net::Ipv4Addr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use curfew_contract::{Heartbeat, annotation, label};
use curfew_sandbox::{
    api::{Api, ApiError},
    cloud::{self, Access, Cloud, Project, ServerSpec},
    cluster::{self, Cluster, Identity},
    machine::{AGENT, BACKSTOP},
    process::Process,
    stage::Gone,
};
use tokio::time::{Instant, sleep};

use crate::{bed::Bed, document::Extra, enclosure::OUTSIDE, site::Site};

/// Why there is no world, or not the one that was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorldError {
    #[error("failed to set up cloud or controller")]
    Io(#[from] io::Error),
    #[error("the cluster failed")]
    Api(#[from] ApiError),
    #[error("the cluster failed")]
    Cluster(#[from] cluster::Error),
    #[error("{what} did not come within {} s; it shows {shown}", .within.as_secs())]
    Missed { what: String, within: Duration, shown: String },
}

/// One of everything that is outside the machine.
pub(crate) struct World {
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) api: Api,
    site: Arc<Site>,
    dir: PathBuf,
    controller: Mutex<Option<Process>>,
}

/// A machine's place in it.
#[derive(Clone, Debug)]
pub(crate) struct Papers {
    /// Name of server and Node.
    pub(crate) name: String,
    /// The server's id.
    pub(crate) id: u64,
    /// The agent's token.
    pub(crate) token: String,
    /// What else the machine must be given: the backstop's token, the kubelet's credential, the authority.
    pub(crate) files: Vec<Extra>,
}

impl World {
    /// A cloud and a cluster, empty, on the site's address. No controller runs yet.
    pub(crate) async fn new(site: &Arc<Site>, row: &str) -> Result<Self, WorldError> {
        let (listen, dir) = (OUTSIDE.into(), site.dir().join(row));
        let options = cluster::Options { listen, ..cluster::Options::new(dir.join("cluster")) };
        let cluster = Arc::new(Api::cluster(options).await?);
        // An agent sends its token over TLS only, unless the provider is on its own loopback.
        let tls = Some(Arc::new(cluster.server_tls()?));
        let cloud = Cloud::start(cloud::Options { listen, tls, ..cloud::Options::default() }).await?;
        let (cloud, api) = (Arc::new(cloud), Api::Loopback(Arc::clone(&cluster)));
        Ok(Self { cloud, cluster, api, site: Arc::clone(site), dir, controller: Mutex::default() })
    }

    /// Rents a server and makes its Node, of the lease's.
    pub(crate) async fn enlist(&self, name: &str, address: Ipv4Addr) -> Result<Papers, WorldError> {
        let id = self.cloud.add_server(ServerSpec::new(name, &[(label::MANAGED_BY, label::CURFEW)]));
        self.api.add_node(name, &format!("hcloud://{id}"), &labels()).await?;
        self.site.register(address, &self.cloud, id);
        let kubelet = self.cluster.kubeconfig_for(&Identity::Kubelet(name.into()), None)?;
        let kubeconfig = std::fs::read_to_string(kubelet)?;
        // A token each, so that the ledger tells who deleted. On a real machine both read one file.
        let token = |holder: &str| self.cloud.issue_token(Project::OURS, Access::ReadWrite, holder);
        let secret = |path: &str, text: String| Extra::new(path, "0600", text);
        let files = vec![
            secret("/etc/curfew/backstop-token", token(BACKSTOP)),
            Extra::new("/etc/curfew/backstop.env", "0644", "CURFEW_TOKEN_FILE=/etc/curfew/backstop-token\n"),
            Extra::new("/etc/systemd/system/curfew-backstop.service.d/of-its-own.conf", "0644", OF_ITS_OWN),
            secret("/etc/kubernetes/kubelet.conf", kubeconfig),
            Extra::new(PROVIDER_CA, "0644", self.cluster.authority()),
        ];
        Ok(Papers { name: name.into(), id, token: token(AGENT), files })
    }

    /// The agent's options for this world, as lines of its environment file.
    pub(crate) fn options(&self) -> String {
        format!(
            "HCLOUD_ENDPOINT={}\nCURFEW_PROVIDER_CA={PROVIDER_CA}\nCURFEW_FIRST_HOLD=0s\nCURFEW_HEARTBEAT=1s\n\
             CURFEW_PROBE=10s\n",
            self.cloud.tls_endpoint().unwrap_or_default()
        )
    }

    /// When the server is deleted, the machine's plug is pulled: a moment later, as it is in reality.
    pub(crate) fn bury(&self, papers: &Papers, machine: &Arc<impl Bed>) {
        let (id, machine) = (papers.id, Arc::downgrade(machine));
        self.cloud.configure(|settings| settings.kill = cloud::Kill::AfterAnswer);
        self.cloud.on_gone(move |gone| {
            if gone == id {
                std::thread::sleep(PLUG_PULLED_AFTER);
                machine.upgrade().inspect(|machine| machine.kill());
            }
        });
    }

    /// A lease over all machines, and a controller that keeps it.
    pub(crate) async fn hold(&self, renew: Duration, slack: Duration) -> Result<(), WorldError> {
        let seconds = |span: Duration| format!("{}s", span.as_secs());
        let spec = serde_json::json!({
            "duration": "1h",
            "watchdog": {"renewInterval": seconds(renew), "slack": seconds(slack)},
            "adopt": {"nodeSelector": labels()},
        });
        self.api.add_lease("machines", &spec).await?;
        let mut command = self.site.programs.controller();
        command
            .args(["run", "--admin-address", "off", "--kubeconfig"])
            .arg(self.api.controller_kubeconfig()?);
        let controller = Process::start(command, &self.log())?;
        *self.controller.lock().unwrap_or_else(PoisonError::into_inner) = Some(controller);
        Ok(())
    }

    /// `kill -9`.
    pub(crate) fn kill_controller(&self) {
        self.controller.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The Node's last heartbeat, if it can be read.
    pub(crate) async fn heartbeat(&self, papers: &Papers) -> Result<Option<Heartbeat>, WorldError> {
        let node = self.api.node(&papers.name).await?;
        let written = node["metadata"]["annotations"][annotation::HEARTBEAT].as_str();
        Ok(written.and_then(|text| Heartbeat::read(text).ok()))
    }

    /// Waits until the machine shows as armed. Returns how long that took.
    pub(crate) async fn armed(&self, papers: &Papers) -> Result<Duration, WorldError> {
        let begun = Instant::now();
        loop {
            let shown = self.api.shown(&papers.name).await?;
            if shown.status == "True" {
                return Ok(begun.elapsed());
            }
            if begun.elapsed() > ARMS_WITHIN {
                let what = format!("WatchdogArmed=True on {}", papers.name);
                let shown = format!("{} {}", shown.status, shown.reason);
                return Err(WorldError::Missed { what, within: ARMS_WITHIN, shown });
            }
            sleep(LOOK).await;
        }
    }

    /// Waits for the machine's end. `None`: it still lives.
    pub(crate) async fn gone(&self, papers: &Papers, within: Duration) -> Result<Option<Gone>, WorldError> {
        Ok(Gone::wait(&self.cloud, &self.api, papers.id, &papers.name, within).await?)
    }

    /// Where the controller logs.
    pub(crate) fn log(&self) -> PathBuf {
        self.dir.join("controller.log")
    }
}

fn labels() -> BTreeMap<String, String> {
    [("pool".to_owned(), "machines".to_owned())].into()
}

/// Beside the unit: whose token deletes, and who speaks on the console.
const OF_ITS_OWN: &str =
    "[Service]\nEnvironmentFile=/etc/curfew/backstop.env\nSyslogIdentifier=curfew-backstop\n";
/// Where a machine has the authority of provider and cluster.
const PROVIDER_CA: &str = "/etc/curfew/provider-ca.pem";
/// By emulation, on a machine under load.
const ARMS_WITHIN: Duration = Duration::from_mins(3);
const LOOK: Duration = Duration::from_millis(50);
/// Between the accepted DELETE and the end of the machine. Enough for its last words to get out.
const PLUG_PULLED_AFTER: Duration = Duration::from_secs(1);
