//! How often an agent asks cluster and provider in steady state, at the real heartbeat.
//!
//! An hourly probe does not show within minutes, so probes are made each minute and counted: an hour has one of them.

use std::{fmt, time::Duration};

use jiff::Timestamp;
use serde::Serialize;
use tokio::time::sleep;

use crate::{
    api::Api,
    clock,
    cloud::{Caller, Entry},
    machine::{AGENT, BACKSTOP, Spec},
    programs::Programs,
    stage::{Stage, StageError},
};

/// Requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rates {
    /// To the API server, each minute, besides the open watch.
    api_per_minute: f64,
    /// Watches opened in the whole time.
    watches: usize,
    /// To the provider by the agent, each hour: those of one probe.
    provider_per_hour: f64,
    /// The same by the backstop, which probes every second hour.
    backstop_per_hour: f64,
}

/// Counts for so long.
pub(super) async fn count(steady: Duration, programs: &Programs) -> Result<Rates, StageError> {
    let mut stage = Stage::bare(programs.clone()).await?;
    let (heartbeat, probe) = (Duration::from_secs(30), Duration::from_mins(1));
    let spec = Spec { heartbeat, probe, check_every: Some(probe), ..Spec::fast("m1", stage.labels()) };
    stage.rent(spec).await?;
    sleep(STARTED).await;
    let begin = clock::now();
    sleep(steady).await;
    let entries = stage.cloud.ledger();
    let writes = |entry: &&Entry| entry.method == "PUT";
    let by = |who: &str| {
        let calls: Vec<&Entry> = entries.iter().filter(|entry| is_by(entry, who)).collect();
        let probes = calls.iter().copied().filter(|entry| writes(entry)).count();
        ratio(calls.len(), probes)
    };
    let (asked, watches) = asked(&stage.api, begin);
    Ok(Rates {
        api_per_minute: ratio(asked, 1) / (steady.as_secs_f64() / 60.0),
        watches,
        provider_per_hour: by(AGENT),
        backstop_per_hour: by(BACKSTOP) / 2.0,
    })
}

fn is_by(entry: &Entry, who: &str) -> bool {
    matches!(&entry.caller, Caller::Known { holder, .. } if holder == who)
}

/// Requests and watches since `begin`.
fn asked(api: &Api, begin: Timestamp) -> (usize, usize) {
    let Api::Loopback(cluster) = api else { return (0, 0) };
    let calls: Vec<_> =
        cluster.calls().into_iter().filter(|call| call.user.starts_with("system:node:")).collect();
    let requests = calls.iter().filter(|call| call.verb != "watch" && call.at >= begin).count();
    (requests, calls.iter().filter(|call| call.verb == "watch").count())
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn ratio(count: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { count as f64 / of as f64 }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { api_per_minute, watches, provider_per_hour, backstop_per_hour } = self;
        write!(
            f,
            "{api_per_minute:.2} a minute to the API server ({watches} watch opened in all); to the provider \
             {provider_per_hour:.1} an hour, the backstop {backstop_per_hour:.1}"
        )
    }
}

/// By then it has found everything out.
const STARTED: Duration = Duration::from_secs(40);
