//! The command line.

use std::{error::Error, path::PathBuf, process::ExitCode};

use clap::{Args, Parser};

use crate::{
    programs::Programs,
    scenario::Scenario,
};

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
    /// Nodes and leases are created and removed there; the CRD stays.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    programs: ProgramArgs,
}

#[derive(Args, Debug)]
struct ProgramArgs {
    /// Another agent than the one built in.
    #[arg(long, global = true, value_name = "PATH")]
    agent: Option<PathBuf>,
    /// Another controller than the one built in.
    #[arg(long, global = true, value_name = "PATH")]
    controller: Option<PathBuf>,
}

impl ProgramArgs {
    fn programs(self) -> std::io::Result<Programs> {
        let own = Programs::own()?;
        let own = self.agent.into_iter().fold(own, Programs::with_agent);
        Ok(self.controller.into_iter().fold(own, Programs::with_controller))
    }
}

impl Cli {
    /// Does what was asked.
    pub(crate) async fn play(self) -> Result<ExitCode, Box<dyn Error>> {
        let programs = self.programs.programs()?;
        let mut held = true;
        for s in self.scenario {
            let row = s.play(programs.clone(), self.kubeconfig.clone()).await?;
            println!("{}", serde_json::to_string(&row)?);
            held &= row.held;
        }
        Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
