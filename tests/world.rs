//! A cloud, a cluster and machines, with or without a controller.

mod files;
mod rented;

use std::{fs, sync::Arc, time::Duration};

use curfew_contract::{Heartbeat, annotation};
use curfew_sandbox::{
    api::{Api, NAMESPACE},
    cloud::{Caller, Cloud, Entry, Options},
    cluster::Cluster,
    machine::{AGENT, Fleet, Machine, Site, Spec},
    process::Process,
    programs::Programs,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::{run::keep_log, told};

pub use rented::PROVIDER;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Everything there is.
pub struct World {
    /// The cloud.
    pub cloud: Arc<Cloud>,
    /// The cluster, as a person at another desk has it.
    pub api: Arc<Api>,
    /// The machines.
    pub machines: Vec<Machine>,
    /// Machines of servers that were created over the API.
    pub fleet: Fleet,
    site: Site,
    controller: Option<Process>,
    dir: TempDir,
}

impl World {
    /// A cloud and a cluster. `testbed`: the executable of every program.
    pub async fn empty(testbed: &str) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("curfew-tests-").tempdir()?;
        let api = Arc::new(Api::loopback(&dir.path().join("cluster")).await?);
        let cloud = Arc::new(Cloud::start(Options::default()).await?);
        let site = Site {
            cloud: Arc::clone(&cloud),
            api: Arc::clone(&api),
            programs: Programs::all_in(testbed),
            dir: dir.path().to_owned(),
        };
        let fleet = Fleet::attend(site.clone());
        Ok(Self { cloud, api, machines: Vec::new(), fleet, site, controller: None, dir })
    }

    /// The same with one machine, whose agent is starting.
    pub async fn with(testbed: &str, setup: impl FnOnce(&mut Spec)) -> Result<Self> {
        let mut world = Self::empty(testbed).await?;
        world.rent("m-1", setup).await?;
        Ok(world)
    }

    /// The same, its agent armed.
    pub async fn armed(testbed: &str) -> Result<Self> {
        let world = Self::with(testbed, |_| {}).await?;
        world.arms(world.machine()).await?;
        Ok(world)
    }

    /// A machine with nothing but its agent: no controller renews its deadlines, and no backstop fires in its stead.
    pub async fn alone(testbed: &str) -> Result<Self> {
        let world = Self::with(testbed, without_backstop).await?;
        world.proves_itself(world.machine()).await?;
        Ok(world)
    }

    /// Adds a machine, whose Node carries the label `pool=test`.
    pub async fn rent(&mut self, name: &str, setup: impl FnOnce(&mut Spec)) -> Result<()> {
        let mut spec = Spec::fast(name, [("pool".to_owned(), "test".to_owned())].into());
        setup(&mut spec);
        let machine = Machine::rent(spec, &self.site).await?;
        self.machines.push(machine);
        Ok(())
    }

    /// Starts a controller.
    pub fn start_controller(&mut self) -> Result<()> {
        self.controller = Some(self.another_controller()?);
        Ok(())
    }

    /// Another controller, which lives as long as what is returned.
    pub fn another_controller(&self) -> Result<Process> {
        let mut command = self.site.programs.controller();
        command.env("CURFEW_NAMESPACE", NAMESPACE);
        command
            .args(["run", "--admin-address", "off", "--kubeconfig"])
            .arg(self.api.controller_kubeconfig()?);
        Ok(Process::start(command, &self.dir.path().join("controller.log"))?)
    }

    /// `kill -9`.
    pub fn kill_controller(&mut self) {
        self.controller = None;
    }

    /// A lease of everything labelled `pool=test`, with the shortest renewals there are.
    pub async fn lease(&self, name: &str, duration: &str) -> Result<()> {
        self.lease_of(name, duration, &json!({"pool": "test"})).await
    }

    /// A lease.
    pub async fn lease_of(&self, name: &str, duration: &str, selector: &Value) -> Result<()> {
        let spec = json!({
            "duration": duration,
            "watchdog": {"renewInterval": "10s", "slack": "11s"},
            "adopt": {"nodeSelector": selector},
        });
        Ok(self.api.add_lease(name, &spec).await?)
    }

    /// The first machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machines[0]
    }

    /// The double itself, for its faults.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        match &*self.api {
            Api::Loopback(cluster) => cluster,
            Api::Real(_) => unreachable!("these tests run on the double only"),
        }
    }

    /// Writes a deadline by hand, in cluster time. Returns it, in whole seconds.
    pub async fn deadline_in(&self, machine: &Machine, seconds: i64) -> Result<Timestamp> {
        let at = Timestamp::from_second(self.cluster().now().as_second() + seconds)?;
        self.api.write_deadline(&machine.name, at).await?;
        Ok(at)
    }

    /// Writes an annotation of the Node; `None` takes it away.
    pub fn annotate(&self, machine: &Machine, key: &str, value: Option<&str>) -> Result<()> {
        self.cluster().set_annotation(&machine.name, key, value)?;
        Ok(())
    }

    /// The heartbeat as it stands on the Node.
    #[must_use]
    pub fn beat(&self, machine: &Machine) -> Option<Heartbeat> {
        let node = self.cluster().node(&machine.name)?;
        Heartbeat::read(node["metadata"]["annotations"][annotation::HEARTBEAT].as_str()?).ok()
    }

    /// Waits for a heartbeat of which `is` holds.
    pub async fn beats(
        &self,
        machine: &Machine,
        what: &str,
        is: impl Fn(&Heartbeat) -> bool,
    ) -> Result<Heartbeat> {
        self.becomes(what, || self.beat(machine).filter(|beat| is(beat))).await
    }

    /// Waits for the first heartbeat made after now.
    pub async fn next_beat(&self, machine: &Machine) -> Result<Heartbeat> {
        let after = self.cluster().now();
        // `at` is cut to whole seconds.
        self.beats(machine, "another heartbeat", |beat| beat.at.is_some_and(|at| at > after)).await
    }

    /// Waits until nothing but a controller is missing: identity and authority proven, the backstop has run.
    pub async fn arms(&self, machine: &Machine) -> Result<Heartbeat> {
        self.beats(machine, "an armed machine", told::armed).await
    }

    /// Waits until the agent knows its server and that it may delete it.
    pub async fn proves_itself(&self, machine: &Machine) -> Result<Heartbeat> {
        self.beats(machine, "a proven machine", told::proven).await
    }

    /// Waits until the agent acts upon this deadline.
    pub async fn sees(&self, machine: &Machine, deadline: Timestamp) -> Result<Heartbeat> {
        self.beats(machine, "the deadline in a heartbeat", |beat| beat.deadline_seen == Some(deadline)).await
    }

    /// Waits until the condition on the Node has this status and, unless empty, this reason.
    pub async fn shows(&self, machine: &Machine, status: &str, reason: &str) -> Result<()> {
        let begun = Instant::now();
        loop {
            let shown = self.api.shown(&machine.name).await?;
            if shown.status == status && (reason.is_empty() || shown.reason == reason) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(
                    format!("{}: {status} {reason} did not come; it shows {shown:?}", machine.name).into()
                );
            }
            sleep(LOOK).await;
        }
    }

    /// Waits until there is something.
    pub async fn becomes<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> Result<T> {
        self.becomes_within(PATIENCE, what, look).await
    }

    /// The same, where it takes longer.
    pub async fn becomes_within<T>(
        &self,
        patience: Duration,
        what: &str,
        look: impl Fn() -> Option<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        loop {
            if let Some(found) = look() {
                return Ok(found);
            }
            if begun.elapsed() > patience {
                let beats: Vec<_> = self.machines.iter().map(|machine| self.beat(machine)).collect();
                return Err(format!("{what} did not come; the heartbeats are {beats:?}").into());
            }
            sleep(LOOK).await;
        }
    }

    /// When the cloud accepted this machine's deletion.
    pub async fn gone(&self, machine: &Machine) -> Result<Timestamp> {
        let gone = self.cloud.wait_gone(machine.id, PATIENCE * 2).await;
        gone.ok_or_else(|| format!("{} was not deleted", machine.name).into())
    }

    /// Every attempt to delete this machine, oldest first.
    #[must_use]
    pub fn deletes(&self, machine: &Machine) -> Vec<Entry> {
        let path = format!("/v1/servers/{}", machine.id);
        let is = |entry: &Entry| entry.method == "DELETE" && entry.path == path;
        self.cloud.ledger().into_iter().filter(is).collect()
    }

    /// Waits for so many attempts to delete this machine.
    pub async fn deletes_reach(&self, machine: &Machine, least: usize) -> Result<Vec<Entry>> {
        let enough = || Some(self.deletes(machine)).filter(|deletes| deletes.len() >= least);
        self.becomes("another DELETE", enough).await
    }

    /// What the controller logged.
    #[must_use]
    pub fn controller_log(&self) -> String {
        fs::read_to_string(self.dir.path().join("controller.log")).unwrap_or_default()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let controller = self.controller_log();
        let log = |machine: &Machine| format!("-- {}\n{}", machine.name, machine.log());
        let rented: String = self.fleet.machines().iter().map(|machine| log(machine)).collect();
        let logs: String = self.machines.iter().map(log).collect();
        keep_log(&format!("-- controller\n{controller}{logs}{rented}"));
    }
}

/// As a [`Spec`]: the timer is not enabled.
pub const fn without_backstop(spec: &mut Spec) {
    spec.check_every = None;
}

/// Not before its deadline, and within what a machine under load may need.
#[must_use]
pub fn is_in_time(gone: Timestamp, deadline: Timestamp) -> bool {
    gone >= deadline && gone.duration_since(deadline).as_secs() < 10
}

/// Whether this attempt came from an agent, and not from a backstop.
#[must_use]
pub fn agent_deletes(entry: &Entry) -> bool {
    matches!(&entry.caller, Caller::Known { holder, .. } if holder == AGENT)
}

const PATIENCE: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(50);
