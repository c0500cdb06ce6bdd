//! What the tasks of a controller share: the world as known, the cluster's clock, and a bell.

use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use crate::{
    clock::{ClusterClock, Reading},
    observe::World,
};

/// Shared by every task. Locks are held for the length of a computation, never across a call.
#[derive(Debug)]
pub(crate) struct Shared {
    world: Mutex<World>,
    changed: watch::Sender<()>,
    pub(crate) clock: ClusterClock,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self { world: Mutex::default(), changed: watch::Sender::new(()), clock: ClusterClock::default() }
    }

    /// Reads, or notes what concerns nobody else.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut World, Reading) -> T) -> T {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        look(&mut world, self.clock.read())
    }

    /// Changes the world and wakes everyone who decides from it.
    pub(crate) fn change(&self, change: impl FnOnce(&mut World, Reading)) {
        self.with(change);
        self.ring();
    }

    /// Wakes everyone.
    pub(crate) fn ring(&self) {
        self.changed.send_replace(());
    }

    /// Wakes whenever the world changed.
    pub(crate) fn bell(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}
