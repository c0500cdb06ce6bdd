//! Following this machine's own Node: every deadline that is good goes to the fuse, every one that is not is reported.
//!
//! Reads are consistent GETs, or a watch continued from one. Nothing here decides when to fire, and nothing here can
//! stop the fuse: whatever fails is tried again for ever, and the last good deadline stands.

use std::{cell::Cell, sync::Arc, time::Duration};

use curfew_contract::{Grace, Instruction, Note, Refusal};
use tokio::sync::watch;

use crate::{
    backoff::Backoff,
    clocks,
    config::Config,
    drain::{Mark, Orders},
    fuse::{FuseHandle, Tell},
    journal,
    node::{ApiError, Ended, Event, NodeApi, NodeName, Options as NodeOptions, Seen},
    parts::Parts,
    standing::Standing,
    time::{Boot, Span, Wall},
};

/// The agent's view of its Node.
pub struct Follower {
    fuse: FuseHandle,
    standing: watch::Receiver<Standing>,
    orders: watch::Sender<Orders>,
    refused: Cell<Option<Refusal>>,
    version: Cell<u64>,
    absent_is_normal: Cell<bool>,
}

impl Follower {
    /// A follower that has seen nothing.
    #[must_use]
    pub fn new(fuse: FuseHandle, standing: watch::Receiver<Standing>) -> Self {
        Self {
            fuse,
            standing,
            orders: watch::Sender::default(),
            refused: Cell::new(None),
            version: Cell::new(0),
            absent_is_normal: Cell::new(true),
        }
    }

    /// What the Node says of moving work away.
    #[must_use]
    pub fn orders(&self) -> watch::Receiver<Orders> {
        self.orders.subscribe()
    }

    /// What a person should know of deadline and grace as they are on the Node now.
    pub fn notes(&self) -> impl Iterator<Item = Note> {
        let grace = self.orders.borrow().refused.map(|_| Note::GraceRefused);
        self.note().into_iter().chain(grace)
    }

    fn note(&self) -> Option<Note> {
        Some(match self.refused.get()? {
            Refusal::Absent if self.absent_is_normal.get() => return None,
            Refusal::Absent => Note::DeadlineVanished,
            Refusal::Unparsable => Note::DeadlineUnparsable,
            Refusal::TooEarly => Note::DeadlineTooEarly,
            Refusal::TooFar => Note::DeadlineTooFar,
            Refusal::ForAnotherServer => Note::DeadlineForAnotherServer,
        })
    }

    /// Takes in one sight of the Node. `asked`: when the question was asked that this answers. An event (`None`) that is
    /// older than the last answer is ignored: it was overtaken.
    pub fn take(&self, seen: &Seen, asked: Option<Boot>) {
        if let Some(answered) = seen.answered {
            self.fuse.tell(Tell::Answered(answered));
        }
        if self.overtaken(seen, asked) {
            return;
        }
        let standing = self.standing.borrow();
        let Some(own) = standing.server.as_deref() else {
            // Without an identity nothing can be fired, and a deadline cannot be told from another server's.
            return;
        };
        let read = deadline(seen, own, self.best_time());
        let refused = read.err();
        if self.refused.replace(refused) != refused
            && let Some(refusal) = refused
            && self.note().is_some()
        {
            tracing::warn!(%refusal, value = seen.deadline, "the deadline on the Node is refused; the last good one stands");
        }
        self.take_orders(orders(seen, read), seen.grace.as_deref());
        match (read, asked) {
            (Ok(deadline), asked) => {
                self.absent_is_normal.set(false);
                self.fuse.tell(Tell::Learnt { deadline, asked });
            }
            (Err(_), Some(asked)) => self.fuse.tell(Tell::NothingNew { asked }),
            (Err(_), None) => {}
        }
    }

    fn take_orders(&self, orders: Orders, value: Option<&str>) {
        let before = self.orders.borrow().refused;
        if let Some(refusal) = orders.refused.filter(|refusal| before != Some(*refusal)) {
            tracing::warn!(%refusal, value, "the grace on the Node is refused; no work is moved away");
        }
        self.orders.send_if_modified(|known| std::mem::replace(known, orders) != orders);
    }

    /// Resource versions are numbers that grow, of one cluster (Kubernetes 1.35 promises it; all before it did so). Where
    /// they are not, nothing counts as overtaken.
    fn overtaken(&self, seen: &Seen, asked: Option<Boot>) -> bool {
        let Ok(version) = seen.resource_version.parse::<u64>() else { return false };
        if asked.is_none() && version < self.version.get() {
            return true;
        }
        self.version.set(version);
        false
    }

    fn best_time(&self) -> Wall {
        self.fuse.view.borrow().best.wall(clocks::read().boot)
    }

    /// Reads and watches, for ever, once this machine says which server it is: no deadline counts before.
    pub async fn follow(&self, api: &NodeApi, node: &NodeName) {
        let _ = self.standing.clone().wait_for(|standing| standing.server.is_some()).await;
        let mut backoff = retries();
        let mut from = None;
        loop {
            let began = clocks::read().boot;
            match self.watch(api, node, from.take()).await {
                Ok(next) => from = next,
                Err(error) => {
                    tracing::warn!(
                        error = journal::chain(&error),
                        "the Node cannot be followed; the last good deadline stands"
                    );
                }
            }
            // A watch that lasted is renewed at once. One that did not must not be asked for without a pause.
            if clocks::read().boot.since(began) > LASTED {
                backoff = retries();
            } else {
                tokio::time::sleep(backoff.next_delay()).await;
            }
        }
    }

