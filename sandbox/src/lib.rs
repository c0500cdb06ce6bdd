//! The sandbox: the guarantee on a laptop, with nothing installed.
//!
//! ```text
//! args ─▶ show, scenario, up, bench ─▶ stage ─┬─▶ cloud      loopback Hetzner: ledger, faults
//!                                             ├─▶ api        loopback Kubernetes (cluster), or a real one
//!                                             ├─▶ controller a real process
//!                                             └─▶ machine    a real agent process, and a PID 1 with its timer: rented by hand,
//!                                                            or booted since a server was created (fleet)
//! ```
//!
//! A [`stage::Stage`] is one of everything. What happened is read from outside only: from the cloud's ledger and from
//! the Node, never from what a component says of itself. Deleting a server in the cloud kills its machine's processes.
//!
//! One executable is every program: called as `sandbox agent …` it is the agent, as `sandbox controller …` the
//! controller, each in a process of its own ([`programs`]).

pub mod api;
mod args;
mod bench;
mod clock;
pub mod cloud;
pub mod cluster;
pub mod leak;
pub mod machine;
mod matrix;
pub mod process;
pub mod programs;
pub mod scenario;
mod show;
pub mod stage;
mod up;
mod view;

use std::{error::Error, ffi::OsString, process::ExitCode};

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

/// The program: `args` as `main` gets them, the program's own name first.
#[must_use]
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(exit) = programs::become_other(&args) {
        return exit;
    }
    let cli = match args::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            drop(error.print());
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    // Refused only if one is installed already.
    drop(rustls::crypto::ring::default_provider().install_default());
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    runtime.block_on(async {
        // Before anything is started that would be left behind.
        let interrupted = interrupted();
        tokio::select! {
            result = cli.play() => result.unwrap_or_else(|error| failed(error.as_ref())),
            // Returning drops the stages, and with them every process.
            () = interrupted => ExitCode::from(130),
        }
    })
}

/// By a person, a supervisor, or a terminal that was closed. From this call on, not from its first poll. Must be called
/// within a tokio runtime.
pub fn interrupted() -> impl Future<Output = ()> {
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    async move {
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

fn failed(error: &dyn Error) -> ExitCode {
    report("sandbox", error);
    ExitCode::FAILURE
}

fn report(who: &str, error: &dyn Error) {
    eprintln!("{who}: {error}");
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.for_each(|cause| eprintln!("  because: {cause}"));
}
