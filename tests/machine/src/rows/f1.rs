//! F1: the controller is killed in mid-lease. The last deadline it wrote is the machine's end.

use std::time::Duration;

use curfew_sandbox::scenario::Layer;

use super::{Played, Stage};

pub(super) async fn play(stage: &Stage) -> Played {
    let scene = stage.scene().await?;
    scene.world.hold(Duration::from_secs(10), Duration::from_secs(11)).await?;
    scene.armed().await?;
    scene.world.kill_controller();
    scene.ends(Layer::Agent, DEADLINE_WITHIN, BOUND).await
}

/// Renewal and slack, and some time to be wrong in.
const DEADLINE_WITHIN: Duration = Duration::from_secs(40);
const BOUND: Duration = Duration::from_secs(1);
