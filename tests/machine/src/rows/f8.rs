//! F8: the ledger cannot be written, and the agent is restarted meanwhile. While somebody renews, that kills nobody, and
//! no run of the backstop does; when nobody does any more, it saves nobody.

use std::{io, path::Path, process::Command, time::Duration};

use curfew_contract::Note;
use curfew_sandbox::scenario::Layer;
use tokio::time::{Instant, sleep};

use super::{
    Played, RowError, Stage,
    f1::{BOUND, DEADLINE_WITHIN, RENEW, SLACK},
    stage::Plan,
};
use crate::{bed::Bed, container::succeed};

/// How the disk is lost.
pub(super) struct Loss {
    /// Ends with the loss proved.
    command: &'static str,
}

/// Neither bytes nor names.
pub(super) const FULL: Loss = Loss {
    command: "dd if=/dev/zero of=/var/filled bs=64k 2>/dev/null; n=0; while true >/var/filled.$n; do n=$((n + 1)); done 2>/dev/null; \
              ! mkdir /var/more 2>/dev/null",
};

pub(super) const READ_ONLY: Loss = Loss {
    // Whoever writes at this moment, the bootstrap for one, makes it busy.
    command: "journalctl --relinquish-var; for _ in $(seq 40); do mount -o remount,ro /var && break; sleep 0.5; done 2>/dev/null; \
              ! touch /var/lib/curfew/x 2>/dev/null",
};

pub(super) const NOWHERE: Loss = Loss {
    command: "for dir in /run/curfew /var/lib/curfew; do \
              mount --bind $dir $dir && mount -o remount,bind,ro $dir && ! touch $dir/x 2>/dev/null || exit 1; done",
};

pub(super) async fn play(stage: &Stage, loss: &Loss) -> Played {
    let scene = stage.container_by(Plan::default(), var_of_its_own).await?;
    scene.world.hold(RENEW, SLACK).await?;
    scene.armed().await?;
    scene.machine.run(loss.command).await?;
    scene.machine.run("systemctl restart curfew-agent").await?;
    let since = Instant::now();
    let mut noted = false;
    while since.elapsed() < LIVES {
        let beat = scene.world.heartbeat(&scene.papers).await?;
        noted |= beat.is_some_and(|beat| beat.notes.contains(&Note::LedgerUnwritable));
        if !scene.world.cloud.contains(scene.papers.id) {
            return scene.ends(Layer::Agent, Duration::ZERO, BOUND).await;
        }
        sleep(Duration::from_millis(500)).await;
    }
    if !noted {
        return Err(RowError::Unexpected("no heartbeat told that the ledger cannot be written".into()));
    }
    scene.world.kill_controller();
    scene.ends(Layer::Agent, DEADLINE_WITHIN, BOUND).await
}

/// A small disk of its own for /var, so that it can be filled.
fn var_of_its_own(root: &Path) -> io::Result<()> {
    let var = root.join("var");
    let copy = root.join("mnt");
    let mount = |at: &Path| {
        succeed(Command::new("mount").args(["-t", "tmpfs", "-o", "size=64m,nr_inodes=6k", "var"]).arg(at))
    };
    mount(&copy)?;
    succeed(Command::new("cp").arg("-a").arg(var.join(".")).arg(&copy))?;
    succeed(Command::new("mount").arg("--move").args([&copy, &var]))
}

/// Renewals and runs of the backstop that a machine must live through without a ledger.
const LIVES: Duration = Duration::from_secs(130);
