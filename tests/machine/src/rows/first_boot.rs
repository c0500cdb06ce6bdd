//! First boot with a real-time clock that is wrong. The machine arms all the same, and goes by cluster time.

use std::time::Duration;

use curfew_sandbox::scenario::Layer;

use super::{
    Played, Stage,
    virtual_machine::{ApiServer, ON_TIME},
};
use crate::vm::Rtc;

pub(super) async fn play(stage: &Stage, rtc: Rtc) -> Played {
    let scene = stage.virtual_machine(rtc, SLACK).await?;
    scene.cut_off(ApiServer::Up).await?;
    scene.ends(Layer::Agent, DEADLINE_WITHIN, ON_TIME).await
}

const SLACK: Duration = Duration::from_secs(15);
const DEADLINE_WITHIN: Duration = Duration::from_mins(1);
