//! Plays rows, several at once, and prints each as it ends.

use std::{path::PathBuf, sync::Arc};

use curfew_sandbox::scenario;
use tokio::{sync::Semaphore, task::JoinSet};

use super::{Row, stage::Stage};
use crate::site::Site;

/// Returns whether all of them held. `keep`: where to keep what was said.
pub(crate) async fn play_all(
    rows: Vec<&'static Row>,
    site: &Arc<Site>,
    json: bool,
    keep: Option<PathBuf>,
) -> bool {
    let [containers, virtual_machines] =
        [AT_ONCE, VIRTUAL_AT_ONCE].map(|seats| Arc::new(Semaphore::new(seats)));
    let mut playing = JoinSet::new();
    for row in rows {
        let seats = if row.is_virtual { &virtual_machines } else { &containers };
        let (seats, stage, keep) = (Arc::clone(seats), Stage::new(row, site), keep.clone());
        playing.spawn(async move {
            let _seat = seats.acquire_owned().await;
            let result = play(&stage).await;
            if let Some(dir) = keep {
                stage.keep(&dir);
            }
            (row, result)
        });
    }
    let mut held = true;
    while let Some(ended) = playing.join_next().await {
        // One that panicked; it has been said why.
        let Ok((row, result)) = ended else {
            held = false;
            continue;
        };
        held &= result.held;
        println!("{}", if json { result.json() } else { line(row, &result) });
    }
    held
}

/// Whatever comes of it: a promise that was not seen to be kept is not kept.
async fn play(stage: &Stage) -> scenario::Row {
    let Row { name, play, .. } = stage.row;
    let result = play(stage).await.unwrap_or_else(|error| {
        crate::report(name, &error);
        scenario::Row::unplayed(name)
    });
    if !result.held {
        eprintln!("{name}: did not hold. What was said last:\n{}", stage.said_last());
    }
    result
}

fn line(row: &Row, result: &scenario::Row) -> String {
    let overshoot = result.overshoot_seconds.map_or_else(|| "-".to_owned(), |late| format!("{late:+.3} s"));
    let seen = row.name.ends_with("-seen");
    let by = result.enforced_by.as_deref().unwrap_or(if seen { "(shown)" } else { "nobody" });
    let held = if result.held { "held" } else { "NOT HELD" };
    let (name, bound, broken) = (row.name, result.bound_seconds, row.broken);
    format!("{name:27} {by:9} {overshoot:>11} {bound:>5} s  {held:8} {broken}")
}

/// They wait more than they work.
const AT_ONCE: usize = 10;
/// They work more than they wait: a processor each.
const VIRTUAL_AT_ONCE: usize = 2;
