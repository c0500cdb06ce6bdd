//! F12: nothing is left that could end the bill. The controller is killed, the API server answers nobody, agent and backstop
//! of the machine are dead. A sweeper somewhere else, with a token and nothing else, deletes.
//!
//! The deadline of this row is the one in the server's label, the lease's end: the Node and its annotation are out of reach.

use std::time::Duration;

use curfew_contract::label;
use jiff::Timestamp;

use super::row::{Layer, Row};
use crate::stage::{Gone, Stage, StageError};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    let joined = stage.joined().await?;
    let machine = stage.machine();
    stage.kill_controller();
    machine.kill_all();
    stage.api.hang(true);
    let servers = stage.cloud.servers().into_iter();
    let label = servers
        .filter(|server| server.id == machine.id)
        .find_map(|mut it| it.labels.remove(label::EXPIRES_AT));
    let deadline = label.and_then(|label| Timestamp::from_second(label.parse().ok()?).ok());
    let sweeper = stage.sweeper(EVERY, GRACE)?;
    let gone = stage.gone(machine, LEASE_ENDS_WITHIN).await?.map(|gone| Gone { deadline, ..gone });
    drop(sweeper);
    stage.api.hang(false);
    Ok(Row::ended("F12", gone, Layer::Sweeper, BOUND).joined(joined))
}

const LEASE_ENDS_WITHIN: Duration = Duration::from_mins(2);
const EVERY: Duration = Duration::from_secs(5);
/// Five minutes in earnest.
const GRACE: Duration = Duration::from_secs(10);
/// The grace, one period, and 5 s to list and to delete. In earnest, with the timer: 11.5 min.
const BOUND: Duration = Duration::from_secs(20);
