//! F1, seen from the work: the controller is killed. What can move is evicted before the machine goes, though its budget
//! lets go of one pod at a time; what belongs to the machine stays; and the machine goes in time.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::sleep;

use super::row::{Layer, Row, Work};
use crate::{
    api::work::{Owner, Pod},
    clock,
    stage::{Stage, StageError},
};

pub(super) async fn play(stage: &Stage) -> Result<Row, StageError> {
    let (machine, api, lease) = (stage.machine(), &stage.api, stage.lease.as_str());
    let place = async |name: &str, of: Owner| -> Result<String, StageError> {
        let pod =
            Pod { name: format!("{lease}-{name}"), node: machine.name.clone(), labels: stage.labels(), of };
        api.add_pod(&pod).await?;
        Ok(pod.name)
    };
    let movable = [place("web-1", Owner::ReplicaSet).await?, place("web-2", Owner::ReplicaSet).await?];
    let own = [place("cni", Owner::DaemonSet).await?, place("static", Owner::Kubelet).await?];
    api.add_budget(lease, &stage.labels()).await?;
    let renewed = stage.deadline(machine).await?;
    while stage.deadline(machine).await? == renewed {
        sleep(LOOK).await;
    }
    let worked = work(stage, &movable).await? == movable.len();
    stage.kill_controller();
    let deadline = stage.deadline(machine).await?;
    let mut moved = None;
    for left in (0..movable.len()).rev() {
        api.allow_disruptions(lease, 1).await?;
        moved = moved_to(stage, &movable, left, deadline).await?;
    }
    let stayed = work(stage, &own).await? == own.len();
    let gone = stage.gone(machine, DEADLINE_WITHIN).await?;
    let stayed = stayed && work(stage, &own).await? == own.len();
    let moved = moved.map(|at| at.duration_since(deadline).as_secs_f64());
    Ok(Row::ended("F1-drain", gone, Layer::Agent, BOUND).with(Work { moved, kept: worked && stayed }))
}

/// When no more than `left` of the pods still worked, if that was before the deadline.
async fn moved_to(
    stage: &Stage,
    pods: &[String],
    left: usize,
    deadline: Timestamp,
) -> Result<Option<Timestamp>, StageError> {
    loop {
        let working = work(stage, pods).await?;
        let now = clock::now();
        if working <= left || now > deadline {
            return Ok((working <= left).then_some(now));
        }
        sleep(LOOK).await;
    }
}

/// How many of the pods work.
async fn work(stage: &Stage, pods: &[String]) -> Result<usize, StageError> {
    let mut working = 0;
    for pod in pods {
        working += usize::from(stage.api.works(pod).await?);
    }
    Ok(working)
}

/// renewInterval + slack, and some time to be wrong in.
const DEADLINE_WITHIN: Duration = Duration::from_secs(50);
const BOUND: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(50);
