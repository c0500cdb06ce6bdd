//! F3: controller and agent are killed and stay dead. The backstop, started by PID 1's timer, fires out of the ledger.

use std::time::Duration;

use super::row::{Layer, Row};
use crate::stage::{Stage, StageError};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    stage.kill_controller();
    // The ledger is written once a minute at most and on change: the deadline in it is the last one acknowledged.
    let machine = stage.machine();
    machine.kill_agent(false);
    let gone = stage.gone(machine, DEADLINE_WITHIN).await?;
    Ok(Row::ended("F3", gone, Layer::Backstop, BOUND))
}

const DEADLINE_WITHIN: Duration = Duration::from_mins(1);
/// One period of the timer and 15 s to look, to ask the Node and to delete. The sandbox's timer runs each 5 s; the real
/// one each minute, which makes 75 s.
const BOUND: Duration = Duration::from_secs(20);
