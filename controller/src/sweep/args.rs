//! The command line of `sweep`, as typed.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use curfew_contract::duration;
use jiff::SignedDuration;

use super::plan::Patience;
use crate::cloud::{Endpoint, Plain};

/// Options of `curfew-controller sweep`.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct SweepArgs {
    /// Whose API is asked.
    #[arg(long, value_enum)]
    pub(crate) provider: ProviderName,

    /// Only servers that this cluster rented: the UID of its namespace kube-system [default: those of every cluster].
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) cluster: Option<String>,

    /// Look once. This is the default.
    #[arg(long, conflicts_with = "every")]
    once: bool,

    /// Look again and again, so long after each look, until SIGTERM or SIGINT.
    #[arg(long, value_name = "DURATION", value_parser = period)]
    pub(crate) every: Option<Duration>,

    /// Delete nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Where the token is [default: it is in the variable `HCLOUD_TOKEN`]. Read again at each look.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// Another address of the API, with its /v1.
    #[arg(
        long,
        env = "HCLOUD_ENDPOINT",
        value_name = "URL",
        default_value = curfew_provider::hetzner::ENDPOINT,
        value_parser = |text: &str| Endpoint::read(text, Plain::ThisMachine)
    )]
    pub(crate) endpoint: Endpoint,

    /// How long after the deadline in its label a server goes. With less than 5m the lease, the machine and its backstop
    /// may not have had their turn.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = span)]
    grace: SignedDuration,

    /// Also delete what was rented by a cluster and carries no deadline that can be read, so long after its creation: for
    /// example 15m. Without this such servers are named only (exit code 4), since from outside nobody can say whether
    /// their lease lives.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    unreadable_after: Option<SignedDuration>,

    /// Print one JSON object a line: each server, then the summary.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Providers that can be swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderName {
    /// Hetzner Cloud.
    Hetzner,
}

impl SweepArgs {
    pub(super) const fn patience(&self) -> Patience {
        Patience { overdue: self.grace, unreadable: self.unreadable_after }
    }
}

fn span(text: &str) -> Result<SignedDuration, String> {
    let span = duration::parse(text).map_err(|error| error.to_string())?;
    if span.is_negative() { Err("it must not be negative".into()) } else { Ok(span) }
}

fn period(text: &str) -> Result<Duration, String> {
    let span = span(text)?.unsigned_abs();
    if span < Duration::from_secs(1) { Err("at least a second".into()) } else { Ok(span) }
}

const EXIT_CODES: &str = "\
Exit codes:
  0  nothing is overdue, or all that was is confirmed absent; with --every: stopped by a signal
  1  it could not look: no answer, or the token was refused
  2  the command line is wrong, or there is no token
  3  something overdue is still there: it could not be deleted, or --dry-run
  4  nothing of that, but a server's deadline cannot be read: a person must look, it bills";