    /// One watch, from `from` or from a consistent read. Returns where the next may continue.
    async fn watch(
        &self,
        api: &NodeApi,
        node: &NodeName,
        from: Option<String>,
    ) -> Result<Option<String>, ApiError> {
        let mut version = match from {
            Some(version) => version,
            None => self.read(api, node).await?.resource_version,
        };
        let ended = api
            .watch(node, &version.clone(), |event| match event {
                Event::Opened(answered) => {
                    if let Some(answered) = answered {
                        self.fuse.tell(Tell::Answered(answered));
                    }
                }
                Event::Seen(seen) => {
                    self.take(&seen, None);
                    version = seen.resource_version;
                }
                Event::Bookmark { resource_version } => version = resource_version,
            })
            .await?;
        match ended {
            Ended::Closed => return Ok(Some(version)),
            Ended::Expired | Ended::Silent => {}
            Ended::Failed { code, message } => tracing::warn!(code, message, "the watch of the Node failed"),
        }
        Ok(None)
    }

    async fn read(&self, api: &NodeApi, node: &NodeName) -> Result<Seen, ApiError> {
        let asked = clocks::read().boot;
        let seen = api.read(node).await?;
        self.take(&seen, Some(asked));
        Ok(seen)
    }

    /// Once the machine deletes itself, no more work should come to it.
    pub async fn cordon_when_firing(&self, api: &NodeApi, node: &NodeName) {
        // A machine that did not consent is not deleted, whatever the clocks say, and goes on working.
        let _ = self.fuse.view.clone().wait_for(|view| view.firing && view.consented).await;
        let mut backoff = retries();
        while let Err(error) = api.cordon(node).await {
            tracing::warn!(error = journal::chain(&error), "the Node cannot be cordoned");
            tokio::time::sleep(backoff.next_delay()).await;
        }
    }

    /// Whenever the fuse is about to fire on a memory: reads the Node until it answers, or the fuse no longer waits.
    pub async fn confirm(&self, api: &NodeApi, node: &NodeName) {
        let mut view = self.fuse.view.clone();
        loop {
            if view.wait_for(|view| view.confirming).await.is_err() {
                return;
            }
            let asked = clocks::read().boot;
            match self.read(api, node).await {
                Ok(_) => {}
                Err(ApiError::NotFound { .. }) => self.fuse.tell(Tell::NothingNew { asked }),
                Err(error) => {
                    tracing::warn!(error = journal::chain(&error), "the deadline cannot be confirmed");
                }
            }
            tokio::time::sleep(CONFIRM_AGAIN).await;
        }
    }
}

/// The deadline on a Node as one server may act upon it; `None` is the word `none`. `best` is cluster time where the
/// sight carries none of its own. Pure.
pub fn deadline(seen: &Seen, own: &str, best: Wall) -> Result<Option<Wall>, Refusal> {
    let now = seen.answered.map_or(best, |answered| answered.date).timestamp();
    let value = seen.deadline.as_deref().filter(|_| !seen.deleted);
    Ok(match Instruction::read(value, seen.deadline_for.as_deref(), Some(own), now)? {
        Instruction::At(deadline) => Some(deadline.at().into()),
        Instruction::NoDeadline => None,
    })
}

/// What a Node says of moving work away, whose deadline reads like this. Pure.
fn orders(seen: &Seen, deadline: Result<Option<Wall>, Refusal>) -> Orders {
    if seen.deleted || deadline == Err(Refusal::ForAnotherServer) {
        return Orders::default();
    }
    let grace = Grace::read(seen.grace.as_deref());
    Orders {
        grace: grace.ok().flatten(),
        refused: grace.err(),
        mark: seen.cordoned_for.as_deref().map(Mark::read),
        deadline: deadline.ok(),
    }
}

/// How to reach the API server, once there is a kubeconfig: the machine may join long after the agent's start.
pub async fn api(config: &Config, parts: &Parts) -> NodeApi {
    let kubeconfig = loop {
        match config.kubeconfig() {
            Some(path) => break path.to_owned(),
            None => tokio::time::sleep(KUBECONFIG_AGAIN).await,
        }
    };
    NodeApi::new(NodeOptions {
        kubeconfig,
        proxies: parts.transport.proxies.clone(),
        best_time: Arc::clone(&parts.transport.best_time),
        dates_ignored: Arc::clone(&parts.cluster_dates_ignored),
        silence: WATCH_SILENCE,
    })
}

/// The Node's name: given, or by the credential. Asks for ever.
pub async fn name(config: &Config, api: &NodeApi) -> NodeName {
    let mut backoff = retries();
    loop {
        let found = match &config.node_name {
            Some(name) => NodeName::new(name).map_err(ApiError::from),
            None => api.whoami().await,
        };
        match found {
            Ok(name) => return name,
            Err(error) => {
                tracing::warn!(
                    error = journal::chain(&error),
                    "this machine's Node is not known yet; the lifetime clock runs"
                );
            }
        }
        tokio::time::sleep(backoff.next_delay()).await;
    }
}

fn retries() -> Backoff {
    Backoff::new(Duration::from_secs(1), Duration::from_secs(30))
}

/// Bookmarks come each minute, and our own heartbeats come back as events: two missed bookmarks are silence.
const WATCH_SILENCE: Duration = Duration::from_secs(150);
const KUBECONFIG_AGAIN: Duration = Duration::from_secs(2);
/// A watch is asked for nine minutes and more; one that ends sooner than this was not wanted.
const LASTED: Span = Span::from_secs(30);
const CONFIRM_AGAIN: Duration = Duration::from_millis(500);
