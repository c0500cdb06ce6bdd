//! One cloud, one cluster, a controller, machines and a lease that holds them: set up, broken, and watched from outside.

mod gone;
mod rental;
mod rented;
mod setup;
mod sweeper;

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    api::{Api, ApiError, NAMESPACE, Shown},
    cloud::{Cloud, Options},
    machine::{Fleet, Machine, MachineError, Site, Spec},
    process::Process,
    programs::Programs,
};

pub use gone::Gone;
pub use rental::{CONTROLLER, Credentials, Rental, provider};
pub use setup::Setup;
pub use sweeper::SWEEPER;

/// Why the stage is not what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// A directory, a port or a process.
    #[error("failed to set the stage")]
    Set(#[from] io::Error),
    /// The cluster.
    #[error("the stage's cluster failed")]
    Api(#[from] ApiError),
    /// A machine.
    #[error("the stage has no machine")]
    Machine(#[from] MachineError),
    /// Something that should have come to show did not.
    #[error("{what} did not come within {} s; it shows {status} {reason}", .within.as_secs())]
    Missed {
        /// What was awaited.
        what: String,
        /// For how long.
        within: Duration,
        /// The condition's status.
        status: String,
        /// The condition's reason.
        reason: String,
    },
}

/// The stage.
pub struct Stage {
    /// The cloud.
    pub cloud: Arc<Cloud>,
    /// The cluster.
    pub api: Arc<Api>,
    /// The machines.
    pub machines: Vec<Arc<Machine>>,
    /// Name of the lease.
    pub lease: String,
    /// Machines of servers that were created over the API.
    pub fleet: Fleet,
    site: Site,
    controller: Mutex<Option<Process>>,
    dir: TempDir,
}

impl Stage {
    /// Sets everything up. Returns at once: nothing need be armed yet.
    pub async fn set(setup: Setup) -> Result<Self, StageError> {
        let mut stage = Self::empty(&setup).await?;
        if setup.controller {
            stage.start_controller()?;
        }
        let (check_every, heartbeat) = (Some(setup.check_every), setup.heartbeat);
        if setup.rents {
            stage.fleet.configure(|boots| {
                boots.like = Spec { check_every, heartbeat, ..Spec::fast("", stage.labels()) };
            });
            stage.rent_by_lease(&setup).await?;
            return Ok(stage);
        }
        for number in 1..=setup.machines {
            let spec = Spec::fast(format!("{}-{number}", stage.lease), stage.labels());
            stage.rent(Spec { check_every, heartbeat, ..spec }).await?;
        }
        stage.hold(&setup).await?;
        Ok(stage)
    }

    /// A loopback cloud and cluster with nothing in them: no controller, no lease, no machine.
    pub async fn bare(programs: Programs) -> Result<Self, StageError> {
        Self::empty(&Setup::new(programs, Duration::ZERO)).await
    }

    async fn empty(setup: &Setup) -> Result<Self, StageError> {
        let dir = tempfile::Builder::new().prefix("curfew-sandbox-").tempdir()?;
        let cloud = Arc::new(Cloud::start(Options::default()).await?);
        let api = Arc::new(match &setup.kubeconfig {
            None => Api::loopback(&dir.path().join("cluster")).await?,
            Some(path) => Api::real(path, dir.path()).await?,
        });
        let site = Site {
            cloud: Arc::clone(&cloud),
            api: Arc::clone(&api),
            programs: setup.programs.clone(),
            dir: dir.path().to_owned(),
        };
        let (fleet, machines, lease) = (Fleet::attend(site.clone()), Vec::new(), setup.name.clone());
        Ok(Self { cloud, api, machines, lease, fleet, site, controller: Mutex::new(None), dir })
    }

    /// Adds a machine.
    pub async fn rent(&mut self, spec: Spec) -> Result<&Machine, StageError> {
        let machine = Machine::rent(spec, &self.site).await?;
        Ok(self.machines.push_mut(Arc::new(machine)))
    }

    /// Labels by which the lease finds its Nodes.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        [("sandbox".to_owned(), self.lease.clone())].into()
    }

    async fn hold(&self, setup: &Setup) -> Result<(), StageError> {
        let seconds = |span: Duration| format!("{}s", span.as_secs());
        let spec = json!({
            "duration": seconds(setup.lease),
            "watchdog": {"renewInterval": seconds(setup.watchdog.0), "slack": seconds(setup.watchdog.1)},
            "adopt": {"nodeSelector": self.labels()},
        });
        Ok(self.api.add_lease(&self.lease, &spec).await?)
    }

    /// Starts the controller, unless it runs.
    pub fn start_controller(&self) -> Result<(), StageError> {
        let mut controller = self.controller.lock().unwrap_or_else(PoisonError::into_inner);
        if controller.is_none() {
            let mut command = self.site.programs.controller();
            command.env("CURFEW_NAMESPACE", NAMESPACE);
            command
                .args(["run", "--admin-address", "off", "--kubeconfig"])
                .arg(self.api.controller_kubeconfig()?);
            *controller = Some(Process::start(command, &self.dir.path().join("controller.log"))?);
        }
        Ok(())
    }

    /// `kill -9`.
    pub fn kill_controller(&self) {
        self.controller.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The first machine; rows that break one thing have one.
    ///
    /// # Panics
    /// If the stage has none.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machines[0]
    }

    /// Waits until every machine shows as armed.
    pub async fn armed(&self) -> Result<(), StageError> {
        for machine in &self.machines {
            self.shows(&machine.name, ("True", ""), ARMS_WITHIN).await?;
        }
        Ok(())
    }

    /// Waits until the Node's condition has this status and, unless empty, this reason. Returns how long that took.
    pub async fn shows(
        &self,
        node: &str,
        (status, reason): (&str, &str),
        within: Duration,
    ) -> Result<Duration, StageError> {
        let begun = Instant::now();
        loop {
            let shown = self.api.shown(node).await?;
            if shown.status == status && (reason.is_empty() || shown.reason == reason) {
                return Ok(begun.elapsed());
            }
            if begun.elapsed() > within {
                let what = format!("WatchdogArmed={status} {reason} on {node}");
                let Shown { status, reason } = shown;
                return Err(StageError::Missed { what, within, status, reason });
            }
            sleep(LOOK).await;
        }
    }

    /// The deadline in force on a machine's Node; waits for the first one.
    pub async fn deadline(&self, machine: &Machine) -> Result<Timestamp, StageError> {
        let first = async {
            loop {
                if let Some(deadline) = self.api.deadline(&machine.name).await? {
                    return Ok(deadline);
                }
                sleep(LOOK).await;
            }
        };
        timeout(ARMS_WITHIN, first).await.unwrap_or_else(|_| {
            let what = format!("a deadline on {}", machine.name);
            Err(missed(what, ARMS_WITHIN))
        })
    }

    /// Waits for the end of a machine.
    pub async fn gone(&self, machine: &Machine, within: Duration) -> Result<Option<Gone>, StageError> {
        self.gone_with(&self.lease, machine, within).await
    }

    /// The same for a machine of another lease than the stage's own.
    pub async fn gone_with(
        &self,
        lease: &str,
        machine: &Machine,
        within: Duration,
    ) -> Result<Option<Gone>, StageError> {
        let mut gone = Gone::wait(&self.cloud, &self.api, machine.id, &machine.name, within).await?;
        if let Some(gone) = gone.as_mut().filter(|gone| gone.deadline.is_none()) {
            // Its Node was deleted after it: the last deadline was the lease's end.
            gone.deadline = self.api.expiry(lease).await?;
        }
        Ok(gone)
    }

    /// Waits for a moment of the wall clock.
    pub async fn until(&self, at: Timestamp) {
        let left = at.duration_since(crate::clock::now());
        sleep(Duration::try_from(left).unwrap_or_default()).await;
    }

    /// Where its files are, while it stands.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// What controller, agents and backstops logged.
    #[must_use]
    pub fn logs(&self) -> String {
        let controller = std::fs::read_to_string(self.dir.path().join("controller.log")).unwrap_or_default();
        let mut machines: BTreeMap<u64, Arc<Machine>> = BTreeMap::new();
        machines.extend(self.fleet.machines().into_iter().chain(self.machines.clone()).map(|m| (m.id, m)));
        machines.values().fold(controller, |text, machine| text + &machine.log())
    }

    /// Removes what was created in somebody's cluster.
    pub async fn clear(&self) -> Result<(), StageError> {
        if matches!(&*self.api, Api::Real(_)) {
            self.kill_controller();
        }
        let machines = self.machines.iter().cloned().chain(self.fleet.machines());
        let nodes: Vec<String> = machines.map(|machine| machine.name.clone()).collect();
        Ok(self.api.clear(&self.lease, &nodes).await?)
    }
}

fn missed(what: String, within: Duration) -> StageError {
    StageError::Missed { what, within, status: String::new(), reason: String::new() }
}

const ARMS_WITHIN: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(50);
