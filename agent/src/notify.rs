//! What systemd is told, over `NOTIFY_SOCKET` (`sd_notify(3)`). Without systemd every call does nothing.
//!
//! The fuse's thread calls this, so it must never wait: a datagram that a frozen PID 1 does not take is dropped.

use std::{
    env,
    ffi::OsStr,
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::clocks;

/// The lifetime clock runs: the unit counts as started.
pub fn ready() {
    send("READY=1");
}

/// Says in words what is going on: `systemctl status` shows it.
pub fn status(words: &str) {
    send(&format!("STATUS={words}"));
}

/// The fuse's thread turns. Called by that thread only: a watchdog fed by another would outlive the fuse.
pub fn alive() {
    let (now, last) = (clocks::read().boot.millis().unsigned_abs(), LAST_ALIVE.load(Ordering::Relaxed));
    if now.abs_diff(last) >= ALIVE_EVERY_MILLIS {
        LAST_ALIVE.store(now, Ordering::Relaxed);
        send("WATCHDOG=1");
    }
}

fn send(state: &str) {
    static SOCKET: OnceLock<Option<UnixDatagram>> = OnceLock::new();
    let socket = SOCKET.get_or_init(|| connect(&env::var_os("NOTIFY_SOCKET")?).ok());
    if let Some(socket) = socket {
        // Nobody depends on it: a service manager that hears nothing restarts the agent, which is what it is for.
        let _ = socket.send(state.as_bytes());
    }
}

fn connect(path: &OsStr) -> io::Result<UnixDatagram> {
    let address = match path.as_bytes().split_first() {
        Some((b'@', name)) => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(path)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect_addr(&address)?;
    Ok(socket)
}

static LAST_ALIVE: AtomicU64 = AtomicU64::new(0);

/// `WatchdogSec` must be well above this and above one attempt to delete.
const ALIVE_EVERY_MILLIS: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_manager_that_does_not_read_holds_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let _nobody_reads = UnixDatagram::bind(&path).unwrap();
        let socket = connect(path.as_os_str()).unwrap();
        let refused = (0..100_000).find_map(|_| socket.send(b"WATCHDOG=1").err());
        assert_eq!(refused.map(|error| error.kind()), Some(io::ErrorKind::WouldBlock));
    }
}
