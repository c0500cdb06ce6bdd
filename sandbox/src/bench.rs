//! Measures an agent from outside: its file, its memory, and what the ledgers of cloud and cluster hold of it.

mod firings;
mod memory;
mod requests;

use std::{path::Path, process::ExitCode, time::Duration};

use serde::Serialize;
use tokio::try_join;

use crate::{programs::Programs, stage::StageError};
use firings::Spread;
use requests::Rates;

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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    binary_bytes: Option<u64>,
    resident_kib: u64,
    heartbeats: u64,
    firing_millis: Spread,
    firing_millis_api_hanging: Spread,
    requests: Rates,
}

/// Measures, and prints: for people, then one line of JSON.
pub(crate) async fn play(programs: Programs, options: Options) -> Result<ExitCode, StageError> {
    let binary_bytes = binary(&programs);
    let size = binary_bytes.map_or_else(
        || "the sandbox's own executable, which is more than the agent: give --agent PATH".to_owned(),
        |bytes| format!("{:.2} MiB", mebibytes(bytes)),
    );
    println!("binary         {size}");
    let steady = Duration::from_mins(options.steady_minutes);
    let (resident_kib, requests, firing_millis, firing_millis_api_hanging) = try_join!(
        memory::after(options.heartbeats, &programs),
        requests::count(steady, &programs),
        firings::measure(options.firings, false, &programs),
        firings::measure(options.firings, true, &programs),
    )?;
    println!(
        "resident       {:.2} MiB after {} heartbeats",
        mebibytes(resident_kib * 1024),
        options.heartbeats
    );
    println!("requests       {requests}");
    println!("deadline → DELETE on the wire, milliseconds:\n  normally     {firing_millis}");
    println!("  API hanging  {firing_millis_api_hanging}");
    let heartbeats = options.heartbeats;
    let figures = Figures {
        binary_bytes,
        resident_kib,
        heartbeats,
        firing_millis,
        firing_millis_api_hanging,
        requests,
    };
    println!("{}", serde_json::to_string(&figures).unwrap_or_default());
    Ok(ExitCode::SUCCESS)
}

/// Size of the agent's file, if it is a file of its own.
fn binary(programs: &Programs) -> Option<u64> {
    let path: &Path = programs.agent_path();
    if programs.agent_is_separate() { std::fs::metadata(path).ok().map(|file| file.len()) } else { None }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}
