//! F1: the controller is killed in mid-lease. The last deadline it wrote is the machine's end.

use std::{sync::Arc, time::Duration};

use curfew_sandbox::scenario::Layer;

use super::{Played, Row, Scene};
use crate::site::Site;

pub(super) async fn play(site: &Arc<Site>) -> Played {
    let scene = Scene::set(site, Row::F1).await?;
    scene.world.hold(Duration::from_secs(10), Duration::from_secs(11)).await?;
    scene.world.armed(&scene.papers).await?;
    scene.world.kill_controller();
    scene.ends(Row::F1, Layer::Agent, DEADLINE_WITHIN, BOUND).await
}

/// Renewal and slack, and some time to be wrong in.
const DEADLINE_WITHIN: Duration = Duration::from_secs(40);
const BOUND: Duration = Duration::from_secs(1);
