//! The way onto the machine: however the agent can be fetched, and however the script is disturbed, it ends armed, or
//! loudly not.

use std::{fs, io, path::Path, time::Duration};

use jiff::SignedDuration;

use super::{
    Played, RowError, Stage,
    stage::{Plan, Scene},
};
use crate::{
    bed::Bed,
    container::{Change, Container},
};

/// What the machine has to fetch with, and from where.
pub(super) struct Way {
    sources: &'static [&'static str],
    change: Change,
    /// Holds on the machine if this way was gone, and no other. `retries` is what the bootstrap's log says of them.
    gone: &'static str,
    bound: Duration,
}

pub(super) const CURL: Way =
    Way { sources: &["agent"], change: |root| without(root, &["wget"]), gone: AT_ONCE, bound: ARMS };
pub(super) const WGET: Way =
    Way { sources: &["agent"], change: |root| without(root, &["curl"]), gone: AT_ONCE, bound: ARMS };
pub(super) const PYTHON3: Way =
    Way { sources: &["agent"], change: |root| without(root, &["curl", "wget"]), gone: AT_ONCE, bound: ARMS };
pub(super) const WRONG_FIRST: Way = Way {
    sources: &["wrong", "agent"],
    change: |_| Ok(()),
    gone: "[ \"$retries\" = 'wrong checksum from 10.88.0.1:8000, by curl' ]",
    bound: ARMS,
};
/// A source that hangs costs twenty seconds.
pub(super) const DEAD_SOURCES: Way = Way {
    sources: &["closed", "missing", "hangs", "agent"],
    change: |_| Ok(()),
    gone: "[ \"$(echo \"$retries\" | sed 's/.* from 10.88.0.1:/:/' | xargs)\" = ':8001 :8000 :8000' ]",
    bound: Duration::from_mins(1),
};

/// Seconds from the boot until the machine could delete itself.
pub(super) async fn arms(stage: &Stage, way: &Way) -> Played {
    let plan = Plan { sources: way.sources, ..Plan::default() };
    let scene = stage.container_by(plan, way.change).await?;
    scene.proven(way.bound).await?;
    let after = scene.booted.elapsed();
    let retries = "retries=$(sed -n 's/.* fetch retry //p' /var/lib/curfew/bootstrap/log)";
    scene.machine.run(&format!("{retries}; {} || {{ echo \"$retries\"; exit 1; }}", way.gone)).await?;
    Ok(scene.seen(after, way.bound))
}

/// Only wrong bytes: the agent must not be there, no Node may be taken, and a person is told at each place there is.
pub(super) async fn is_loud(stage: &Stage) -> Played {
    let fetch_within = SignedDuration::from_secs(5);
    let scene =
        stage.container_by(Plan { sources: &["wrong"], fetch_within, ..Plan::default() }, |_| Ok(())).await?;
    scene.says("THIS MACHINE IS NOT SAFE TO LEAVE ALONE", ARMS).await?;
    let after = scene.booted.elapsed();
    for command in [
        "grep -q '^fetch: ' /var/lib/curfew/bootstrap/failed",
        "grep -q ' fetch failed ' /var/lib/curfew/bootstrap/log",
        "! test -e /usr/local/bin/curfew-agent",
        "! test -e /run/curfew-bootstrap/armed",
    ] {
        scene.machine.run(command).await?;
    }
    Ok(scene.seen(after, ARMS))
}

/// Killed in the middle of the download, then in the middle of the start, then left alone.
pub(super) async fn resumes(stage: &Stage) -> Played {
    let plan = Plan { sources: &["hangs"], fetch_within: SignedDuration::from_mins(10), ..Plan::default() };
    let scene = stage.container_by(plan, |_| Ok(())).await?;
    log_says(&scene, "fetch begun").await?;
    kill_script(&scene).await?;
    // The good source comes up.
    scene.machine.run("sed -i s,:8000/hangs,:8000/agent, /var/lib/curfew/bootstrap/options").await?;
    scene.machine.run(&format!("{{ {RUN}; }} >/dev/null 2>&1 & :")).await?;
    log_says(&scene, "start begun").await?;
    kill_script(&scene).await?;
    if scene.machine.try_run("test -e /run/curfew-bootstrap/armed").await?.code == 0 {
        return Err(RowError::Unexpected("the script was over before it could be killed".into()));
    }
    scene.machine.run(RUN).await?;
    scene.proven(ARMS).await?;
    let after = scene.booted.elapsed();
    // A run after that changes nothing.
    let files = "find /etc /usr/local /var/lib/curfew/bootstrap/done -newer /run/before -type f";
    let again = "touch /run/before && sleep 1 && sh /var/lib/curfew/bootstrap/run && ";
    let changed = scene.machine.run(&format!("{again}{files}")).await?;
    if changed.contains('/') {
        return Err(RowError::Unexpected(format!("a run after a good one changed {changed}")));
    }
    Ok(scene.seen(after, ARMS))
}

async fn log_says(scene: &Scene<Container>, words: &str) -> Result<(), RowError> {
    let looked = format!(
        "for i in $(seq 600); do grep -q '{words}' /var/lib/curfew/bootstrap/log 2>/dev/null && exit 0; sleep .05; done; exit 1"
    );
    scene.machine.run(&looked).await?;
    Ok(())
}

/// The script, and everything it started.
async fn kill_script(scene: &Scene<Container>) -> Result<(), RowError> {
    scene.machine.run("pkill -KILL -f bootstrap/[r]un; pkill -KILL curl; :").await?;
    Ok(())
}

/// Takes programs off the image.
fn without(root: &Path, programs: &[&str]) -> io::Result<()> {
    for path in programs.iter().map(|program| root.join("usr/bin").join(program)) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// As its service would: what a killed run had started may keep the lock for a moment.
const RUN: &str = "until sh /var/lib/curfew/bootstrap/run; do [ $? = 75 ] || exit 1; sleep 1; done";
const ARMS: Duration = Duration::from_secs(45);
/// The first tool there is had it at once.
const AT_ONCE: &str = "[ -z \"$retries\" ]";
