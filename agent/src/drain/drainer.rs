//! Does what was decided: cordons, evicts, and takes the cordon off again. Owns the requests and their pace.
//!
//! Every round looks at the Node and at its pods anew, so a restart goes on where it was. Whatever fails is tried again for
//! as long as there is time; the fuse does not wait for it. A renewal, or the fuse, ends a round wherever it is.

use std::{cell::Cell, time::Duration};

use tokio::{sync::watch, time::sleep};

use super::{
    Action, Announced, Cordon, Fate, Mark, Orders, Situation, cordon, decide, fate,
    tries::{Tries, wait_after},
};
use crate::{
    backoff::Backoff,
    clocks,
    follow::Follower,
    fuse::{FuseHandle, View},
    journal,
    node::{ApiError, NodeApi, NodeName, Pod},
    time::{Boot, Span, Wall},
};

/// Moves this machine's work away.
pub struct Drainer<'a> {
    fuse: &'a FuseHandle,
    follower: &'a Follower,
    orders: watch::Receiver<Orders>,
    draining: watch::Sender<bool>,
    announced: Cell<Announced>,
    underway: Cell<Option<Boot>>,
    observe: bool,
}

impl<'a> Drainer<'a> {
    /// One that has done nothing. `observe`: and that will only ever take a cordon off.
    #[must_use]
    pub fn new(fuse: &'a FuseHandle, follower: &'a Follower, observe: bool) -> Self {
        let announced = Announced::new(&fuse.view.borrow(), clocks::read().boot);
        Self {
            fuse,
            follower,
            orders: follower.orders(),
            draining: watch::Sender::new(false),
            announced: Cell::new(announced),
            underway: Cell::new(None),
            observe,
        }
    }

    /// Whether work is being moved away.
    #[must_use]
    pub fn draining(&self) -> watch::Receiver<bool> {
        self.draining.subscribe()
    }

    /// Follows fuse and Node, for ever.
    pub async fn run(&self, api: &NodeApi, node: &NodeName) {
        let mut tries = Tries::default();
        let (mut backoff, mut news) = (retries(), self.news());
        loop {
            news.seen();
            match self.decide() {
                Action::Rest => {
                    self.say(false);
                    news.come().await;
                }
                Action::Drain => {
                    let round = async {
                        let pause = self.round(api, node, &mut tries).await;
                        sleep(pause).await;
                    };
                    tokio::select! { () = round => {}, () = self.ended() => {} }
                }
                Action::Undo => {
                    self.say(false);
                    match self.undo(api, node).await {
                        Ok(()) => {
                            backoff = retries();
                            // Whoever puts the mark back at once gets no busy answer.
                            sleep(SHORTEST).await;
                        }
                        Err(error) => {
                            let error = journal::chain(&error);
                            tracing::warn!(error, "the agent's own cordon cannot be taken off yet");
                            sleep(backoff.next_delay()).await;
                        }
                    }
                }
            }
        }
    }

    fn decide(&self) -> Action {
        let (view, now) = (self.fuse.view.borrow(), clocks::read().boot);
        let announced = self.announced.get().renewed(&view, now);
        self.announced.set(announced);
        let (orders, underway, observe) = (*self.orders.borrow(), self.underway.get(), self.observe);
        let action = decide(&Situation { view: &view, orders, announced, underway, observe }, now);
        if action == Action::Drain {
            self.underway.set(Some(view.fires));
        }
        action
    }

    fn news(&self) -> News {
        News { view: self.fuse.view.clone(), orders: self.orders.clone() }
    }

    /// Returns once there is no reason to drain any more.
    async fn ended(&self) {
        let mut news = self.news();
        loop {
            news.seen();
            if self.decide() != Action::Drain {
                return;
            }
            news.come().await;
        }
    }

    fn say(&self, draining: bool) {
        if self.draining.send_if_modified(|said| std::mem::replace(said, draining) != draining) {
            let left = self.left();
            if draining {
                tracing::warn!(%left, "draining: work is moved away before this machine goes");
            } else {
                tracing::info!(%left, "no longer draining");
            }
        }
    }

    /// One look at everything, and what follows from it. Returns how long to wait for the next.
    async fn round(&self, api: &NodeApi, node: &NodeName, tries: &mut Tries) -> Duration {
        let pause = match self.keep_work_off(api, node).await {
            Ok(true) => self.empty(api, node, tries).await,
            Ok(false) => Ok(EMPTY),
            Err(error) => Err(error),
        };
        pause.unwrap_or_else(|error| {
            tracing::warn!(
                error = journal::chain(&error),
                "work cannot be moved away yet; the fuse burns on"
            );
            wait_after(&error, self.left())
        })
    }

