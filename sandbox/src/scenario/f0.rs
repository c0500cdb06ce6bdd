//! F0: nothing is broken. The lease ends, renewals stop at its end, and the agent deletes the machine.

use std::time::Duration;

use super::row::{Layer, Row};
use crate::stage::{Stage, StageError};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    let gone = stage.gone(stage.machine(), LEASE_ENDS_WITHIN).await?;
    Ok(Row::ended("F0", gone, Layer::Agent, BOUND))
}

const LEASE_ENDS_WITHIN: Duration = Duration::from_mins(1);
const BOUND: Duration = Duration::from_secs(1);
