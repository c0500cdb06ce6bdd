//! F1: the controller is killed in mid-lease. The last deadline it wrote is the machine's end.

use std::time::Duration;

use curfew_sandbox::scenario::Layer;

use super::{Played, Stage};

pub(super) async fn play(stage: &Stage) -> Played {
    let scene = stage.container().await?;
    scene.world.hold(RENEW, SLACK).await?;
    scene.armed().await?;
    scene.world.kill_controller();
    scene.ends(Layer::Agent, DEADLINE_WITHIN, BOUND).await
}

/// The shortest that there are.
pub(super) const RENEW: Duration = Duration::from_secs(10);
pub(super) const SLACK: Duration = Duration::from_secs(11);
/// Both, and some time to be wrong in.
pub(super) const DEADLINE_WITHIN: Duration = Duration::from_secs(40);
/// Of an agent that runs.
pub(super) const BOUND: Duration = Duration::from_secs(1);
