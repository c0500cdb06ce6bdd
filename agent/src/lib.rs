//! The dead man's switch.
//!
//! ```text
//! args ─▶ config ─┐                    ┌─▶ fire ─▶ (provider) ─▶ this machine is gone
//! ledger ─────────┼─▶ fuse (a thread) ─┤
//! follow ─▶ node ─┘        ▲           └─▶ heartbeat ─▶ node ─▶ (Node annotation)
//! standing: identity, authority
//! ```
//!
//! Read `fuse/verdict.rs` first: it is the decision, and it is pure. Everything else either feeds it or acts on it.

pub mod args;
pub mod backoff;
pub mod backstop;
pub mod clocks;
pub mod config;
pub mod credential;
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
    // Before anything is parsed: an option that makes no sense must not keep the lifetime from running.
    if args.get(1).is_some_and(|command| command == "run") && !asks_for_help(&args) {
        return run::run(&args);
    }
    match Cli::try_parse_from(&args) {
        Ok(cli) => act(cli.command, &args),
        Err(error) => {
            let _ = error.print();
            ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
        }
    }
}

fn act(command: Command, args: &[OsString]) -> ExitCode {
    match command {
        Command::Run(_) => run::run(args),
        Command::Check(options) => backstop::check(&configured(&options)),
        Command::Status(options) => status::status(&configured(&options)),
        Command::Verify { root, options } => {
            let (config, complaints) = Config::from_options(&options);
            verify::verify(&root, &config, &complaints)
        }
        Command::Fire { yes_delete_this_machine: false, .. } => {
            eprintln!("nothing was deleted: add --yes-delete-this-machine if this very machine is to go");
            ExitCode::from(USAGE)
        }
        Command::Fire { options, .. } => {
            let config = configured(&options);
            let parts = Parts::new(&config, Arc::new(BestTime::new()));
            let now = parts.machine();
            let earlier = parts.ledger.read(&now).record.map(|record| record.machine);
            let machine = match earlier {
                Some(earlier) => earlier.or(now),
                None => now,
            };
            parts.weapon(false).fire(Cause::Deadline, &machine, &mut || {})
        }
        Command::Version => {
            println!("curfew-agent {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
    }
}

fn configured(options: &args::Options) -> Config {
    let (config, complaints) = Config::from_options(options);
    for complaint in complaints {
        tracing::error!(complaint, "an option is wrong; the built-in value is in force");
    }
    config
}

fn asks_for_help(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg == "--help" || arg == "-h")
}

/// Exit code: the command line makes no sense.
const USAGE: u8 = 64;
