//! F2: the machine's agent and its backstop are dead. The controller, which rented it, deletes it when the lease ends.

use std::time::Duration;

use super::row::{Layer, Row};
use crate::stage::{Stage, StageError};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    let joined = stage.joined().await?;
    stage.machine().kill_all();
    let gone = stage.gone(stage.machine(), LEASE_ENDS_WITHIN).await?;
    Ok(Row::ended("F2", gone, Layer::Controller, BOUND).joined(joined))
}

const LEASE_ENDS_WITHIN: Duration = Duration::from_mins(1);
const BOUND: Duration = Duration::from_secs(1);
