//! The controller: writes a rolling deadline to every Node that a `CapacityLease` holds, and shows whether each
//! machine will keep its own.
//!
//! ```text
//! watch ─▶ observe ─▶ hold ─▶ deadline ─▶ renew ──▶ apply      deadlines: wait for nothing else
//!   │         │         └───▶ status ───▶ publish ▶ apply      what people see
//!   │         └──▶ condition ────┘ └▶ event
//!   └─▶ clock (the API server's time)
//! ```
//!
//! `terms`, `hold`, `deadline`, `condition`, `status` are pure; `apply` is the only writer.

mod admin;
mod apply;
mod args;
mod clock;
mod condition;
pub mod crd;
mod deadline;
mod event;
#[cfg(test)]
mod fixture;
mod hold;
mod identify;
mod observe;
mod pass;
mod publish;
mod renew;
mod run;
mod shared;
mod status;
mod terms;
mod watch;

use std::{error::Error, ffi::OsString, process::ExitCode};

use clap::Parser;
use kube::CustomResourceExt;

use crate::args::{Cli, Command, LogFormat, RunArgs};

/// Runs the program with the process's own arguments.
#[must_use]
pub fn main() -> ExitCode {
    run_from(std::env::args_os())
}

/// Runs the program; `args` begins with its name. Exit code 0: done, or stopped by a signal. 1: it could not go on,
/// and said why. 2: the command line is wrong.
pub fn run_from<I: IntoIterator<Item = OsString>>(args: I) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            drop(error.print());
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    match dispatch(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("curfew-controller: {error}");
            let causes = std::iter::successors(error.source(), |cause| (*cause).source());
            causes.last().inspect(|root| eprintln!("  because: {root}"));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Crd => print!("{}", print_crd()?),
        Command::Version => println!("curfew-controller {}", env!("CARGO_PKG_VERSION")),
        Command::Run(args) => {
            log_to_stderr(&args)?;
            // Refused only if one is installed already, as in the sandbox's process.
            drop(rustls::crypto::ring::default_provider().install_default());
            tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .map_err(|error| run::RunError::Process("the async runtime", error))?
                .block_on(run::run(args))?;
        }
    }
    Ok(())
}

fn log_to_stderr(args: &RunArgs) -> Result<(), Box<dyn Error>> {
    let filter = tracing_subscriber::EnvFilter::try_new(&args.log)?;
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    match args.log_format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    }
    .map_err(|error| -> Box<dyn Error> { error })
}

/// The `CustomResourceDefinition` as YAML, as `deploy/crd.yaml` holds it.
fn print_crd() -> Result<String, serde_saphyr::ser_error::Error> {
    let yaml = serde_saphyr::to_string(&crd::CapacityLease::crd())?;
    Ok(format!("# Printed by: curfew-controller crd\n{yaml}"))
}
