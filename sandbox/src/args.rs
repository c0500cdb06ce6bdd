//! The command line.

use std::{error::Error, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};

use crate::{bench, matrix::Matrix, programs::Programs, scenario::Scenario, show, stage::Setup, up};

/// Plays a rented machine's life: real agents and controllers in a loopback cloud and a loopback cluster.
#[derive(Debug, Parser)]
#[command(name = "sandbox")]
pub(crate) struct Cli {
    /// Play this row of the failure matrix. Can be given more than once.
    #[arg(long, value_enum, value_name = "ROW", ignore_case = true)]
    scenario: Vec<Scenario>,
    /// Play every row.
    #[arg(long, conflicts_with = "scenario")]
    all: bool,
    /// Print one JSON object a row. In a row ending in -seen, overshootSeconds is the time until the fault was shown.
    #[arg(long)]
    json: bool,
    /// Play against a real API server, with this administrator's credential: agents use it too, with --node-name.
    /// Nodes and leases are created and removed there; the CRD stays. No other curfew-controller may run there.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    programs: ProgramArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Args, Debug)]
struct ProgramArgs {
    /// Another agent than the one built in.
    #[arg(long, global = true, value_name = "PATH", value_parser = executable)]
    agent: Option<PathBuf>,
    /// Another controller than the one built in.
    #[arg(long, global = true, value_name = "PATH", value_parser = executable)]
    controller: Option<PathBuf>,
}

impl ProgramArgs {
    fn programs(self) -> std::io::Result<Programs> {
        let own = Programs::own()?;
        let own = self.agent.into_iter().fold(own, Programs::with_agent);
        Ok(self.controller.into_iter().fold(own, Programs::with_controller))
    }
}

/// Absolute: what runs does not depend on where the sandbox was started.
fn executable(path: &str) -> Result<PathBuf, String> {
    let found = std::fs::canonicalize(path).map_err(|error| error.to_string())?;
    if found.is_file() { Ok(found) } else { Err("not a file".into()) }
}

/// Besides playing.
#[derive(Debug, Subcommand)]
enum Command {
    /// Keep a cloud, a cluster, a controller and one machine running, and print how to reach them.
    Up {
        /// Leave the controller out: yours, or a stage given --kubeconfig, takes its place.
        #[arg(long)]
        without_controller: bool,
    },
    /// Measure an agent: size, memory, precision of firing, requests.
    BenchAgent(bench::Options),
}

impl Cli {
    /// Does what was asked.
    pub(crate) async fn play(self) -> Result<ExitCode, Box<dyn Error>> {
        let (programs, kubeconfig) = (self.programs.programs()?, self.kubeconfig);
        let setup = |lease, name: &str| Setup {
            kubeconfig: kubeconfig.clone(),
            name: name.into(),
            ..Setup::new(programs.clone(), lease)
        };
        match self.command {
            Some(Command::Up { without_controller }) => {
                let watchdog = (Duration::from_mins(1), Duration::from_mins(10));
                let (controller, heartbeat) = (!without_controller, Duration::from_secs(10));
                let up = setup(Duration::from_hours(8), "up");
                return Ok(up::play(Setup { watchdog, controller, heartbeat, ..up }).await?);
            }
            Some(Command::BenchAgent(options)) => return Ok(Box::pin(bench::play(programs, options)).await?),
            None => {}
        }
        let scenarios = if self.all { Scenario::ALL.to_vec() } else { self.scenario };
        if scenarios.is_empty() {
            return Ok(show::play(Setup { machines: 3, ..setup(Duration::from_secs(45), "burst") }).await?);
        }
        Ok(Matrix { scenarios, programs, kubeconfig, json: self.json }.play().await)
    }
}
