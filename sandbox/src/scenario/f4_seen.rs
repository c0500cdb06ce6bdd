//! F4, the half that shows: the machine's token can read and no longer write. The next probe finds out.

use std::time::Duration;

use super::row::Row;
use crate::{
    cloud::Access,
    stage::{Stage, StageError},
};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    let machine = stage.machine();
    stage.cloud.set_access(&machine.token, Access::Read);
    let seen = stage.shows(&machine.name, ("False", "AuthorityDenied"), BOUND).await;
    Ok(Row::seen("F4-seen", seen.ok(), BOUND, !stage.cloud.contains(machine.id)))
}

/// One probe (5 s here, with a tenth of jitter), one heartbeat (1 s), and 2 s to write it.
const BOUND: Duration = Duration::from_millis(8_500);
