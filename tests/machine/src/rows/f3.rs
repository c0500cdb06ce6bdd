//! F3: the controller is killed, and the agent does not run any more, or runs no further. Process 1's timer is left, or
//! its watchdog.

use std::time::Duration;

use curfew_sandbox::scenario::Layer;

use super::{
    Played, Stage,
    f1::{DEADLINE_WITHIN, RENEW, SLACK},
};
use crate::bed::Bed;

/// How the agent is lost.
pub(super) struct Loss {
    command: &'static str,
    by: Layer,
    bound: Duration,
}

pub(super) const STOPPED: Loss =
    Loss { command: "systemctl stop curfew-agent", by: Layer::Backstop, bound: BACKSTOP };

/// `systemctl mask` refuses a unit that lies in /etc; whoever masks it there does this.
pub(super) const MASKED: Loss = Loss {
    command: "ln -sf /dev/null /etc/systemd/system/curfew-agent.service && systemctl daemon-reload && \
              systemctl kill -s KILL curfew-agent",
    by: Layer::Backstop,
    bound: BACKSTOP,
};

/// The watchdog may kill it, and a new one be faster than the timer.
pub(super) const FROZEN: Loss =
    Loss { command: "systemctl freeze curfew-agent", by: Layer::Any, bound: BACKSTOP };

pub(super) const SIGSTOP: Loss =
    Loss { command: "systemctl kill -s STOP curfew-agent", by: Layer::Any, bound: BACKSTOP };

pub(super) const KILLED: Loss =
    Loss { command: "systemctl kill -s KILL curfew-agent", by: Layer::Agent, bound: super::f1::BOUND };

/// The next check is stopped before it looks, once; process 1 is told to read everything again meanwhile.
pub(super) const HUNG: Loss = Loss {
    command: "systemctl stop curfew-agent && mkdir -p /run/systemd/system/curfew-backstop.service.d && \
              printf '[Service]\\nExecStartPre=/bin/sh -c \"[ -e /run/hung ] || { : >/run/hung; kill -STOP $$$$; }\"\\n' \
              >/run/systemd/system/curfew-backstop.service.d/hangs.conf && systemctl daemon-reload && \
              while [ ! -e /run/hung ]; do sleep 1; done && systemctl daemon-reload",
    by: Layer::Backstop,
    bound: Duration::from_secs(75 + 60),
};

pub(super) async fn play(stage: &Stage, loss: &Loss) -> Played {
    let scene = stage.container().await?;
    scene.world.hold(RENEW, SLACK).await?;
    scene.armed().await?;
    scene.world.kill_controller();
    scene.machine.run(loss.command).await?;
    scene.ends(loss.by, DEADLINE_WITHIN + loss.bound, loss.bound).await
}

/// One period of the timer, and 15 s to look, to ask the Node and to delete.
pub(super) const BACKSTOP: Duration = Duration::from_secs(75);
