//! F0 of a lease that rents: nothing is broken. At its end the controller gives the machine back; the agent, whose deadline
//! is the same second, may be faster.

use std::time::Duration;

use super::row::{Layer, Row};
use crate::stage::{Stage, StageError};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    let joined = stage.joined().await?;
    let gone = stage.gone(stage.machine(), LEASE_ENDS_WITHIN).await?;
    Ok(Row::ended("F0-rent", gone, Layer::ControllerOrAgent, BOUND).joined(joined))
}

const LEASE_ENDS_WITHIN: Duration = Duration::from_mins(1);
const BOUND: Duration = Duration::from_secs(1);
