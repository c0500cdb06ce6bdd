//! The rows that take a real machine, each in a file of its own: what is broken, and what is then measured.

mod f1;
mod stage;

use std::sync::Arc;

use curfew_sandbox::scenario;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{bed::BedError, document::Extra, evidence::Verdict, site::Site, world::WorldError};
use stage::Stage;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Row {
    /// The control plane is gone: the last deadline is the machine's end.
    #[value(name = "F1")]
    F1,
}

/// Why a row could not be played.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RowError {
    #[error("the machine failed")]
    Bed(#[from] BedError),
    #[error("the world outside the machine failed")]
    World(#[from] WorldError),
    #[error("the witnesses disagree: {holder} deleted by the cloud's ledger, on the console: {verdict:?}")]
    Witnesses { holder: String, verdict: Verdict },
}

type Played = Result<scenario::Row, RowError>;

impl Row {
    /// All of them, the longest first.
    pub(crate) const ALL: [Self; 1] = [Self::F1];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::F1 => "F1",
        }
    }

    async fn play(self, stage: &Stage) -> Played {
        match self {
            Self::F1 => f1::play(stage).await,
        }
    }
}

/// Plays rows, several at once, and prints each as it ends. Returns whether all of them held.
pub(crate) async fn play_all(rows: Vec<Row>, site: &Arc<Site>, json: bool) -> bool {
    let (seats, mut playing) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
    for row in rows {
        let (seats, stage) = (Arc::clone(&seats), Stage::new(row, site));
        playing.spawn(async move {
            let _seat = seats.acquire_owned().await;
            (row, play(&stage).await)
        });
    }
    let mut held = true;
    while let Some(ended) = playing.join_next().await {
        // A row that panicked.
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
    let name = stage.row.name();
    let played = stage.row.play(stage).await.unwrap_or_else(|error| {
        crate::report(name, &error);
        scenario::Row::unplayed(name)
    });
    if !played.held {
        eprintln!("{name}: did not hold. What was said last:\n{}", stage.said());
    }
    played
}

fn line(row: Row, result: &scenario::Row) -> String {
    let overshoot = result.overshoot_seconds.map_or_else(|| "-".to_owned(), |late| format!("{late:+.3} s"));
    let by = result.enforced_by.as_deref().unwrap_or("nobody");
    let held = if result.held { "held" } else { "NOT HELD" };
    format!("{:16} {by:9} {overshoot:>12} {:>6} s  {held}", row.name(), result.bound_seconds)
}

/// What a Hetzner server's firmware says. A container has the firmware of the machine it runs on, so these stand for it.
fn firmware(id: u64) -> [Extra; 3] {
    let file = |name: &str, text: String| Extra::new(format!("/etc/curfew/firmware/{name}"), "0644", text);
    [
        file("sys_vendor", "Hetzner\n".into()),
        file("product_serial", format!("{id}\n")),
        file("product_uuid", format!("00000000-0000-4000-8000-{id:012x}\n")),
    ]
}

/// They wait more than they work.
const AT_ONCE: usize = 8;
