//! F2, the half that shows: the agent is killed and stays dead. The controller says so once the heartbeat is stale.

use std::time::Duration;

use super::row::Row;
use crate::stage::{Stage, StageError};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    let machine = stage.machine();
    machine.kill_agent(false);
    let seen = stage.shows(&machine.name, ("False", "HeartbeatStale"), BOUND).await;
    Ok(Row::seen("F2-seen", seen.ok(), BOUND, !stage.cloud.contains(machine.id)))
}

/// Three periods, of 10 s at least whatever the agent says, and 2 s to write it.
const BOUND: Duration = Duration::from_secs(32);
