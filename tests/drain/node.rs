//! The Node of the machine under test: what it says, and what a person does to it.

use std::time::Duration;

use curfew_contract::{Heartbeat, Phase, annotation};
use curfew_tests::{Kept, World, secs};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::pods::{evictions, runs};
use crate::TESTBED;

/// A deadline and a grace of not quite half of what is left.
pub(super) async fn near(world: &World) -> Result<Timestamp, Box<dyn std::error::Error + Send + Sync>> {
    world.annotate(world.machine(), annotation::GRACE, Some("16s"))?;
    let deadline = world.deadline_in(world.machine(), 33).await?;
    Ok(deadline)
}

/// Renewed each 10 s, with 24 s to spare and 12 s for moving its work.
pub(super) async fn lease(world: &World, duration: &str) -> Kept {
    let spec = json!({
        "duration": duration,
        "watchdog": {"renewInterval": "10s", "slack": "24s", "grace": "12s"},
        "adopt": {"nodeSelector": {"pool": "test"}},
    });
    Ok(world.api.add_lease("burst", &spec).await?)
}

pub(super) async fn is_uncordoned(world: &World) -> Kept {
    let free = || (!cordoned(world) && text(world, annotation::CORDONED_FOR).is_none()).then_some(());
    world.becomes("an uncordoned Node", free).await
}

pub(super) fn draining(beat: &Heartbeat) -> bool {
    beat.phase == Phase::Draining
}

pub(super) fn node(world: &World) -> Value {
    world.cluster().node(&world.machine().name).unwrap_or_default()
}

pub(super) fn cordoned(world: &World) -> bool {
    node(world)["spec"]["unschedulable"] == true
}

pub(super) fn text(world: &World, key: &str) -> Option<String> {
    node(world)["metadata"]["annotations"][key].as_str().map(Into::into)
}

/// As `kubectl cordon` and `kubectl uncordon` do.
pub(super) fn cordon(world: &World, on: bool) -> Kept {
    let name = &world.machine().name;
    world.cluster().merge_patch(("", "v1", "nodes"), "", name, &json!({"spec": {"unschedulable": on}}))?;
    Ok(())
}

/// So many seconds after `at`.
pub(super) async fn until(world: &World, at: Timestamp, seconds: i64) {
    let left = at.duration_since(world.cluster().now()).as_secs() + seconds;
    sleep(secs(left.max(0).unsigned_abs())).await;
}

/// User and system time of a process, in hundredths of a second (`proc_pid_stat(5)`).
pub(super) fn processor_time(id: u32) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
}

pub(super) fn is_untouched(world: &World) -> bool {
    let marked = text(world, annotation::CORDONED_FOR).is_some();
    runs(world, "web") && !cordoned(world) && !marked && evictions(world).is_empty()
}

pub(super) async fn a_mark_that_somebody_keeps_putting_back_is_not_fought_busily() -> Kept {
    let world = World::alone(TESTBED).await?;
    world.deadline_in(world.machine(), 600).await?;
    let (began, mut times) = (world.cluster().now(), 0);
    for _ in 0..2_000 {
        if text(&world, annotation::CORDONED_FOR).is_none() {
            world.annotate(world.machine(), annotation::CORDONED_FOR, Some("2020-05-01T12:00:00Z"))?;
            times += 1;
        }
        sleep(Duration::from_millis(5)).await;
    }
    let seconds = world.cluster().now().duration_since(began).as_secs();
    assert!((2..=seconds + 2).contains(&times), "{times} in {seconds} s");
    Ok(())
}