    /// The end of this machine, and now, in cluster time.
    fn end(&self) -> (Wall, Wall) {
        let View { fires, best, .. } = *self.fuse.view.borrow();
        (best.wall(fires), best.wall(clocks::read().boot))
    }

    fn left(&self) -> Span {
        let (end, now) = self.end();
        end.since(now)
    }

    /// Whether the Node is cordoned now, and pods may be evicted.
    async fn keep_work_off(&self, api: &NodeApi, node: &NodeName) -> Result<bool, ApiError> {
        let (seen, asked, unschedulable) = api.look(node).await?;
        self.follower.take(&seen, Some(asked));
        if self.decide() != Action::Drain {
            return Ok(false);
        }
        let (end, _) = self.end();
        match cordon(unschedulable, seen.cordoned_for.as_deref().map(Mark::read), end) {
            Cordon::Stands => {}
            Cordon::Set => {
                let asked = clocks::read().boot;
                let seen = api.cordon_for(node, &seen.resource_version, &Mark::text(end)).await?;
                self.follower.take(&seen, Some(asked));
            }
            Cordon::TakenBack => {
                tracing::warn!("somebody has uncordoned this Node: for this end, no work is moved away");
                self.say(false);
                return Ok(false);
            }
        }
        self.say(true);
        Ok(true)
    }

    /// Takes the agent's own cordon off, if it is still there by then, and nothing has changed its mind.
    async fn undo(&self, api: &NodeApi, node: &NodeName) -> Result<(), ApiError> {
        let asked = clocks::read().boot;
        let seen = api.read(node).await?;
        self.follower.take(&seen, Some(asked));
        if self.decide() != Action::Undo {
            return Ok(());
        }
        let asked = clocks::read().boot;
        let seen = api.uncordon(node, &seen.resource_version).await?;
        self.follower.take(&seen, Some(asked));
        tracing::info!("the end is no longer near: this Node takes work again");
        Ok(())
    }

    async fn empty(&self, api: &NodeApi, node: &NodeName, tries: &mut Tries) -> Result<Duration, ApiError> {
        let mut pause = EMPTY;
        for pod in &api.pods(node).await? {
            let (end, now) = self.end();
            let again = match fate(pod, end, now) {
                Fate::Stays => EMPTY,
                Fate::Leaves => LEAVING,
                Fate::Evict => self.evict(api, pod, None, tries).await,
                Fate::Hurry(seconds) => self.evict(api, pod, Some(seconds), tries).await,
            };
            pause = pause.min(again);
        }
        Ok(pause.max(SHORTEST))
    }

    /// Asks for one eviction, if it is its turn. Returns when to look again.
    async fn evict(&self, api: &NodeApi, pod: &Pod, period: Option<i64>, tries: &mut Tries) -> Duration {
        if let Some(left) = tries.left(&pod.uid, clocks::read().boot) {
            return left;
        }
        let (namespace, name) = (&pod.namespace, &pod.name);
        match api.evict(pod, period).await {
            Ok(()) => tracing::info!(namespace, name, period, "pod evicted"),
            Err(ApiError::NotFound { .. }) => {}
            Err(error) => {
                let wait = wait_after(&error, self.left());
                if tries.put_off(&pod.uid, clocks::read().boot.plus(wait.into())) {
                    let error = journal::chain(&error);
                    tracing::warn!(namespace, name, error, "pod not evicted yet; it will be tried again");
                }
                return wait;
            }
        }
        LEAVING
    }
}

/// Whatever may change the decision. The fuse's thread publishes every two seconds.
struct News {
    view: watch::Receiver<View>,
    orders: watch::Receiver<Orders>,
}

impl News {
    /// What is there now is no news. To be called before deciding: what comes while deciding is not missed.
    fn seen(&mut self) {
        self.view.mark_unchanged();
        self.orders.mark_unchanged();
    }

    async fn come(&mut self) {
        tokio::select! { _ = self.view.changed() => {}, _ = self.orders.changed() => {} }
    }
}

fn retries() -> Backoff {
    Backoff::new(Duration::from_secs(1), Duration::from_secs(30))
}

/// Between two looks, at least.
const SHORTEST: Duration = Duration::from_secs(1);
/// While pods are on their way out: one may have to hurry.
const LEAVING: Duration = Duration::from_secs(5);
/// With nothing left to do. Whole fleets drain at once when a controller is dead.
const EMPTY: Duration = Duration::from_secs(30);
