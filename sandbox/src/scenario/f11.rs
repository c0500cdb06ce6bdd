//! F11: the machine is cut off from the cluster in the nasty way: the API server's address accepts connections and never
//! answers, on open connections neither.

use std::time::Duration;

use super::row::{Layer, Row};
use crate::stage::{Stage, StageError};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    stage.api.hang(true);
    let gone = stage.gone(stage.machine(), DEADLINE_WITHIN).await?;
    stage.api.hang(false);
    Ok(Row::ended("F11", gone, Layer::Agent, BOUND))
}

const DEADLINE_WITHIN: Duration = Duration::from_secs(40);
const BOUND: Duration = Duration::from_secs(1);
