//! The rows of the failure matrix that need no real machine, each in a file of its own: what is broken, and what is then
//! measured. A row reads the cloud's ledger and the Node only.

mod f0;
mod f0_rent;
mod f1;
mod f10;
mod f11;
mod f12;
mod f1_drain;
mod f2;
mod f2_seen;
mod f3;
mod f4;
mod f4_seen;
mod f8;
mod f9;
mod row;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    programs::Programs,
    stage::{Setup, Stage, StageError},
};

pub use row::{Layer, Row};

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scenario {
    /// Nothing is broken: the lease ends, and the agent enforces.
    #[value(name = "F0")]
    F0,
    /// Nothing is broken: the lease that rented the machine ends, and gives it back.
    #[value(name = "F0-rent")]
    F0Rent,
    /// The controller is killed.
    #[value(name = "F1")]
    F1,
    /// The controller is killed: work is moved away before the machine goes.
    #[value(name = "F1-drain")]
    F1Drain,
    /// Agent and backstop are dead: the controller deletes at the lease's end.
    #[value(name = "F2")]
    F2,
    /// The agent is killed: shown in time.
    #[value(name = "F2-seen")]
    F2Seen,
    /// Controller and agent are killed: the backstop fires.
    #[value(name = "F3")]
    F3,
    /// The machine's token loses its right to write: the controller deletes at the lease's end.
    #[value(name = "F4")]
    F4,
    /// The machine's token loses its right to write: shown in time.
    #[value(name = "F4-seen")]
    F4Seen,
    /// The ledger cannot be written, and the agent is killed and started again.
    #[value(name = "F8")]
    F8,
    /// The provider's API is down around the deadline.
    #[value(name = "F9")]
    F9,
    /// The server is locked at the deadline, and protected afterwards.
    #[value(name = "F10")]
    F10,
    /// The API server accepts connections and never answers.
    #[value(name = "F11")]
    F11,
    /// Controller, API server, agent and backstop are dead: a sweeper outside of the cluster deletes.
    #[value(name = "F12")]
    F12,
}

impl Scenario {
    /// All of them, the longest first: started in this order they end at about the same time.
    pub const ALL: [Self; 14] = [
        Self::F12,
        Self::F9,
        Self::F8,
        Self::F3,
        Self::F1Drain,
        Self::F2,
        Self::F4,
        Self::F2Seen,
        Self::F0Rent,
        Self::F10,
        Self::F0,
        Self::F1,
        Self::F11,
        Self::F4Seen,
    ];

    /// Two cores bear so many stages without firing late.
    pub const AT_ONCE: usize = 5;

