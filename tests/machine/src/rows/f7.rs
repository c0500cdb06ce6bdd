//! F7: an armed machine does not run while its deadline passes. Suspended to RAM, its clocks show it: it fires as soon as
//! it wakes. Paused by the hypervisor, no clock of its own does: only the API server can tell it the time.

use std::time::Duration;

use curfew_sandbox::scenario::Layer;
use jiff::SignedDuration;

use super::{
    Played, Stage,
    virtual_machine::{ApiServer, bound},
};
use crate::{clock, vm::Rtc};

pub(super) async fn suspended(stage: &Stage) -> Played {
    let scene = stage.virtual_machine(Rtc::Utc, SLACK).await?;
    let deadline = scene.cut_off(ApiServer::Hangs).await?;
    scene.machine.suspend().await?;
    scene.wait_until(deadline, PAST).await;
    scene.machine.wake().await?;
    let bound = bound(deadline, clock::now(), AWAKE);
    scene.ends(Layer::Agent, FIRES_WITHIN, bound).await
}

pub(super) async fn paused(stage: &Stage, left: ApiServer) -> Played {
    let scene = stage.virtual_machine(Rtc::Utc, SLACK).await?;
    let deadline = scene.cut_off(left).await?;
    let began = clock::now();
    scene.machine.pause().await?;
    scene.wait_until(deadline, PAST).await;
    scene.machine.resume().await?;
    let resumed = clock::now();
    let bound = match left {
        ApiServer::Up => bound(deadline, resumed, TOLD),
        // Late by just the pause: its own time goes on where it stopped.
        ApiServer::Hangs | ApiServer::Closed => {
            bound(deadline, deadline + resumed.duration_since(began), LOOSE)
        }
    };
    scene.ends(Layer::Agent, FIRES_WITHIN, bound).await
}

const SLACK: Duration = Duration::from_secs(15);
const PAST: SignedDuration = SignedDuration::from_secs(10);
/// The Node is read for 10 s before a deadline is acted upon that passed in sleep.
const AWAKE: SignedDuration = SignedDuration::from_secs(15);
/// A step of cluster time is believed when it has been confirmed for a minute; and a heartbeat before it is first heard,
/// and one after.
const TOLD: SignedDuration = SignedDuration::from_secs(66);
const LOOSE: SignedDuration = SignedDuration::from_secs(1);
const FIRES_WITHIN: Duration = Duration::from_mins(2);
