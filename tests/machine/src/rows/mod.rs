//! The rows that take a real machine, each in a file of its own: what is broken, and what is then measured.

mod f1;
mod f5;
mod f6;
mod f7;
mod first_boot;
mod stage;
mod virtual_machine;

use std::sync::Arc;

use curfew_sandbox::scenario;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{bed::BedError, document::Extra, evidence::Verdict, site::Site, vm::Rtc, world::WorldError};
use stage::Stage;
use virtual_machine::ApiServer;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Row {
    /// The control plane is gone: the last deadline is the machine's end.
    #[value(name = "F1")]
    F1,
    /// First boot with a real-time clock in local time, three hours ahead.
    #[value(name = "boot-local-time")]
    BootLocalTime,
    /// First boot with a real-time clock that says 1970.
    #[value(name = "boot-1970")]
    Boot1970,
    /// The wall clock is set back by three hours.
    #[value(name = "F5-back")]
    F5Back,
    /// The wall clock is set to 1970.
    #[value(name = "F5-1970")]
    F5Epoch,
    /// The wall clock is set ahead by three hours.
    #[value(name = "F5-ahead")]
    F5Ahead,
    /// Rebooted in mid-lease, in good order.
    #[value(name = "F6-reboot")]
    F6Reboot,
    /// Reset in mid-lease, past the deadline.
    #[value(name = "F6-reset")]
    F6Reset,
    /// Suspended to RAM past the deadline.
    #[value(name = "F7-suspend")]
    F7Suspend,
    /// Paused by the hypervisor past the deadline.
    #[value(name = "F7-pause")]
    F7Pause,
    /// The same, and the API server is gone.
    #[value(name = "F7-pause-cut")]
    F7PauseCut,
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
    #[error("there is no deadline on the Node")]
    NoDeadline,
    #[error("the machine did not say `{0}`")]
    Unsaid(&'static str),
}

type Played = Result<scenario::Row, RowError>;

impl Row {
    /// All of them, the longest first.
    pub(crate) const ALL: [Self; 11] = [
        Self::F7Pause,
        Self::F6Reboot,
        Self::F6Reset,
        Self::F7Suspend,
        Self::F7PauseCut,
        Self::Boot1970,
        Self::BootLocalTime,
        Self::F5Back,
        Self::F5Epoch,
        Self::F5Ahead,
        Self::F1,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::F1 => "F1",
            Self::BootLocalTime => "boot-local-time",
            Self::Boot1970 => "boot-1970",
            Self::F5Back => "F5-back",
            Self::F5Epoch => "F5-1970",
            Self::F5Ahead => "F5-ahead",
            Self::F6Reboot => "F6-reboot",
            Self::F6Reset => "F6-reset",
            Self::F7Suspend => "F7-suspend",
            Self::F7Pause => "F7-pause",
            Self::F7PauseCut => "F7-pause-cut",
        }
    }

    /// Whether it takes a kernel of the machine's own.
    const fn is_virtual(self) -> bool {
        !matches!(self, Self::F1)
    }

    async fn play(self, stage: &Stage) -> Played {
        match self {
            Self::F1 => f1::play(stage).await,
            Self::BootLocalTime => first_boot::play(stage, Rtc::LocalTime).await,
            Self::Boot1970 => first_boot::play(stage, Rtc::Dead).await,
            Self::F5Back => f5::play(stage, f5::Step::Back, ApiServer::Hangs).await,
            Self::F5Epoch => f5::play(stage, f5::Step::Epoch, ApiServer::Closed).await,
            Self::F5Ahead => f5::play(stage, f5::Step::Ahead, ApiServer::Hangs).await,
            Self::F6Reboot => f6::play(stage, f6::End::Reboot).await,
            Self::F6Reset => f6::play(stage, f6::End::Reset).await,
            Self::F7Suspend => f7::suspended(stage).await,
            Self::F7Pause => f7::paused(stage, ApiServer::Up).await,
            Self::F7PauseCut => f7::paused(stage, ApiServer::Hangs).await,
        }
    }
}

/// Plays rows, several at once, and prints each as it ends. Returns whether all of them held.
pub(crate) async fn play_all(rows: Vec<Row>, site: &Arc<Site>, json: bool) -> bool {
    let [containers, virtual_machines] =
        [AT_ONCE, VIRTUAL_AT_ONCE].map(|seats| Arc::new(Semaphore::new(seats)));
    let mut playing = JoinSet::new();
    for row in rows {
        let seats = if row.is_virtual() { &virtual_machines } else { &containers };
        let (seats, stage) = (Arc::clone(seats), Stage::new(row, site));
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
/// They work more than they wait: a processor each.
const VIRTUAL_AT_ONCE: usize = 2;
