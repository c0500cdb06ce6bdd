//! What a row is played on: a world of its own, and a machine booted in it from its document.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use curfew_contract::{Authority, Identity};
use curfew_sandbox::scenario::{self, Layer};
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep};

use super::{Played, Row, RowError};
use crate::{
    bed::{Bed, Spec},
    console::Console,
    document::{self, Extra, Order},
    evidence::{self, Verdict},
    site::Site,
    world::{Papers, World},
};

/// Where a row is played, and what was said there.
pub(crate) struct Stage {
    pub(super) row: &'static Row,
    pub(super) site: Arc<Site>,
    consoles: Mutex<Vec<(Console, PathBuf)>>,
}

/// How a row's machine differs from the usual.
pub(super) struct Plan {
    /// Files of the depot, as sources of the agent.
    pub(super) sources: &'static [&'static str],
    /// More options of the agent, as lines.
    pub(super) options: &'static str,
    /// More files, for the server with this id.
    pub(super) files: fn(u64) -> Vec<Extra>,
    /// Whether its token is in the document.
    pub(super) has_token: bool,
    /// All attempts to fetch the agent.
    pub(super) fetch_within: SignedDuration,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            sources: &["agent"],
            options: "",
            files: |_| vec![],
            has_token: true,
            fetch_within: SignedDuration::from_mins(2),
        }
    }
}

impl Stage {
    pub(super) fn new(row: &'static Row, site: &Arc<Site>) -> Self {
        Self { row, site: Arc::clone(site), consoles: Mutex::default() }
    }

    /// A server, and the machine that is to be it.
    pub(super) async fn rent(&self, plan: Plan) -> Result<(World, Papers, Spec), RowError> {
        let world = World::new(&self.site, self.row.name).await?;
        let address = self.site.next_address();
        let name = format!("m{}", address.octets()[3]);
        let papers = world.enlist(&name, address).await?;
        let order = Order {
            urls: plan.sources.iter().map(|file| Site::url(file)).collect(),
            options: world.options() + plan.options,
            token: plan.has_token.then(|| papers.token.clone()),
            files: [papers.files.clone(), (plan.files)(papers.id)].concat(),
            fetch_within: plan.fetch_within,
        };
        let user_data = document::render(&self.site.agent, order)?;
        world.cloud.set_user_data(papers.id, &user_data);
        let spec = Spec { name, address, user_data };
        Ok((world, papers, spec))
    }

    /// The server's machine runs.
    pub(super) fn scene<Machine: Bed>(
        &self,
        world: World,
        papers: Papers,
        machine: Machine,
    ) -> Scene<Machine> {
        let machine = Arc::new(machine);
        self.consoles
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((machine.console().clone(), world.log()));
        world.bury(&papers, &machine);
        Scene { row: self.row, world, papers, machine, booted: Instant::now() }
    }

    /// The last words of all machines, and of their controllers.
    pub(super) fn said_last(&self) -> String {
        self.said(MACHINES_LAST, CONTROLLERS_LAST)
    }

    /// Keeps everything that was said.
    pub(super) fn keep(&self, dir: &Path) {
        let (path, all) = (dir.join(format!("{}.console", self.row.name)), self.said(usize::MAX, usize::MAX));
        if let Err(error) = fs::create_dir_all(dir).and_then(|()| fs::write(&path, all)) {
            eprintln!("{}: cannot be kept: {error}", path.display());
        }
    }

    fn said(&self, machines: usize, controllers: usize) -> String {
        let consoles = self.consoles.lock().unwrap_or_else(PoisonError::into_inner);
        let last = |(console, log): &(Console, PathBuf)| {
            let log = fs::read_to_string(log).unwrap_or_default();
            let from = log.lines().count().saturating_sub(controllers);
            log.lines().skip(from).fold(console.tail(machines), |text, line| text + line + "\n")
        };
        consoles.iter().map(last).collect()
    }
}

/// A machine in its world.
pub(super) struct Scene<Machine> {
    pub(super) row: &'static Row,
    pub(super) world: World,
    pub(super) papers: Papers,
    pub(super) machine: Arc<Machine>,
    pub(super) booted: Instant,
}

impl<Machine: Bed> Scene<Machine> {
    /// Waits until the controller shows the machine as armed.
    pub(super) async fn armed(&self) -> Result<Duration, RowError> {
        Ok(self.world.armed(&self.papers).await?)
    }

    /// Waits until the machine's heartbeat says that it could delete itself, and its console says so, too.
    pub(super) async fn proven(&self, within: Duration) -> Result<Duration, RowError> {
        let begun = Instant::now();
        let on_console = || self.machine.console().has_said("armed: this server consented");
        loop {
            let beat = self.world.heartbeat(&self.papers).await?;
            let proven = beat.is_some_and(|beat| {
                beat.identity == Identity::Proven && beat.authority == Authority::Verified
            });
            if proven && on_console() {
                return Ok(begun.elapsed());
            }
            if begun.elapsed() > within {
                let what = format!("no proof within {} s; on the Node {proven}", within.as_secs());
                return Err(RowError::Unexpected(format!("{what}, on the console {}", on_console())));
            }
            sleep(LOOK).await;
        }
    }

    /// Waits for a line on the console, past or to come.
    pub(super) async fn says(&self, text: &'static str, within: Duration) -> Result<(), RowError> {
        let said = self.machine.console().says(text, Timestamp::UNIX_EPOCH, within).await;
        said.map(drop).ok_or(RowError::Unsaid(text))
    }

    /// Waits for the machine's end, and holds it to what both witnesses say.
    pub(super) async fn ends(&self, by: Layer, within: Duration, bound: Duration) -> Played {
        let gone = self.world.gone(&self.papers, within).await?;
        if let Some(gone) = &gone {
            // The plug is pulled a moment after; what was said until then counts.
            sleep(LAST_WORDS).await;
            let verdict = evidence::agree(&self.machine.console().lines(), &gone.by, gone.at);
            if verdict != Verdict::Agree {
                return Err(RowError::Witnesses { holder: gone.by.clone(), verdict });
            }
        }
        Ok(scenario::Row::ended(self.row.name, gone, by, bound))
    }

    /// The result of a row that ends with something being shown, `after` so long.
    pub(super) fn seen(&self, after: Duration, bound: Duration) -> scenario::Row {
        let gone = !self.world.cloud.contains(self.papers.id);
        scenario::Row::seen(self.row.name, Some(after), bound, gone)
    }
}

/// Lines that a person reads.
const MACHINES_LAST: usize = 60;
const CONTROLLERS_LAST: usize = 10;
const LAST_WORDS: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(50);
