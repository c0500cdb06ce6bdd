//! F4: the machine's token can read and no longer write, so neither agent nor backstop can delete. The controller, which
//! rented the machine, does with its own when the lease ends.

use std::time::Duration;

use super::row::{Layer, Row};
use crate::{
    cloud::Access,
    stage::{Stage, StageError},
};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    let joined = stage.joined().await?;
    let machine = stage.machine();
    // One token on a real machine.
    for token in [&machine.token, &machine.backstop_token] {
        stage.cloud.set_access(token, Access::Read);
    }
    let gone = stage.gone(machine, LEASE_ENDS_WITHIN).await?;
    Ok(Row::ended("F4", gone, Layer::Controller, BOUND).joined(joined))
}

const LEASE_ENDS_WITHIN: Duration = Duration::from_mins(1);
const BOUND: Duration = Duration::from_secs(1);