    /// As the matrix names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F0 => "F0",
            Self::F0Rent => "F0-rent",
            Self::F1 => "F1",
            Self::F1Drain => "F1-drain",
            Self::F2 => "F2",
            Self::F2Seen => "F2-seen",
            Self::F3 => "F3",
            Self::F4 => "F4",
            Self::F4Seen => "F4-seen",
            Self::F8 => "F8",
            Self::F9 => "F9",
            Self::F10 => "F10",
            Self::F11 => "F11",
            Self::F12 => "F12",
        }
    }

    /// Whether the row ends with something being shown, not with a machine's end.
    #[must_use]
    pub const fn only_shows(self) -> bool {
        matches!(self, Self::F2Seen | Self::F4Seen)
    }

    /// What is broken, in words.
    #[must_use]
    pub const fn broken(self) -> &'static str {
        match self {
            Self::F0 => "nothing: the lease ends",
            Self::F0Rent => "nothing: the lease that rented the machine ends",
            Self::F1 => "controller killed (-9)",
            Self::F1Drain => {
                "controller killed (-9): work is moved, one pod at a time, then the machine goes"
            }
            Self::F2 => "agent and backstop killed; then the lease that rented the machine ends",
            Self::F2Seen => "agent killed (-9): shown as HeartbeatStale",
            Self::F3 => "controller and agent killed (-9)",
            Self::F4 => "the machine's token made read-only; then the lease that rented it ends",
            Self::F4Seen => "token made read-only: shown as AuthorityDenied",
            Self::F8 => "ledger directories read-only, agent killed and restarted; then the lease ends",
            Self::F9 => "provider's API down around the deadline (25 s here; 2 min in the matrix)",
            Self::F10 => "server locked at the deadline, then protected",
            Self::F11 => "API server accepts and never answers",
            Self::F12 => {
                "controller, API server, agent and backstop dead; then the lease ends; a sweeper outside, --every 5s --grace 10s"
            }
        }
    }

    /// Long enough to arm first; in the rows that do not wait for its end, long enough not to matter.
    const fn lease(self) -> Duration {
        match self {
            Self::F0 | Self::F0Rent => Duration::from_secs(40),
            Self::F2 | Self::F4 | Self::F12 => Duration::from_secs(45),
            Self::F8 => Duration::from_secs(65),
            _ => Duration::from_mins(30),
        }
    }

    /// Whether the controller rents the machine. Elsewhere it finds it rented.
    const fn rents(self) -> bool {
        !matches!(self, Self::F0 | Self::F1Drain | Self::F2Seen | Self::F4Seen | Self::F8)
    }

    /// `renewInterval` and `slack`: half of the latter is the grace.
    const fn watchdog(self) -> (Duration, Duration) {
        let slack = if matches!(self, Self::F1Drain) { 40 } else { 11 };
        (Duration::from_secs(10), Duration::from_secs(slack))
    }

    /// PID 1's timer: fast where the backstop is what is seen. Where the agent has to try again and again, the second
    /// layer, which would join in, is given no turn.
    const fn check_every(self) -> Duration {
        match self {
            Self::F9 | Self::F10 => Duration::from_mins(5),
            _ => Duration::from_secs(5),
        }
    }

    /// Plays the row on a stage of its own.
    pub async fn play(self, programs: Programs, kubeconfig: Option<PathBuf>) -> Result<Row, StageError> {
        let (check_every, watchdog) = (self.check_every(), self.watchdog());
        let rents = self.rents();
        let setup = Setup { kubeconfig, watchdog, check_every, rents, ..Setup::new(programs, self.lease()) };
        let stage = Stage::set(setup).await?;
        let row = self.play_on(&stage).await;
        if !row.as_ref().is_ok_and(|row| row.held) {
            eprintln!(
                "{}: did not hold. What the programs logged last:\n{}",
                self.name(),
                last(&stage.logs())
            );
        }
        stage.clear().await?;
        row
    }

    /// Starts to play rows, at most so many at once. Each is yielded as it ends. Must be called within a runtime.
    pub fn play_all(
        scenarios: impl IntoIterator<Item = Self>,
        at_once: usize,
        programs: &Programs,
        kubeconfig: Option<&Path>,
    ) -> JoinSet<(Self, Result<Row, StageError>)> {
        let (seats, mut playing) = (Arc::new(Semaphore::new(at_once)), JoinSet::new());
        for scenario in scenarios {
            let (seats, programs) = (Arc::clone(&seats), programs.clone());
            let kubeconfig = kubeconfig.map(Path::to_owned);
            playing.spawn(async move {
                let _seat = seats.acquire_owned().await;
                (scenario, scenario.play(programs, kubeconfig).await)
            });
        }
        playing
    }

    async fn play_on(self, stage: &Stage) -> Result<Row, StageError> {
        stage.armed().await?;
        match self {
            Self::F0 => f0::play(stage).await,
            Self::F0Rent => f0_rent::play(stage).await,
            Self::F1 => f1::play(stage).await,
            Self::F1Drain => f1_drain::play(stage).await,
            Self::F2 => f2::play(stage).await,
            Self::F2Seen => f2_seen::play(stage).await,
            Self::F3 => f3::play(stage).await,
            Self::F4 => f4::play(stage).await,
            Self::F4Seen => f4_seen::play(stage).await,
            Self::F8 => f8::play(stage).await,
            Self::F9 => f9::play(stage).await,
            Self::F10 => f10::play(stage).await,
            Self::F11 => f11::play(stage).await,
            Self::F12 => f12::play(stage).await,
        }
    }
}

/// The last lines, as many as a person reads.
fn last(logs: &str) -> String {
    let lines: Vec<&str> = logs.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}
