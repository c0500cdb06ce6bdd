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
mod cloud;
pub mod cloud_init;
mod condition;
mod cost;
pub mod crd;
mod deadline;
mod distinct;
mod event;
#[cfg(test)]
mod fixture;
mod hold;
mod identify;
mod observe;
mod pass;
mod provider;
mod publish;
mod release;
mod renew;
mod rent;
mod run;
mod shared;
mod status;
mod sweep;
mod terms;
mod watch;

use std::{
    error::Error,
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;
use tracing_appender::non_blocking::WorkerGuard;

use crate::args::{Cli, Command, LogFormat, RunArgs};

/// Runs the program with the process's own arguments.
#[must_use]
pub fn main() -> ExitCode {
    run_from(std::env::args_os())
}

/// Runs the program; `args` begins with its name. Exit code 0: done, or stopped by a signal. 1: it could not go on,
/// and said why. 2: the command line is wrong. Of `sweep` there are more, see its `--help`.
pub fn run_from<I: IntoIterator<Item = OsString>>(args: I) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            drop(error.print());
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    match dispatch(cli.command) {
        Ok(code) => code,
        Err(error) => {
            let causes = std::iter::successors(error.source(), |cause| (*cause).source());
            let because = causes.last().map(|root| format!("\n  because: {root}")).unwrap_or_default();
            // Where standard error is closed, the exit code must do.
            drop(writeln!(io::stderr(), "curfew-controller: {error}{because}"));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Command::Crd => io::stdout().write_all(crd::print()?.as_bytes())?,
        Command::Version => writeln!(io::stdout(), "curfew-controller {}", env!("CARGO_PKG_VERSION"))?,
        Command::CloudInit(args) => {
            let document = cloud_init::render(&args.options()?)?;
            for warning in &document.warnings {
                writeln!(io::stderr(), "curfew-controller: WARNING: {warning}")?;
            }
            io::stdout().write_all(document.text.as_bytes())?;
        }
        Command::Run(args) => {
            let _written = log_to_stderr(&args)?;
            // Refused only if one is installed already, as in the sandbox's process.
            drop(rustls::crypto::ring::default_provider().install_default());
            tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .map_err(|error| run::RunError::Process("the async runtime", error))?
                .block_on(run::run(args))?;
        }
        Command::Sweep(args) => return Ok(sweep::outside(&args)?),
    }
    Ok(ExitCode::SUCCESS)
}

/// Logs through a thread of its own, which drops lines when it cannot keep up: a log that nobody reads must not keep a
/// deadline from being renewed. What is returned flushes the log when it is dropped.
fn log_to_stderr(args: &RunArgs) -> Result<WorkerGuard, Box<dyn Error>> {
    let filter = tracing_subscriber::EnvFilter::try_new(&args.log)?;
    let (writer, written) = tracing_appender::non_blocking(io::stderr());
    let log = tracing_subscriber::fmt()
        .log_internal_errors(false)
        .with_env_filter(filter)
        .with_writer(writer)
        .with_target(false);
    match args.log_format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    }
    .map_err(|error| -> Box<dyn Error> { error })?;
    Ok(written)
}
