//! Real machines: rows of the failure matrix with real systemd and real cloud-init, in containers and virtual machines.
//!
//! ```text
//! args ─▶ enclosure ─▶ site ─────────▶ rows ─▶ world ──▶ document ─▶ bed: container, vm ─▶ console ─▶ evidence
//!         private       bridge, depot,          cloud, cluster,       the machine
//!         namespaces    metadata                controller
//! ```
//!
//! The machine gets one thing from us: a document for cloud-init. It fetches the agent over HTTP, installs it, and is
//! left to itself. A row counts only if what the machine said on its console and what the cloud wrote into its ledger
//! agree ([`evidence`]). What cannot be played here is reported as skipped, never as held.

mod args;
mod bed;
mod clock;
mod console;
mod container;
mod document;
mod enclosure;
mod evidence;
mod rows;
mod site;
mod vm;
mod world;

use std::{error::Error, process::ExitCode};

use clap::Parser;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(exit) = curfew_sandbox::programs::become_other(&arguments) {
        return exit;
    }
    let cli = args::Cli::parse();
    match enclosure::enter() {
        Ok(()) => {}
        // Elsewhere a skipped run is no surprise; where it could be mended, it must not look like one.
        Err(missing @ enclosure::Refused::NotInstalled(_)) => {
            report("machine", &missing);
            return ExitCode::FAILURE;
        }
        Err(reason) => {
            println!("SKIPPED: {reason}");
            return ExitCode::from(SKIPPED);
        }
    }
    match play(cli) {
        Ok(exit) => exit,
        Err(error) => {
            report("machine", error.as_ref());
            ExitCode::FAILURE
        }
    }
}

fn play(cli: args::Cli) -> Result<ExitCode, Box<dyn Error>> {
    enclosure::furnish()?;
    // Refused only if one is installed already.
    drop(rustls::crypto::ring::default_provider().install_default());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        let interrupted = curfew_sandbox::interrupted();
        tokio::select! {
            result = cli.play() => result,
            () = interrupted => Ok(ExitCode::from(130)),
        }
    });
    // Ends what is still played, and with it the machines.
    drop(runtime);
    enclosure::leave();
    exit
}

fn report(who: &str, error: &dyn Error) {
    eprintln!("{who}: {error}");
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.for_each(|cause| eprintln!("  because: {cause}"));
}

/// Exit code of a run that proved nothing, by automake's convention.
const SKIPPED: u8 = 77;
