//! F8: the ledger can no longer be written, and the agent is killed and started again. Renewals go on: the machine must
//! outlive every deadline that is renewed, and end with the lease.

use std::time::Duration;

use super::row::{Layer, Row};
use crate::stage::{Stage, StageError};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    let machine = stage.machine();
    machine.freeze_ledger()?;
    machine.kill_agent(true);
    // A machine killed early is killed before the deadline on its Node, which is renewed until the lease ends.
    let gone = stage.gone(machine, LEASE_ENDS_WITHIN).await?;
    Ok(Row::ended("F8", gone, Layer::Agent, BOUND))
}

const LEASE_ENDS_WITHIN: Duration = Duration::from_secs(90);
const BOUND: Duration = Duration::from_secs(1);
