//! F1: the controller is killed in mid-lease. The last deadline it wrote is the machine's end.

use std::time::Duration;

use super::row::{Layer, Row};
use crate::stage::{Stage, StageError};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    stage.kill_controller();
    let gone = stage.gone(stage.machine(), DEADLINE_WITHIN).await?;
    Ok(Row::ended("F1", gone, Layer::Agent, BOUND))
}

/// renewInterval + slack, and some time to be wrong in.
const DEADLINE_WITHIN: Duration = Duration::from_secs(40);
const BOUND: Duration = Duration::from_secs(1);
