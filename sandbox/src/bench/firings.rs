//! From the deadline to the DELETE on the wire, as the cloud's ledger has it, over many machines.

use std::{fmt, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::{
    clock,
    machine::Spec,
    programs::Programs,
    stage::{Stage, StageError},
};

/// How late, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    firings: usize,
    min: f64,
    p50: f64,
    p99: f64,
    max: f64,
}

/// Fires so many machines, a batch at a time. `hanging`: the API server falls silent once all have seen their deadline.
pub(super) async fn measure(
    firings: usize,
    hanging: bool,
    programs: &Programs,
) -> Result<Spread, StageError> {
    let mut late = Vec::new();
    while late.len() < firings {
        let size = BATCH.min(firings - late.len());
        late.extend(batch(size, hanging, programs).await?);
    }
    Ok(Spread::of(late))
}

/// Machines whose deadlines, written by hand, are a second apart.
async fn batch(size: usize, hanging: bool, programs: &Programs) -> Result<Vec<f64>, StageError> {
    let mut stage = Stage::bare(programs.clone()).await?;
    let heartbeat = Duration::from_secs(30);
    for number in 1..=size {
        // Only the daemon is measured.
        let spec = Spec { heartbeat, check_every: None, ..Spec::fast(format!("m{number}"), stage.labels()) };
        stage.rent(spec).await?;
    }
    let begin = clock::now() + SETTLES;
    let mut deadlines = Vec::new();
    for (number, machine) in (0..).zip(&stage.machines) {
        let second = Timestamp::from_second(begin.as_second() + number).unwrap_or(begin);
        stage.api.write_deadline(&machine.name, second).await?;
        deadlines.push(second);
    }
    stage.until(begin - SILENT_BEFORE).await;
    stage.api.hang(hanging);
    let mut late = Vec::new();
    for (machine, deadline) in stage.machines.iter().zip(deadlines) {
        let path = format!("/v1/servers/{}", machine.id);
        let within = Duration::try_from(deadline.duration_since(clock::now())).unwrap_or_default() + PATIENCE;
        let delete = stage.cloud.wait_call(within, |call| call.method == "DELETE" && call.path == path).await;
        let delete = delete.ok_or_else(|| StageError::Missed {
            what: format!("the DELETE of {}", machine.name),
            within,
            status: String::new(),
            reason: machine.log(),
        })?;
        late.push(millis(delete.at.duration_since(deadline)));
    }
    Ok(late)
}

impl Spread {
    fn of(mut late: Vec<f64>) -> Self {
        late.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            late.get((late.len() * percent).div_ceil(100).max(1) - 1).copied().unwrap_or(f64::NAN)
        };
        Self { firings: late.len(), min: at(0), p50: at(50), p99: at(99), max: at(100) }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { firings, min, p50, p99, max } = self;
        write!(f, "min {min:.1}  p50 {p50:.1}  p99 {p99:.1}  max {max:.1}  ({firings} firings)")
    }
}

/// The ledger's clock and the agents' are one; it is told to microseconds.
fn millis(late: SignedDuration) -> f64 {
    (late.as_secs_f64() * 1_000_000.0).round() / 1000.0
}

const BATCH: usize = 25;
/// From the first start to the first deadline: enough to find out who they are.
const SETTLES: Duration = Duration::from_secs(8);
const SILENT_BEFORE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_firings_that_happened() {
        let spread = Spread::of((1..=200).rev().map(f64::from).collect());
        assert_eq!((spread.min, spread.p50, spread.p99, spread.max), (1.0, 100.0, 198.0, 200.0));
        let one = Spread::of(vec![7.0]);
        assert_eq!((one.min, one.p50, one.p99, one.max), (7.0, 7.0, 7.0, 7.0));
    }
}
