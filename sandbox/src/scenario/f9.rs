//! F9: around the deadline the provider's API refuses connections, then accepts them and never answers.

use std::time::Duration;

use super::row::{Layer, Row};
use crate::{
    cloud::Mode,
    stage::{Stage, StageError},
};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    // The deadline no longer moves: the row knows when it is.
    stage.kill_controller();
    let deadline = stage.deadline(stage.machine()).await?;
    stage.until(deadline - BEFORE).await;
    stage.cloud.set_api(Mode::Refuse).await?;
    stage.until(deadline + REFUSES_UNTIL).await;
    stage.cloud.set_api(Mode::Hang).await?;
    stage.until(deadline + DOWN_UNTIL).await;
    stage.cloud.set_api(Mode::Up).await?;
    let gone = stage.gone(stage.machine(), AFTER_RECOVERY * 2).await?;
    Ok(Row::ended("F9", gone, Layer::Agent, DOWN_UNTIL + AFTER_RECOVERY))
}

const BEFORE: Duration = Duration::from_secs(3);
const REFUSES_UNTIL: Duration = Duration::from_secs(8);
const DOWN_UNTIL: Duration = Duration::from_secs(22);
/// The longest pause between attempts and one call's time-out.
const AFTER_RECOVERY: Duration = Duration::from_secs(70);
