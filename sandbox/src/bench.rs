//! Measures an agent, from outside: its file, its memory, the cloud's and the cluster's ledgers.

use std::{process::ExitCode, time::Duration};

use crate::{programs::Programs, stage::StageError};

/// What to measure.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Options {
    /// Firings measured with an API server that answers, and again with one that does not.
    #[arg(long, default_value_t = 200)]
    firings: usize,
    /// Heartbeats, of a second each, after which memory is read: 120 are an hour's worth.
    #[arg(long, default_value_t = 120)]
    heartbeats: u64,
    /// Minutes for which requests are counted, at the real heartbeat of 30 s.
    #[arg(long, default_value_t = 4)]
    steady_minutes: u64,
}

pub(crate) async fn play(_programs: Programs, _options: Options) -> Result<ExitCode, StageError> {
    Ok(ExitCode::SUCCESS)
}
