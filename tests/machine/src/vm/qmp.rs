//! QEMU's monitor: the hypervisor's hand on the machine, and what the hypervisor saw it do. One JSON object a line.
//!
//! <https://www.qemu.org/docs/master/interop/qemu-qmp-ref.html>

use std::{io, path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Mutex, mpsc, watch},
    time::timeout,
};

/// What the hypervisor can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Ends the greeting.
    Capabilities,
    /// Pauses the machine: no clock of its own runs on.
    Stop,
    /// Ends the pause.
    Cont,
    /// Wakes it out of S3.
    SystemWakeup,
    /// The reset button.
    SystemReset,
}

/// What the machine was seen to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It was reset, by itself or by the button.
    Reset,
    /// It suspended itself to RAM.
    Suspend,
    /// It woke up.
    Wakeup,
}

/// Why the monitor did not obey.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QmpError {
    #[error("the hypervisor's monitor cannot be reached")]
    Unreachable(#[source] io::Error),
    #[error("the hypervisor refused {command:?}: {said}")]
    Refused { command: Command, said: String },
    #[error("the hypervisor did not answer {0:?}")]
    Silent(Command),
    #[error("the machine was not seen to do {event:?} within {} s", .within.as_secs())]
    Unseen { event: Event, within: Duration },
}

/// A monitor that listens.
pub(crate) struct Qmp {
    speaking: Mutex<(OwnedWriteHalf, mpsc::UnboundedReceiver<Value>)>,
    events: watch::Receiver<Vec<Event>>,
}

/// Events up to here have been seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

impl Command {
    const fn name(self) -> &'static str {
        match self {
            Self::Capabilities => "qmp_capabilities",
            Self::Stop => "stop",
            Self::Cont => "cont",
            Self::SystemWakeup => "system_wakeup",
            Self::SystemReset => "system_reset",
        }
    }
}

impl Event {
    fn read(name: &str) -> Option<Self> {
        Some(match name {
            "RESET" => Self::Reset,
            "SUSPEND" => Self::Suspend,
            "WAKEUP" => Self::Wakeup,
            _ => return None,
        })
    }
}

impl Qmp {
    /// Must be called within a runtime.
    pub(crate) async fn connect(path: &Path) -> Result<Self, QmpError> {
        let (reader, writer) = UnixStream::connect(path).await.map_err(QmpError::Unreachable)?.into_split();
        let (answers, answered) = mpsc::unbounded_channel();
        let (seen, events) = watch::channel(Vec::new());
        tokio::spawn(listen(BufReader::new(reader).lines(), answers, seen));
        let qmp = Self { speaking: Mutex::new((writer, answered)), events };
        qmp.execute(Command::Capabilities).await?;
        Ok(qmp)
    }

    pub(crate) async fn execute(&self, command: Command) -> Result<(), QmpError> {
        let mut speaking = self.speaking.lock().await;
        let (writer, answered) = &mut *speaking;
        let line = format!("{}\n", json!({"execute": command.name()}));
        writer.write_all(line.as_bytes()).await.map_err(QmpError::Unreachable)?;
        let answer = timeout(ANSWERS_WITHIN, answered.recv()).await.ok().flatten();
        drop(speaking);
        match answer {
            None => Err(QmpError::Silent(command)),
            Some(answer) if answer["error"].is_null() => Ok(()),
            Some(answer) => {
                let said = answer["error"]["desc"].as_str().unwrap_or_default().to_owned();
                Err(QmpError::Refused { command, said })
            }
        }
    }

    /// Everything seen so far.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.events.borrow().len())
    }

    /// Waits for an event after the mark.
    pub(crate) async fn sees(&self, event: Event, after: Mark, within: Duration) -> Result<(), QmpError> {
        let mut events = self.events.clone();
        let seen = events.wait_for(|events| events[after.0..].contains(&event));
        match timeout(within, seen).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(QmpError::Unseen { event, within }),
        }
    }
}

/// Sorts the lines, until the machine has ended. The greeting is neither.
async fn listen(
    mut lines: Lines<BufReader<OwnedReadHalf>>,
    answers: mpsc::UnboundedSender<Value>,
    seen: watch::Sender<Vec<Event>>,
) {
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
        if let Some(name) = line["event"].as_str() {
            seen.send_modify(|events| events.extend(Event::read(name)));
        } else if line["QMP"].is_null() {
            // It fails only when nobody asks any more.
            let _ = answers.send(line);
        }
    }
}

const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
