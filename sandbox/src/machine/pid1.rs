//! A machine's PID 1: keeps the agent running, runs the backstop's timer with a time-out, and takes everything with it
//! when the machine dies. It knows nothing of deadlines.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::{process::Process, programs::Programs};

/// The machine from the inside.
pub(super) struct Host {
    dir: PathBuf,
    programs: Programs,
    agent_options: Vec<String>,
    backstop_options: Vec<String>,
    units: Mutex<Units>,
}

struct Units {
    alive: bool,
    /// Whether the agent is started whenever it does not run.
    enabled: bool,
    /// Whether the backstop is started when its timer has elapsed.
    timer: bool,
    agent: Option<Process>,
    /// Not started before.
    rests_until: Option<Instant>,
    check: Option<(Process, Instant)>,
    /// Directories that cannot be written by what is started from now on.
    frozen: Vec<PathBuf>,
}

impl Host {
    pub(super) const fn new(
        dir: PathBuf,
        programs: Programs,
        agent_options: Vec<String>,
        backstop_options: Vec<String>,
    ) -> Self {
        let units = Units {
            alive: true,
            enabled: true,
            timer: true,
            agent: None,
            rests_until: None,
            check: None,
            frozen: Vec::new(),
        };
        Self { dir, programs, agent_options, backstop_options, units: Mutex::new(units) }
    }

    /// The machine is gone: returns when nothing of it runs any more.
    pub(super) fn die(&self) {
        let mut units = self.units();
        units.alive = false;
        units.agent = None;
        units.check = None;
    }

    pub(super) fn kill_agent(&self, restart: bool) {
        let mut units = self.units();
        units.enabled = restart;
        units.end_agent();
    }

    pub(super) fn stop_timer(&self) {
        let mut units = self.units();
        units.timer = false;
        units.check = None;
    }

    pub(super) fn agent<T>(&self, of: impl FnOnce(&Process) -> T) -> Option<T> {
        self.units().agent.as_ref().map(of)
    }

    pub(super) fn freeze(&self, directories: Vec<PathBuf>) {
        self.units().frozen = directories;
    }

    /// Whether directories can be frozen for a process here.
    pub(super) fn can_freeze(&self, directories: &[PathBuf]) -> bool {
        self.programs.can_freeze(&paths(directories))
    }

    fn start(&self, units: &Units, word: &str, options: &[String]) -> io::Result<Process> {
        let mut command = self.programs.agent(&paths(&units.frozen));
        command.arg(word).args(options);
        Process::start(command, &self.dir.join("log"))
    }

    /// Brings the units to where they should be. `due`: the timer has elapsed.
    fn turn(&self, due: bool) -> io::Result<()> {
        let mut units = self.units();
        if units.agent.as_ref().is_some_and(|agent| agent.ended().is_some()) {
            units.end_agent();
        }
        let over =
            |(check, since): &(Process, Instant)| check.ended().is_some() || since.elapsed() > CHECK_TIMEOUT;
        if units.check.as_ref().is_some_and(over) {
            units.check = None;
        }
        let rested = units.rests_until.is_none_or(|until| until <= Instant::now());
        if units.alive && units.enabled && units.agent.is_none() && rested {
            units.agent = Some(self.start(&units, "run", &self.agent_options)?);
        }
        if units.alive && units.timer && due && units.check.is_none() {
            units.check = Some((self.start(&units, "check", &self.backstop_options)?, Instant::now()));
        }
        drop(units);
        Ok(())
    }

    fn units(&self) -> MutexGuard<'_, Units> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Units {
    fn end_agent(&mut self) {
        self.agent = None;
        self.rests_until = Some(Instant::now() + RESTART);
    }
}

/// Runs the machine until it is dropped.
pub(super) async fn run(host: Arc<Host>, check_every: Option<Duration>) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first run comes soon after boot, as with a systemd timer's OnBootSec.
    let mut next = check_every.map(|_| Instant::now() + FIRST_CHECK);
    loop {
        ticks.tick().await;
        let due = next.is_some_and(|next| next <= Instant::now());
        if let (true, Some(every)) = (due, check_every) {
            next = next.map(|next| next + every);
        }
        if let Err(error) = host.turn(due) {
            tracing::error!(%error, dir = %host.dir.display(), "a process of the machine cannot be started");
        }
    }
}

fn paths(directories: &[PathBuf]) -> Vec<&Path> {
    directories.iter().map(PathBuf::as_path).collect()
}

const TICK: Duration = Duration::from_millis(100);
/// As the service's `RestartSec`.
const RESTART: Duration = Duration::from_secs(1);
const FIRST_CHECK: Duration = Duration::from_secs(2);
/// As the service's start time-out.
const CHECK_TIMEOUT: Duration = Duration::from_secs(50);
