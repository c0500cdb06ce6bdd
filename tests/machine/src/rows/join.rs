//! No watchdog, no join: a kubelet that is on the image waits until the machine could delete itself, and then starts.

use std::{fs, io, path::Path, time::Duration};

use tokio::time::{Instant, sleep};

use super::{Played, RowError, Stage, stage::Plan};
use crate::{bed::Bed, document::TOKEN};

pub(super) async fn play(stage: &Stage) -> Played {
    let scene = stage.container_by(Plan { has_token: false, ..Plan::default() }, with_a_kubelet).await?;
    let runs =
        async || Ok::<_, RowError>(scene.machine.try_run("systemctl -q is-active kubelet").await?.code == 0);
    // The agent runs, and the kubelet would long since, too.
    scene.says("Started curfew-agent.service", BOUND).await?;
    sleep(HELD).await;
    if runs().await? {
        return Err(RowError::Unexpected("the kubelet runs, and the machine cannot be armed".into()));
    }
    let install = format!("umask 077; printf %s {} >{TOKEN}", scene.papers.token);
    scene.machine.run(&install).await?;
    let given = Instant::now();
    while !runs().await? {
        if given.elapsed() > BOUND {
            return Err(RowError::Unexpected("the kubelet does not run, and the machine is armed".into()));
        }
        sleep(Duration::from_millis(200)).await;
    }
    let after = given.elapsed();
    scene.proven(BOUND).await?;
    Ok(scene.seen(after, BOUND))
}

/// A stand-in, enabled as an image would have it.
fn with_a_kubelet(root: &Path) -> io::Result<()> {
    let units = root.join("etc/systemd/system");
    fs::write(
        units.join("kubelet.service"),
        "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n",
    )?;
    let wants = units.join("multi-user.target.wants");
    fs::create_dir_all(&wants)?;
    std::os::unix::fs::symlink("/etc/systemd/system/kubelet.service", wants.join("kubelet.service"))
}

const HELD: Duration = Duration::from_secs(15);
const BOUND: Duration = Duration::from_secs(45);
