//! The ledger on disk: two places, two generations in each. Decides nothing about deadlines.
//!
//! `/run/curfew` survives a restart of the agent, `/var/lib/curfew` a reboot. Either may be full, read-only or gone;
//! that is reported and changes nothing else. A file is replaced by an atomic rename after `fsync`, and the one it
//! replaces is kept: a torn write costs one generation. Of all that can be read, the highest sequence counts.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Machine, Record};
use crate::patience;

/// Where the ledger is kept.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Gone at a reboot (`/run/curfew`): the live one.
    pub live: PathBuf,
    /// Kept over reboots (`/var/lib/curfew`): the copy.
    pub kept: PathBuf,
}

/// What was found at a start.
#[derive(Debug, Default)]
pub struct Found {
    /// The last record of this machine.
    pub record: Option<Record>,
    /// Some generation was there and could not be read.
    pub torn: bool,
    /// Some generation was another machine's.
    pub alien: bool,
}

impl Ledger {
    /// Reads all that is there and takes the last record of this machine. A disk that hangs is left behind.
    #[must_use]
    pub fn read(&self, machine: &Machine) -> Found {
        let mut found = Found::default();
        for dir in [self.live.clone(), self.kept.clone()] {
            let both = move || [CURRENT, PREVIOUS].map(|name| read_one(&dir.join(name)));
            let Some(both) = patience::within(DISK_ANSWERS, both) else {
                tracing::error!("a disk with a ledger on it hangs; the other ledger is used");
                found.torn = true;
                continue;
            };
            for generation in both {
                found.take(generation, machine);
            }
        }
        found
    }

    /// Writes the live ledger. Fast: `/run` is in memory.
    pub fn write_live(&self, record: &Record) -> io::Result<()> {
        write_one(&self.live, record)
    }

    /// Writes the copy. May be slow, or hang with the disk: never called by the fuse thread.
    pub fn write_kept(&self, record: &Record) -> io::Result<()> {
        write_one(&self.kept, record)
    }
}

impl Found {
    fn take(&mut self, generation: io::Result<Option<Record>>, machine: &Machine) {
        match generation {
            Ok(None) => {}
            Ok(Some(record)) if !record.machine.is_same_as(machine) => self.alien = true,
            Ok(Some(record)) => {
                if self.record.as_ref().is_none_or(|best| record.seq > best.seq) {
                    self.record = Some(record);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a generation of the ledger cannot be read; another one is used");
                self.torn = true;
            }
        }
    }
}

fn read_one(path: &Path) -> io::Result<Option<Record>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let record: Record = serde_json::from_slice(&bytes)?;
    if record.is_sane() {
        Ok(Some(record))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, "a number in it cannot be"))
    }
}

fn write_one(dir: &Path, record: &Record) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let fresh = dir.join(FRESH);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    serde_json::to_writer(&mut file, record)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    let current = dir.join(CURRENT);
    match fs::rename(&current, dir.join(PREVIOUS)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(&fresh, &current)?;
    File::open(dir)?.sync_all()
}

/// A kilobyte from a disk that is alive.
const DISK_ANSWERS: Duration = Duration::from_secs(3);

const CURRENT: &str = "ledger.json";
const PREVIOUS: &str = "ledger.previous.json";
const FRESH: &str = "ledger.fresh.json";
