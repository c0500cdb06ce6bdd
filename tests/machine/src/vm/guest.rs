//! Root commands inside the machine, over a virtio serial port: no network is needed, and none is touched. The other end
//! is `image/overlay/usr/local/lib/curfew-machine/guest`.

use std::{io, path::Path, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::Mutex,
    time::timeout,
};

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// Exit code.
    pub(crate) status: i32,
    /// Output and errors.
    pub(crate) said: String,
}

/// Why a command was not run, or not to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuestError {
    #[error("the machine's serial port cannot be reached")]
    Port(#[from] io::Error),
    #[error("the machine's serial port was closed: the machine has ended")]
    Ended,
    #[error("the machine did not answer `{command}` within {} s", .within.as_secs())]
    Silent { command: String, within: Duration },
}

/// The outer end of the port.
pub(crate) struct Guest(Mutex<Port>);

struct Port {
    writer: OwnedWriteHalf,
    lines: Lines<BufReader<OwnedReadHalf>>,
    number: u64,
}

impl Guest {
    pub(crate) async fn connect(path: &Path) -> io::Result<Self> {
        let (reader, writer) = UnixStream::connect(path).await?.into_split();
        Ok(Self(Mutex::new(Port { writer, lines: BufReader::new(reader).lines(), number: 0 })))
    }

    /// Waits until the machine listens: after a boot, the first thing to wait for.
    pub(crate) async fn listens(&self, within: Duration) -> Result<(), GuestError> {
        let mut port = self.0.lock().await;
        let listening = async { port.until(0).await };
        timeout(within, listening)
            .await
            .unwrap_or_else(|_| Err(GuestError::Silent { command: "boot".into(), within }))
            .map(drop)
    }

    /// Runs one line of bash as root and waits for its end. What it leaves in the background must not keep its output.
    pub(crate) async fn run(&self, command: &str, within: Duration) -> Result<Done, GuestError> {
        let mut port = self.0.lock().await;
        port.number += 1;
        let line = format!("{} {command}\n", port.number);
        let running = async {
            port.writer.write_all(line.as_bytes()).await?;
            let number = port.number;
            port.until(number).await
        };
        timeout(within, running)
            .await
            .unwrap_or_else(|_| Err(GuestError::Silent { command: command.to_owned(), within }))
    }
}

impl Port {
    /// Reads up to the end of command `number`. What is left of an earlier one, given up, is skipped.
    async fn until(&mut self, number: u64) -> Result<Done, GuestError> {
        let mut said = String::new();
        loop {
            let line = self.lines.next_line().await?.ok_or(GuestError::Ended)?;
            if let Some(text) = line.strip_prefix(' ') {
                said = said + text + "\n";
            } else if let Some((ended, status)) = end(&line) {
                if ended == number {
                    return Ok(Done { status, said });
                }
                said.clear();
            }
        }
    }
}

/// `NUMBER STATUS`.
fn end(line: &str) -> Option<(u64, i32)> {
    let (number, status) = line.trim_end_matches('\r').split_once(' ')?;
    Some((number.parse().ok()?, status.parse().ok()?))
}

#[cfg(test)]
mod tests;
