//! What the machine's bootstrap left behind: whether it failed for good, and its last word. Reads only.
//!
//! The script's files are on a disk that may hang. The daemon therefore has a thread that alone looks at it, and alone
//! hangs with it; what it last saw stands. Nothing depends on it but a note.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use curfew_contract::Note;

use crate::patience;

/// Whether the bootstrap has failed, as last seen.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<AtomicBool>);

impl Watch {
    /// Looks from here on, each `every`. Where no thread can be had, nothing is ever seen.
    #[must_use]
    pub fn start(state_dir: &Path, every: Duration) -> Self {
        let (watch, marker) = (Self::default(), marker(state_dir));
        let failed = Arc::clone(&watch.0);
        let looks = move || {
            loop {
                // A disk that cannot be read says nothing, and what was seen before stands.
                if let Ok(there) = marker.try_exists() {
                    failed.store(there, Ordering::Relaxed);
                }
                thread::sleep(every);
            }
        };
        if let Err(error) = thread::Builder::new().name("bootstrap".into()).stack_size(STACK).spawn(looks) {
            tracing::warn!(%error, "a bootstrap that failed will not be reported");
        }
        watch
    }

    /// What the heartbeat says of it.
    #[must_use]
    pub fn note(&self) -> Option<Note> {
        self.0.load(Ordering::Relaxed).then_some(Note::BootstrapFailed)
    }
}

/// For `status`: what failed and what to do, or else the last thing the script did. `None`: there was no bootstrap.
#[must_use]
pub fn row(state_dir: &Path) -> Option<String> {
    let last_line = |path: PathBuf| patience::within(DISK_ANSWERS, move || tail(&path).ok()).flatten();
    match last_line(marker(state_dir)) {
        Some(words) => Some(format!("FAILED: {words}")),
        None => last_line(state_dir.join("bootstrap/log")),
    }
}

/// There only after a failure for good: one line, `<stage>: <what failed, and what to do>`.
fn marker(state_dir: &Path) -> PathBuf {
    state_dir.join("bootstrap/failed")
}

/// The last line of a file, however long the file is.
fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let end = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(end.saturating_sub(LONGEST_LINE)))?;
    let mut bytes = Vec::new();
    file.take(LONGEST_LINE).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned())
}

const DISK_ANSWERS: Duration = Duration::from_secs(1);
const LONGEST_LINE: u64 = 1024;
const STACK: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_failure_for_good_is_said_before_the_last_word() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(row(dir.path()), None);
        fs::create_dir(dir.path().join("bootstrap")).unwrap();
        fs::write(dir.path().join("bootstrap/log"), format!("{}first begun\nlast done\n", "x".repeat(5_000)))
            .unwrap();
        assert_eq!(row(dir.path()).as_deref(), Some("last done"));
        fs::write(marker(dir.path()), "agent: no URL answered; put the binary there by hand\n").unwrap();
        assert_eq!(row(dir.path()).unwrap(), "FAILED: agent: no URL answered; put the binary there by hand");
    }

    #[test]
    fn the_note_comes_and_goes_with_the_marker() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bootstrap")).unwrap();
        fs::write(marker(dir.path()), "").unwrap();
        let watch = Watch::start(dir.path(), Duration::from_millis(5));
        let becomes = |note: Option<Note>| {
            let looks = || thread::sleep(Duration::from_millis(5));
            (0..6_000).inspect(|_| looks()).any(|_| watch.note() == note)
        };
        assert!(becomes(Some(Note::BootstrapFailed)));
        fs::remove_file(marker(dir.path())).unwrap();
        assert!(becomes(None));
    }

    #[test]
    fn a_disk_that_hangs_holds_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bootstrap")).unwrap();
        // Opening a FIFO that nobody writes to does not return.
        nix::unistd::mkfifo(&marker(dir.path()), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(row(dir.path()), None);
    }
}
