//! What a machine says on its console, stamped by the clock outside as it arrives: a machine whose own clock is wrong
//! cannot put a wrong time to it. It outlives the machine.

use std::{
    io::{BufRead, BufReader, Read},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use jiff::Timestamp;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// When its last byte arrived.
    pub(crate) at: Timestamp,
    pub(crate) text: String,
}

/// Everything said so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Console(Arc<Mutex<Vec<Line>>>);

impl Console {
    /// Listens until the stream ends.
    pub(crate) fn listen(stream: impl Read + Send + 'static) -> Self {
        let console = Self::default();
        let lines = console.clone();
        thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n') {
                let Ok(line) = line else { return };
                let text = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
                lines.lock().push(Line { at: crate::clock::now(), text });
            }
        });
        console
    }

    /// Waits for a line, not before `since`, that contains `text`. Returns when it came.
    pub(crate) async fn says(&self, text: &str, since: Timestamp, within: Duration) -> Option<Timestamp> {
        let said = async {
            loop {
                let found =
                    self.lock().iter().find(|line| line.at >= since && line.text.contains(text)).cloned();
                if let Some(line) = found {
                    return line.at;
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(within, said).await.ok()
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        self.lock().clone()
    }

    /// Whether a line has `text` in it.
    pub(crate) fn has_said(&self, text: &str) -> bool {
        self.lock().iter().any(|line| line.text.contains(text))
    }

    /// The last lines, as many as a person reads.
    pub(crate) fn tail(&self, lines: usize) -> String {
        let said = self.lock();
        let last = said[said.len().saturating_sub(lines)..].iter();
        last.fold(String::new(), |tail, line| tail + &format!("{:.3} {}\n", line.at, line.text))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const LOOK: Duration = Duration::from_millis(50);
