//! Following this machine's own Node: every deadline that is good goes to the fuse, every one that is not is reported.
//!
//! Reads are consistent GETs, or a watch continued from one. Nothing here decides when to fire, and nothing here can
//! stop the fuse: whatever fails is tried again for ever, and the last good deadline stands.

use std::{cell::Cell, sync::Arc, time::Duration};

use curfew_contract::{Instruction, Note, Refusal};
use tokio::sync::watch;

use crate::{
    backoff::Backoff,
    clocks,
    config::Config,
    fuse::{FuseHandle, Tell},
    journal,
    node::{ApiError, Ended, Event, NodeApi, NodeName, Options as NodeOptions, Seen},
    parts::Parts,
    standing::Standing,
    time::Wall,
};

/// The agent's view of its Node.
pub struct Follower {
    fuse: FuseHandle,
    standing: watch::Receiver<Standing>,
    refused: Cell<Option<Refusal>>,
    absent_is_normal: Cell<bool>,
}

impl Follower {
    /// A follower that has seen nothing.
    #[must_use]
    pub const fn new(fuse: FuseHandle, standing: watch::Receiver<Standing>) -> Self {
        Self { fuse, standing, refused: Cell::new(None), absent_is_normal: Cell::new(true) }
    }

    /// What a person should know of the deadline that is on the Node now.
    #[must_use]
    pub fn note(&self) -> Option<Note> {
        Some(match self.refused.get()? {
            Refusal::Absent if self.absent_is_normal.get() => return None,
            Refusal::Absent => Note::DeadlineVanished,
            Refusal::Unparsable => Note::DeadlineUnparsable,
            Refusal::TooEarly => Note::DeadlineTooEarly,
            Refusal::TooFar => Note::DeadlineTooFar,
            Refusal::ForAnotherServer => Note::DeadlineForAnotherServer,
        })
    }

    /// Takes in one sight of the Node. `consistent` says that it is an answer to a question just asked.
    pub fn take(&self, seen: &Seen, consistent: bool) {
        if let Some(answered) = seen.answered {
            self.fuse.tell(Tell::Answered(answered));
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
        match read {
            Ok(deadline) => {
                self.absent_is_normal.set(false);
                self.fuse.tell(Tell::Learnt { deadline, consistent });
            }
            Err(_) if consistent => self.fuse.tell(Tell::NothingNew),
            Err(_) => {}
        }
    }

    fn best_time(&self) -> Wall {
        self.fuse.view.borrow().best.wall(clocks::read().boot)
    }

    /// Reads and watches, for ever, once this machine says which server it is: no deadline counts before.
    pub async fn follow(&self, api: &NodeApi, node: &NodeName) {
        let _ = self.standing.clone().wait_for(|standing| standing.server.is_some()).await;
        let mut backoff = retries();
        loop {
            match self.read_and_watch(api, node).await {
                Ok(()) => backoff = retries(),
                Err(error) => {
                    tracing::warn!(
                        error = journal::chain(&error),
                        "the Node cannot be followed; the last good deadline stands"
                    );
                    tokio::time::sleep(backoff.next_delay()).await;
                }
            }
        }
    }

    /// One consistent read, and the watches that continue from it until they no longer can.
    async fn read_and_watch(&self, api: &NodeApi, node: &NodeName) -> Result<(), ApiError> {
        let seen = api.read(node).await?;
        self.take(&seen, true);
        let mut version = seen.resource_version;
        loop {
            let ended = api
                .watch(node, &version.clone(), |event| match event {
                    Event::Opened(answered) => {
                        if let Some(answered) = answered {
                            self.fuse.tell(Tell::Answered(answered));
                        }
                    }
                    Event::Seen(seen) => {
                        self.take(&seen, false);
                        version = seen.resource_version;
                    }
                    Event::Bookmark { resource_version } => version = resource_version,
                })
                .await?;
            match ended {
                Ended::Closed => {}
                Ended::Expired | Ended::Silent => return Ok(()),
                Ended::Failed { code, message } => {
                    tracing::warn!(code, message, "the watch of the Node failed");
                    tokio::time::sleep(WATCH_FAILED).await;
                    return Ok(());
                }
            }
        }
    }

    /// Once the machine deletes itself, no more work should come to it.
    pub async fn cordon_when_firing(&self, api: &NodeApi, node: &NodeName) {
        let _ = self.fuse.view.clone().wait_for(|view| view.firing).await;
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
            match api.read(node).await {
                Ok(seen) => self.take(&seen, true),
                Err(ApiError::NotFound { .. }) => self.fuse.tell(Tell::NothingNew),
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
const WATCH_FAILED: Duration = Duration::from_secs(1);
const CONFIRM_AGAIN: Duration = Duration::from_millis(500);
