//! `curfew-agent verify` on an image: one taken from a machine in use is refused, and the same one cleaned is not.

use std::{path::Path, time::Duration};

use tokio::process::Command;

use super::{Played, RowError, Stage};
use crate::bed::Bed;

pub(super) async fn play(stage: &Stage) -> Played {
    let scene = stage.container().await?;
    scene.proven(BOUND).await?;
    let after = scene.booted.elapsed();
    scene.machine.run("systemctl stop curfew-backstop.timer curfew-agent; sync").await?;
    scene.machine.kill();
    let used = verify(scene.machine.root()).await?;
    let refused = used.contains("FAILED  no baked machine-id") && used.contains("FAILED  no baked ledger");
    for path in ["etc/machine-id", "var/lib/curfew", "run"] {
        clear(&scene.machine.root().join(path));
    }
    let cleaned = verify(scene.machine.root()).await?;
    if refused && !cleaned.contains("FAILED") {
        return Ok(scene.seen(after, BOUND));
    }
    Err(RowError::Unexpected(format!("of the used image:\n{used}\nof the cleaned one:\n{cleaned}")))
}

/// By the very agent that is on the image: it is static.
async fn verify(root: &Path) -> Result<String, RowError> {
    let mut command = Command::new(root.join("usr/local/bin/curfew-agent"));
    let output = command.arg("verify").arg("--root").arg(root).env_clear().output().await;
    let output = output.map_err(|error| RowError::Unexpected(format!("verify does not run: {error}")))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// As an image build does before it takes the image.
fn clear(path: &Path) {
    if path.is_dir() {
        drop(std::fs::remove_dir_all(path));
    } else {
        drop(std::fs::write(path, ""));
    }
}

const BOUND: Duration = Duration::from_secs(45);
