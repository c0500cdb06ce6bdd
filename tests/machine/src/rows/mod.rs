//! The rows that take a real machine, each in a file of its own: what is broken, and what is then measured.

mod f1;

use std::{sync::Arc, time::Duration};

use curfew_sandbox::scenario;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    bed::{Bed, BedError, Spec},
    container::Container,
    document::{self, Extra},
    evidence::{self, Verdict},
    site::Site,
    world::{Papers, World, WorldError},
};

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

    async fn play(self, site: &Arc<Site>) -> Played {
        match self {
            Self::F1 => f1::play(site).await,
        }
    }
}

/// Plays rows, several at once, and prints each as it ends. Returns whether all of them held.
pub(crate) async fn play_all(rows: Vec<Row>, site: &Arc<Site>, json: bool) -> bool {
    let (seats, mut playing) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
    for row in rows {
        let (seats, site) = (Arc::clone(&seats), Arc::clone(site));
        playing.spawn(async move {
            let _seat = seats.acquire_owned().await;
            (row, row.play(&site).await)
        });
    }
    let mut held = true;
    while let Some(ended) = playing.join_next().await {
        let Ok((row, result)) = ended else {
            held = false;
            continue;
        };
        let row = result.unwrap_or_else(|error| {
            crate::report(row.name(), &error);
            scenario::Row::unplayed(row.name())
        });
        held &= row.held;
        println!("{}", if json { row.json() } else { format!("{row:?}") });
    }
    held
}

/// A machine that was booted from its document, in a world of its own.
struct Scene {
    world: World,
    papers: Papers,
    machine: Arc<Container>,
}

impl Scene {
    /// A container that gets the usual document.
    async fn set(site: &Arc<Site>, row: Row) -> Result<Self, RowError> {
        let world = World::new(site, row.name()).await?;
        let name = row.name().to_lowercase();
        let mut papers = world.enlist(&name).await?;
        papers.files.extend(firmware(papers.id));
        let options = world.options() + "CURFEW_DMI=/etc/curfew/firmware\n";
        papers.files.push(Extra::new("/etc/curfew/agent.env", "0600", options));
        let user_data = document::by_hand(&Site::url("agent"), papers.files.clone());
        let spec = Spec { name, address: papers.address, user_data };
        let machine = Arc::new(Container::boot(&spec, &site.tree, site.dir()).await?);
        world.bury(&papers, &machine);
        Ok(Self { world, papers, machine })
    }

    /// Waits for the machine's end, and holds it to what both witnesses say.
    async fn ends(&self, row: Row, by: scenario::Layer, within: Duration, bound: Duration) -> Played {
        let gone = self.world.gone(&self.papers, within).await?;
        if let Some(gone) = &gone {
            // The plug is pulled a moment after; what was said until then counts.
            tokio::time::sleep(Duration::from_secs(2)).await;
            let verdict = evidence::agree(&self.machine.console().lines(), &gone.by, gone.at);
            if verdict != Verdict::Agree {
                return Err(RowError::Witnesses { holder: gone.by.clone(), verdict });
            }
        }
        Ok(scenario::Row::ended(row.name(), gone, by, bound))
    }
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
