//! F5: the wall clock of an armed machine is set wrong, and the API server, which could correct it, is gone afterwards.

use std::time::Duration;

use curfew_sandbox::scenario::Layer;

use super::{
    Played, Stage,
    f3::BACKSTOP,
    virtual_machine::{ApiServer, ON_TIME},
};
use crate::{bed::Bed, vm::Rtc};

/// Where the clock is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Back,
    Epoch,
    Ahead,
}

impl Step {
    const fn command(self) -> &'static str {
        match self {
            Self::Back => "date --set=-3hours",
            // Not the first: the kernel sets no clock to before the machine's own start.
            Self::Epoch => "date --set=1970-01-02",
            Self::Ahead => "date --set=+3hours",
        }
    }
}

pub(super) async fn play(stage: &Stage, step: Step, left: ApiServer) -> Played {
    let scene = stage.virtual_machine(Rtc::Utc, SLACK).await?;
    scene.machine.run(step.command()).await?;
    scene.cut_off(left).await?;
    scene.ends(Layer::Agent, DEADLINE_WITHIN, ON_TIME).await
}

/// The agent is stopped: what is left is the timer of process 1, which goes by both kinds of clock.
pub(super) async fn without_agent(stage: &Stage) -> Played {
    let scene = stage.virtual_machine(Rtc::Utc, SLACK).await?;
    // After the last renewal, else that would be one which only the Node knows.
    scene.cut_off(ApiServer::Hangs).await?;
    let stopped = format!("systemctl stop curfew-agent && {}", Step::Back.command());
    scene.machine.run(&stopped).await?;
    scene.ends(Layer::Backstop, DEADLINE_WITHIN + BACKSTOP, BACKSTOP).await
}

const SLACK: Duration = Duration::from_secs(15);
const DEADLINE_WITHIN: Duration = Duration::from_mins(1);
