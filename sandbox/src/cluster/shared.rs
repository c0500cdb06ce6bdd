//! The state that connections, watches and the in-process API share. Owns the locks and the server's clock; no
//! lock is held across an await.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use rustls::ServerConfig;
use tokio::sync::watch;

use super::{api::Rules, fault::Faults, ledger::Call, pki::Authority, resource::Resource, store::Store};

pub(crate) struct Shared {
    store: Mutex<Store>,
    changed: watch::Sender<u64>,
    pub(crate) faults: Arc<Faults>,
    calls: Mutex<Vec<Call>>,
    pub(crate) authority: Authority,
    tls: Mutex<Arc<ServerConfig>>,
    rules: Rules,
    pub(crate) bookmark_every: Duration,
    opened: AtomicU64,
    closed: AtomicU64,
}

impl Shared {
    pub(crate) fn new(
        authority: Authority,
        tls: ServerConfig,
        rules: Rules,
        bookmark_every: Duration,
    ) -> Self {
        Self {
            store: Mutex::new(Store::new()),
            changed: watch::Sender::new(0),
            faults: Arc::new(Faults::new()),
            calls: Mutex::new(Vec::new()),
            authority,
            tls: Mutex::new(Arc::new(tls)),
            rules,
            bookmark_every,
            opened: AtomicU64::new(0),
            closed: AtomicU64::new(0),
        }
    }

    /// The API server's clock.
    #[expect(clippy::disallowed_methods, reason = "the double of a machine with a clock of its own")]
    pub(crate) fn now(&self) -> Timestamp {
        let true_time = Timestamp::now();
        true_time.checked_add(self.faults.skew()).unwrap_or(true_time)
    }

    pub(crate) fn read<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        look(&self.store.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the store and wakes the watches.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut Store) -> T) -> T {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let before = store.revision();
        let result = change(&mut store);
        let after = store.revision();
        drop(store);
        if after != before {
            self.changed.send_replace(after);
        }
        result
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) const fn rules(&self) -> Rules {
        self.rules
    }

    pub(crate) fn tls(&self) -> Arc<ServerConfig> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_tls(&self, config: ServerConfig) {
        *self.tls.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }

    /// Writes a call down and returns its place.
    pub(crate) fn record(&self, call: Call) -> usize {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(call);
        calls.len() - 1
    }

    pub(crate) fn settle(&self, place: usize, code: u16, bytes: usize) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = calls.get_mut(place) {
            call.code = code;
            call.bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        }
    }

    pub(crate) fn count_bytes(&self, place: usize, bytes: usize) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = calls.get_mut(place) {
            call.bytes = call.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a watch that opens or closes; an opening one gets its serial.
    pub(crate) fn count_watch(&self, opens: bool) -> u64 {
        if opens { &self.opened } else { &self.closed }.fetch_add(1, Ordering::SeqCst)
    }

    /// How many watches were ever opened, and how many of them are open.
    pub(crate) fn watches(&self) -> (u64, u64) {
        let closed = self.closed.load(Ordering::SeqCst);
        let opened = self.opened.load(Ordering::SeqCst);
        (opened, opened.saturating_sub(closed))
    }
}

/// Everything the server serves now: the built-in kinds, and what definitions in the store add.
pub(crate) fn served(store: &Store) -> Vec<Resource> {
    let defined =
        store.list("customresourcedefinitions.apiextensions.k8s.io", "").flat_map(Resource::defined_by);
    Resource::built_in().into_iter().chain(defined).collect()
}
