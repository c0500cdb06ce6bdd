//! The heartbeat: composed from what the fuse's thread says it will do (pure), and written for ever.
//!
//! A beat is an acknowledgement. It is written only after the fuse's thread has answered *this* beat: an agent whose
//! fuse is dead falls silent, and silence shows as unarmed.

use std::{collections::BTreeSet, time::Duration};

use curfew_contract::{Backstop, Heartbeat, Note, Phase, heartbeat::VERSION};
use jiff::SignedDuration;
use tokio::{sync::watch, time::timeout};

use crate::{
    backoff::Backoff,
    backstop, bootstrap, clocks,
    config::Config,
    follow::Follower,
    fuse::{FuseHandle, Tell, View},
    journal,
    node::{NodeApi, NodeName},
    notify,
    parts::Parts,
    standing::Standing,
    status::LastWord,
    time::{Boot, Reading, Wall},
};

/// Composes one beat. Pure.
#[must_use]
pub fn compose(
    config: &Config,
    view: &View,
    standing: &Standing,
    backstop: Option<backstop::Left>,
    draining: bool,
    notes: impl IntoIterator<Item = Note>,
    now: Reading,
) -> Heartbeat {
    // Times are cluster time or nothing: a guess would be compared with other machines' clocks.
    let cluster = |at: Boot| view.cluster.map(|offset| offset.wall(at).timestamp());
    let of_the_fuse = [
        (view.respite, Note::DeadlineInThePast),
        (view.holding, Note::FirstArming),
        (view.stepping, Note::ClusterTimeStepping),
        (view.unwritable, Note::LedgerUnwritable),
        (view.alive_but_not_found, Note::AliveButNotFound),
        (config.observe, Note::ObserveOnly),
    ];
    let of_the_fuse = of_the_fuse.into_iter().filter_map(|(holds, note)| holds.then_some(note));
    let notes: BTreeSet<Note> =
        notes.into_iter().chain(of_the_fuse).chain(standing.notes.iter().copied()).collect();
    Heartbeat {
        v: VERSION,
        at: cluster(now.boot),
        every: SignedDuration::from_millis(config.heartbeat.millis()),
        fires_at: cluster(view.fires),
        cause: view.cause,
        deadline_seen: view.deadline.map(Wall::timestamp),
        server: standing.server.clone(),
        identity: standing.identity,
        authority: standing.authority_at(now.boot, config.probe),
        backstop: backstop.map(|left| Backstop { at: cluster(left.at), authority: left.authority }),
        clock_skew: view.skew.map(|skew| skew.to_string()),
        phase: phase(view, draining),
        notes: notes.into_iter().collect(),
        agent: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

const fn phase(view: &View, draining: bool) -> Phase {
    match (view.firing, draining) {
        (true, _) => Phase::Firing,
        (false, true) => Phase::Draining,
        (false, false) => Phase::Armed,
    }
}

/// What a beat is made from, besides the fuse.
pub struct Pulse<'a> {
    /// Periods and directories.
    pub config: &'a Config,
    /// The fuse.
    pub fuse: &'a FuseHandle,
    /// Identity and authority.
    pub standing: watch::Receiver<Standing>,
    /// The deadline's refusals.
    pub follower: &'a Follower,
    /// Whether work is being moved away.
    pub draining: watch::Receiver<bool>,
    /// What was wrong from the start.
    pub notes: Vec<Note>,
    /// Which boot this is.
    pub boot_id: Option<String>,
    /// Whether the machine's bootstrap has failed.
    pub bootstrap: bootstrap::Watch,
    /// What was built from the options.
    pub parts: &'a Parts,
}

impl Pulse<'_> {
    /// The next beat, once the fuse's thread has answered for it. `None`: it did not, and nothing must be said.
    pub async fn compose(&self, beat: u64) -> Option<Heartbeat> {
        self.fuse.tell(Tell::Beat(beat));
        let mut view = self.fuse.view.clone();
        let answered = view.wait_for(|view| view.beat >= beat || view.firing);
        let view = timeout(FUSE_ANSWERS, answered).await.ok()?.ok()?.clone();
        Some(self.compose_from(&view))
    }

    fn compose_from(&self, view: &View) -> Heartbeat {
        let ignored = self.parts.dates_ignored().then_some(Note::TlsDatesIgnored);
        let notes = self.notes.iter().copied().chain(self.follower.notes()).chain(ignored);
        let notes = notes.chain(self.bootstrap.note());
        let left = self.backstop();
        compose(
            self.config,
            view,
            &self.standing.borrow(),
            left,
            *self.draining.borrow(),
            notes,
            clocks::read(),
        )
    }

    fn backstop(&self) -> Option<backstop::Left> {
        backstop::Left::read(&self.config.run_dir, self.boot_id.as_deref())
    }

    /// Writes heartbeats for ever: each period, jittered so that a fleet does not beat in step, and at once when
    /// something that matters has changed.
    pub async fn run(&self, api: &NodeApi, node: &NodeName) {
        let mut backoff = retries(self.config);
        let mut beat = 0_u64;
        // A first beat without a time would be judged by its looks: old.
        let mut view = self.fuse.view.clone();
        let _ = timeout(TIME_COMES, view.wait_for(|view| view.cluster.is_some())).await;
        loop {
            beat += 1;
            let Some(heartbeat) = self.compose(beat).await else {
                tracing::error!("the fuse's thread does not turn: no heartbeat");
                tokio::time::sleep(AT_LEAST).await;
                continue;
            };
            let asked = clocks::read().boot;
            let delay = match api.beat(node, &heartbeat.write()).await {
                Ok(seen) => {
                    self.follower.take(&seen, Some(asked));
                    backoff = retries(self.config);
                    self.config.heartbeat.wait().mul_f64(1.0 + 0.1 * fastrand::f64())
                }
                Err(error) => {
                    tracing::warn!(
                        error = journal::chain(&error),
                        "the heartbeat cannot be written; the fuse burns on"
                    );
                    backoff.next_delay()
                }
            };
            tokio::time::sleep(AT_LEAST.min(delay)).await;
            let said = Said::of(&heartbeat);
            let _ = timeout(delay.saturating_sub(AT_LEAST), self.changed(said)).await;
        }
    }

    /// Says in words, to whoever asks on this machine, what the heartbeat says to the cluster. Without a cluster too.
    pub async fn tell_the_machine(&self) {
        let mut said = String::new();
        loop {
            let view = self.fuse.view.borrow().clone();
            // Here nobody compares clocks: before there is a cluster time, the best guess is better than none.
            let guessing = View { cluster: view.cluster.or(Some(view.best)), ..view.clone() };
            let word = LastWord::new(&view, self.compose_from(&guessing), self.boot_id.clone());
            let line = word.line();
            if line != said {
                notify::status(&line);
                said = line;
            }
            // Where it cannot be written, `status` knows no more than the ledger; the scribe reports the cause.
            let _ = word.write(&self.config.run_dir);
            tokio::time::sleep(WORDS_EVERY).await;
        }
    }

    /// Returns once the next beat would say something that nobody should wait for.
    async fn changed(&self, said: Said) {
        let (mut view, mut standing) = (self.fuse.view.clone(), self.standing.clone());
        let mut draining = self.draining.clone();
        loop {
            let (looked, stood) = (view.borrow_and_update().clone(), standing.borrow_and_update().clone());
            let now = Said {
                identity: stood.identity,
                authority: stood.authority_at(looked.now.boot, self.config.probe),
                phase: phase(&looked, *draining.borrow_and_update()),
                has_deadline: looked.deadline.is_some(),
                has_backstop: self.backstop().is_some(),
            };
            if now != said {
                return;
            }
            // The fuse's thread publishes every two seconds at least; that also paces this look.
            tokio::select! {
                _ = view.changed() => {}
                _ = standing.changed() => {}
                _ = draining.changed() => {}
            }
        }
    }
}

/// The part of a beat whose change is written at once. A renewed deadline is not in it: it would double the writes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Said {
    identity: curfew_contract::Identity,
    authority: curfew_contract::Authority,
    phase: Phase,
    has_deadline: bool,
    has_backstop: bool,
}

impl Said {
    fn of(beat: &Heartbeat) -> Self {
        Self {
            identity: beat.identity,
            authority: beat.authority,
            phase: beat.phase,
            has_deadline: beat.deadline_seen.is_some(),
            has_backstop: beat.backstop.is_some(),
        }
    }
}

fn retries(config: &Config) -> Backoff {
    Backoff::new(Duration::from_secs(1), config.heartbeat.wait())
}

/// The fuse's thread answers within microseconds, or it does not turn.
const FUSE_ANSWERS: Duration = Duration::from_secs(2);

/// How often `status` on the machine can know more.
const WORDS_EVERY: Duration = Duration::from_secs(2);

/// The Node is read at once, and its answer carries the time.
const TIME_COMES: Duration = Duration::from_secs(3);

/// Between two beats, whatever changes.
const AT_LEAST: Duration = Duration::from_secs(1);
