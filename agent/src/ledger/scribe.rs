//! The threads that write the ledger, one for each place, so that a disk that is full, slow or hung costs memory of the
//! past and nothing else. Whoever hands over a record never waits for a disk; only a firing waits, for the one in memory,
//! and for [`PATIENCE`] at most.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use super::{Ledger, Record};
use crate::{
    clocks,
    time::{Boot, Span},
};

/// A handle to the threads.
#[derive(Clone, Debug)]
pub struct Scribe {
    live: Place,
    kept: Place,
    seq: Arc<AtomicU64>,
}

#[derive(Clone, Debug)]
struct Place {
    records: Sender<Entry>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    failing: AtomicBool,
    /// Since when it has been writing one record, in milliseconds of boot time; zero while it is not.
    busy_since: AtomicI64,
}

#[derive(Debug)]
struct Entry {
    record: Record,
    written: Option<Sender<()>>,
}

type Write = fn(&Ledger, &Record) -> io::Result<()>;

impl Scribe {
    /// Starts the threads. `last_seq` is that of the last record there is.
    #[must_use]
    pub fn start(ledger: &Ledger, last_seq: u64) -> Self {
        Self {
            live: Place::start("ledger-live", ledger.clone(), Ledger::write_live),
            kept: Place::start("ledger-kept", ledger.clone(), Ledger::write_kept),
            seq: Arc::new(AtomicU64::new(last_seq)),
        }
    }

    /// Hands over a record. Returns at once.
    pub fn write(&self, record: Record) {
        self.hand_over(record, None);
    }

    /// Hands over the record of a firing, and waits until the live ledger has it, but not for long: firing does not
    /// depend on it.
    pub fn write_before_firing(&self, record: Record) {
        let (written, done) = mpsc::channel();
        self.hand_over(record, Some(written));
        let _ = done.recv_timeout(PATIENCE);
    }

    /// Hands over a last record and waits until both places have it or have failed, for a process that ends.
    pub fn write_and_end(self, record: Record) {
        let (written, done) = mpsc::channel();
        self.hand_over(record.clone(), Some(written.clone()));
        self.kept.hand_over(Entry { record, written: Some(written) });
        let _ = done.recv_timeout(AT_THE_END).and_then(|()| done.recv_timeout(AT_THE_END));
    }

    /// Whether either place refused the last record, or hangs.
    #[must_use]
    pub fn unwritable(&self) -> bool {
        let now = clocks::read().boot;
        self.live.is_stuck(now) || self.kept.is_stuck(now)
    }

    fn hand_over(&self, mut record: Record, written: Option<Sender<()>>) {
        record.seq = self.seq.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        self.kept.hand_over(Entry { record: record.clone(), written: None });
        self.live.hand_over(Entry { record, written });
    }
}

impl Place {
    /// Where no thread can be had the ledger stays unwritten, and is reported so.
    fn start(name: &str, ledger: Ledger, write: Write) -> Self {
        let (records, inbox) = mpsc::channel();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let started = thread::Builder::new()
            .name(name.into())
            .stack_size(STACK)
            .spawn(move || keep(&ledger, write, &inbox, &shared));
        if let Err(error) = started {
            tracing::error!(%error, "a thread of the ledger cannot be started; a restart may forget the deadline");
            state.failing.store(true, Ordering::Relaxed);
        }
        Self { records, state }
    }

    fn hand_over(&self, entry: Entry) {
        // It fails only where the thread could not be started, which was reported.
        let _ = self.records.send(entry);
    }

    fn is_stuck(&self, now: Boot) -> bool {
        let since = self.state.busy_since.load(Ordering::Relaxed);
        let hangs = since > 0 && now.since(Boot::from_millis(since)) > HANGS_AFTER;
        hangs || self.state.failing.load(Ordering::Relaxed)
    }
}

/// Writes whatever is newest, for as long as there is someone to hand it over.
fn keep(ledger: &Ledger, write: Write, inbox: &Receiver<Entry>, state: &State) {
    while let Ok(mut entry) = inbox.recv() {
        // Those that queued up behind a slow disk are skipped, unless somebody waits for one.
        while entry.written.is_none()
            && let Ok(newer) = inbox.try_recv()
        {
            entry = newer;
        }
        state.busy_since.store(clocks::read().boot.millis(), Ordering::Relaxed);
        let result = write(ledger, &entry.record);
        state.busy_since.store(0, Ordering::Relaxed);
        if let Some(written) = entry.written {
            let _ = written.send(());
        }
        let failed_before = state.failing.swap(result.is_err(), Ordering::Relaxed);
        match result {
            Err(error) if !failed_before => {
                tracing::error!(%error, "the ledger cannot be written; the fuse burns on");
            }
            Ok(()) if failed_before => tracing::info!("the ledger can be written again"),
            _ => {}
        }
    }
}

/// How long firing waits for its record to be written to memory-backed `/run`.
const PATIENCE: Duration = Duration::from_millis(5);
/// How long a command that ends waits for each place.
const AT_THE_END: Duration = Duration::from_secs(2);
/// A disk that takes longer for a kilobyte hangs.
const HANGS_AFTER: Span = Span::from_secs(10);
const STACK: usize = 128 * 1024;
