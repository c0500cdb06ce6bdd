//! What a row is played on: a world of its own, and machines booted in it from their documents.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use curfew_sandbox::scenario::{self, Layer};

use super::{Played, Row, RowError, firmware};
use crate::{
    bed::{Bed, Spec},
    console::Console,
    container::Container,
    document::{self, Extra},
    evidence::{self, Verdict},
    site::Site,
    world::{Papers, World},
};

/// Where a row is played, and what was said there.
pub(super) struct Stage {
    pub(super) row: Row,
    pub(super) site: Arc<Site>,
    consoles: Mutex<Vec<Console>>,
}

impl Stage {
    pub(super) fn new(row: Row, site: &Arc<Site>) -> Self {
        Self { row, site: Arc::clone(site), consoles: Mutex::default() }
    }

    /// A container that got the usual document.
    pub(super) async fn scene(&self) -> Result<Scene<Container>, RowError> {
        let world = World::new(&self.site, self.row.name()).await?;
        let name = self.row.name().to_lowercase();
        let mut papers = world.enlist(&name).await?;
        papers.files.extend(firmware(papers.id));
        let options = world.options() + "CURFEW_DMI=/etc/curfew/firmware\n";
        papers.files.push(Extra::new("/etc/curfew/agent.env", "0600", options));
        let user_data = document::by_hand(&Site::url("agent"), papers.files.clone());
        let spec = Spec { name, address: papers.address, user_data };
        let machine = Arc::new(Container::boot(&spec, &self.site.image.join("tree"), self.site.dir()).await?);
        self.listen(machine.console());
        world.bury(&papers, &machine);
        Ok(Scene { row: self.row, world, papers, machine })
    }

    /// What is said there is shown if the row does not hold.
    pub(super) fn listen(&self, console: &Console) {
        self.consoles.lock().unwrap_or_else(PoisonError::into_inner).push(console.clone());
    }

    /// The last words of all machines.
    pub(super) fn said(&self) -> String {
        let consoles = self.consoles.lock().unwrap_or_else(PoisonError::into_inner);
        consoles.iter().map(|console| console.tail(60)).collect()
    }
}

/// A machine in its world.
pub(super) struct Scene<Machine> {
    pub(super) row: Row,
    pub(super) world: World,
    pub(super) papers: Papers,
    pub(super) machine: Arc<Machine>,
}

impl<Machine: Bed> Scene<Machine> {
    /// Waits until the machine shows as armed.
    pub(super) async fn armed(&self) -> Result<Duration, RowError> {
        Ok(self.world.armed(&self.papers).await?)
    }

    /// Waits for the machine's end, and holds it to what both witnesses say.
    pub(super) async fn ends(&self, by: Layer, within: Duration, bound: Duration) -> Played {
        let gone = self.world.gone(&self.papers, within).await?;
        if let Some(gone) = &gone {
            // The plug is pulled a moment after; what was said until then counts.
            tokio::time::sleep(LAST_WORDS).await;
            let verdict = evidence::agree(&self.machine.console().lines(), &gone.by, gone.at);
            if verdict != Verdict::Agree {
                return Err(RowError::Witnesses { holder: gone.by.clone(), verdict });
            }
        }
        Ok(scenario::Row::ended(self.row.name(), gone, by, bound))
    }
}

const LAST_WORDS: Duration = Duration::from_secs(2);
