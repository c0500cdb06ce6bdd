//! F10: an action holds the server's lock at the deadline; when it ends, somebody has switched delete protection on.

use std::time::Duration;

use super::row::{Layer, Row};
use crate::stage::{Stage, StageError};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    stage.kill_controller();
    let (machine, deadline) = (stage.machine(), stage.deadline(stage.machine()).await?);
    stage.until(deadline - BEFORE).await;
    stage.cloud.set_locked(machine.id, true);
    stage.until(deadline + LOCKED_UNTIL).await;
    stage.cloud.set_protected(machine.id, true);
    stage.cloud.set_locked(machine.id, false);
    let gone = stage.gone(machine, AFTER_UNLOCK * 3).await?;
    Ok(Row::ended("F10", gone, Layer::Agent, LOCKED_UNTIL + AFTER_UNLOCK))
}

const BEFORE: Duration = Duration::from_secs(2);
const LOCKED_UNTIL: Duration = Duration::from_secs(7);
const AFTER_UNLOCK: Duration = Duration::from_secs(10);
