//! The thread that writes the ledger, so that a disk that is full, slow or hung costs memory of the past and nothing
//! else. Whoever hands it a record never waits for a disk; only a firing fuse waits, for [`PATIENCE`] at most.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use super::{Ledger, Record};

/// A handle to the thread.
#[derive(Clone, Debug)]
pub struct Scribe {
    records: Sender<Entry>,
    unwritable: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Entry {
    record: Record,
    written: Option<Sender<()>>,
}

impl Scribe {
    /// Starts the thread. Where none can be had the ledger stays unwritten, which [`Scribe::unwritable`] tells.
    #[must_use]
    pub fn start(ledger: Ledger, last_seq: u64) -> Self {
        let (records, inbox) = mpsc::channel();
        let unwritable = Arc::new(AtomicBool::new(false));
        let failing = Arc::clone(&unwritable);
        let started = thread::Builder::new()
            .name("scribe".into())
            .stack_size(STACK)
            .spawn(move || Writing { ledger, seq: last_seq, failing: [false; 2] }.run(&inbox, &failing));
        if let Err(error) = started {
            tracing::error!(%error, "the ledger's thread cannot be started; a restart will forget the deadline");
            unwritable.store(true, Ordering::Relaxed);
        }
        Self { records, unwritable }
    }

    /// Hands over a record. Returns at once.
    pub fn write(&self, record: Record) {
        let _ = self.records.send(Entry { record, written: None });
    }

    /// Hands over the record of a firing, and waits until the live ledger has it, but not for long: firing does not
    /// depend on it.
    pub fn write_before_firing(&self, record: Record) {
        let (written, done) = mpsc::channel();
        let _ = self.records.send(Entry { record, written: Some(written) });
        let _: Result<(), RecvTimeoutError> = done.recv_timeout(PATIENCE);
    }

    /// Whether either place refused the last record.
    #[must_use]
    pub fn unwritable(&self) -> bool {
        self.unwritable.load(Ordering::Relaxed)
    }
}

struct Writing {
    ledger: Ledger,
    seq: u64,
    failing: [bool; 2],
}

impl Writing {
    fn run(mut self, inbox: &Receiver<Entry>, unwritable: &AtomicBool) {
        while let Ok(mut entry) = inbox.recv() {
            // Only the newest counts; those that queued up behind a slow disk are skipped.
            while entry.written.is_none()
                && let Ok(newer) = inbox.try_recv()
            {
                entry = newer;
            }
            self.seq += 1;
            entry.record.seq = self.seq;
            let live = self.ledger.write_live(&entry.record);
            if let Some(written) = entry.written {
                let _ = written.send(());
            }
            let kept = self.ledger.write_kept(&entry.record);
            for (place, result) in [live, kept].iter().enumerate() {
                self.report(place, result);
            }
            unwritable.store(self.failing.contains(&true), Ordering::Relaxed);
        }
    }

    /// Says it once for each change.
    fn report(&mut self, place: usize, result: &io::Result<()>) {
        let dir = if place == 0 { &self.ledger.live } else { &self.ledger.kept };
        match (result, self.failing[place]) {
            (Err(error), false) => {
                tracing::error!(dir = %dir.display(), %error, "the ledger cannot be written; the fuse burns on");
            }
            (Ok(()), true) => tracing::info!(dir = %dir.display(), "the ledger can be written again"),
            _ => {}
        }
        self.failing[place] = result.is_err();
    }
}

/// How long firing waits for its record to be written to memory-backed `/run`.
const PATIENCE: Duration = Duration::from_millis(5);

const STACK: usize = 128 * 1024;
