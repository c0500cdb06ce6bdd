//! F7: an armed machine does not run while its deadline passes. Suspended to RAM, its clocks show it: it fires as soon as
//! it wakes. Paused by the hypervisor, no clock of its own does: its time goes on where it stopped, and only the API
//! server can tell it that it is later than that.

use std::time::Duration;

use curfew_sandbox::scenario::Layer;
use jiff::{SignedDuration, Timestamp};

use super::{
    Played, RowError, Stage,
    stage::Scene,
    virtual_machine::{ApiServer, bound},
};
use crate::{
    bed::Bed,
    clock,
    vm::{Rtc, Vm},
};

pub(super) async fn suspended(stage: &Stage) -> Played {
    let scene = stage.virtual_machine(Rtc::Utc, SLACK).await?;
    let deadline = scene.cut_off(ApiServer::Hangs).await?;
    let bound = sleeps_past(&scene, deadline, AWAKE).await?;
    // The timer catches up when it wakes, so the backstop may be as quick.
    scene.ends(Layer::Any, FIRES_WITHIN, bound).await
}

/// The agent is stopped before: what is left is the timer of process 1, whose monotonic half slept too.
pub(super) async fn suspended_without_agent(stage: &Stage) -> Played {
    let scene = stage.virtual_machine(Rtc::Utc, SLACK).await?;
    let deadline = scene.cut_off(ApiServer::Hangs).await?;
    scene.machine.run("systemctl stop curfew-agent").await?;
    let bound = sleeps_past(&scene, deadline, CAUGHT_UP).await?;
    scene.ends(Layer::Backstop, FIRES_WITHIN, bound).await
}

/// Returns how late it may be then: `then` after waking.
async fn sleeps_past(
    scene: &Scene<Vm>,
    deadline: Timestamp,
    then: SignedDuration,
) -> Result<Duration, RowError> {
    scene.machine.suspend().await?;
    scene.wait_until(deadline, PAST).await;
    scene.machine.wake().await?;
    Ok(bound(deadline, clock::now(), then))
}

pub(super) async fn paused(stage: &Stage, left: ApiServer) -> Played {
    let slack = if left == ApiServer::Up { LONGER_THAN_TOLD } else { SLACK };
    let scene = stage.virtual_machine(Rtc::Utc, slack).await?;
    let deadline = scene.cut_off(left).await?;
    let began = clock::now();
    scene.machine.pause().await?;
    scene.wait_until(deadline, PAST).await;
    scene.machine.resume().await?;
    let resumed = clock::now();
    let told = bound(deadline, resumed, TOLD);
    let by_itself = bound(deadline, deadline + resumed.duration_since(began), LOOSE);
    let bound = if left == ApiServer::Up { told.min(by_itself) } else { by_itself };
    scene.ends(Layer::Agent, FIRES_WITHIN, bound).await
}

const SLACK: Duration = Duration::from_secs(15);
/// So that the machine, left to itself, would fire later than when it is told the time.
const LONGER_THAN_TOLD: Duration = Duration::from_secs(80);
const PAST: SignedDuration = SignedDuration::from_secs(10);
/// The Node is read for 10 s before a deadline is acted upon that passed in sleep.
const AWAKE: SignedDuration = SignedDuration::from_secs(15);
/// As the backstop's own bound: a minute until the timer, and its reading of the Node.
const CAUGHT_UP: SignedDuration = SignedDuration::from_secs(75);
/// A step of cluster time is believed when answers have confirmed it for a minute. They come with each heartbeat: here
/// each second, on a machine in use each 30 s, which makes 2 min.
const TOLD: SignedDuration = SignedDuration::from_secs(66);
const LOOSE: SignedDuration = SignedDuration::from_secs(2);
const FIRES_WITHIN: Duration = Duration::from_mins(2);
