//! The dead man's switch.
//!
//! ```text
//! args ─▶ config ─┐                    ┌─▶ fire ─▶ (provider) ─▶ this machine is gone
//! ledger ─────────┼─▶ fuse (a thread) ─┤
//! follow ─▶ node ─┘        ▲           ├─▶ heartbeat ─▶ node ─▶ (Node annotation)
//!                          │           └─▶ drain ─▶ node ─▶ (cordon, evictions), while there is time
//! standing: identity, authority
//! ```
//!
//! Read `fuse/verdict.rs` first: it is the decision, and it is pure. Everything else either feeds it or acts on it.

pub mod args;
pub mod backoff;
pub mod backstop;
pub mod bootstrap;
pub mod clocks;
pub mod config;
pub mod credential;
pub mod drain;
pub mod fire;
pub mod follow;
pub mod fuse;
pub mod heartbeat;
pub mod identity;
pub mod journal;
pub mod ledger;
pub mod net;
pub mod node;
pub mod notify;
pub mod parts;
pub mod patience;
pub mod prober;
pub mod ready;
pub mod run;
pub mod standing;
pub mod status;
pub mod time;
pub mod verify;

use std::{ffi::OsString, panic, process, process::ExitCode, sync::Arc};

use clap::Parser;
use curfew_contract::Cause;

use args::{Cli, Command};
use config::Config;
use net::BestTime;
use parts::Parts;
use verify::Root;

/// The program: `args` as `main` gets them, the program's own name first.
///
/// A panic ends the process, where the service manager sees it, and never one thread of it.
#[must_use]
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        report(panic);
        process::abort();
    }));
    journal::start();
    let code = dispatch(&args);
    journal::flush();
    code
}

fn dispatch(args: &[OsString]) -> ExitCode {
    let help = args.iter().any(|arg| arg == "--help" || arg == "-h");
    match args.get(1).and_then(|command| command.to_str()) {
        // These two guard the machine: an option that makes no sense must not keep them from it, and `run` arms before
        // it parses anything.
        Some("run") if !help => run::run(args),
        Some("check") if !help => {
            let (options, complaints) = args::lenient(args);
            complain(&complaints);
            backstop::check(&configured(&options))
        }
        _ => match Cli::try_parse_from(args) {
            Ok(cli) => act(cli.command, args),
            Err(error) => {
                let _ = error.print();
                ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
            }
        },
    }
}

fn act(command: Command, args: &[OsString]) -> ExitCode {
    match command {
        Command::Run(_) => run::run(args),
        Command::Check(options) => backstop::check(&configured(&options)),
        Command::Status(options) => status::status(&configured(&options)),
        Command::Ready { wait, options } => ready::ready(&configured(&options), wait),
        Command::Verify { root, image, options } => {
            let (config, complaints) = Config::from_options(&options);
            verify::verify(&Root::new(root, image), &config, &complaints)
        }
        Command::Fire { yes_delete_this_machine: false, .. } => {
            eprintln!("nothing was deleted: add --yes-delete-this-machine if this very machine is to go");
            ExitCode::from(USAGE)
        }
        Command::Fire { options, .. } => {
            let config = configured(&options);
            let parts = Parts::new(&config, Arc::new(BestTime::new()));
            let now = parts.machine();
            let record = parts.ledger.read(&now).record;
            let machine = match record {
                Some(record) => record.machine_now(now, clocks::boot_id().as_deref()),
                None => now,
            };
            parts.weapon(false).fire(Cause::Deadline, &machine, &mut |_| {})
        }
        Command::Version => {
            println!("curfew-agent {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
    }
}

fn configured(options: &args::Options) -> Config {
    let (config, complaints) = Config::from_options(options);
    complain(&complaints);
    config
}

fn complain(complaints: &[args::Complaint]) {
    for complaint in complaints {
        tracing::error!(complaint, "an option is wrong; the built-in value is in force");
    }
}

/// Exit code: the command line makes no sense.
const USAGE: u8 = 64;
