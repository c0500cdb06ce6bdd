//! The fuse's own OS thread: timers, a mailbox, and the decision at every wake-up.
//!
//! It owns the fuse alone. It must never wait for anything but its timers and its mailbox: no file, no lock that
//! others hold, no connection. When it fires, it does so itself and never comes back.

use std::{
    os::fd::AsFd,
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::eventfd::{EfdFlags, EventFd},
};
use tokio::sync::watch;

use super::{Alarms, Answered, Burning, View};
use crate::{
    clocks,
    fire::Weapon,
    ledger::{Machine, Restored, Scribe},
    net::BestTime,
    time::{Boot, Wall},
};

/// What the rest of the agent tells the fuse.
pub enum Tell {
    /// What to fire with. Told first of all.
    Equip(Box<Weapon>),
    /// The lifetime by the options, or all that the ledger remembers.
    Restore(Box<Restored>),
    /// The ledger has been read: from now on it may be written.
    Remember {
        /// Which boot this is.
        boot_id: Option<String>,
        /// Who writes it.
        scribe: Scribe,
    },
    /// Which machine this is, and whether it consented.
    Machine(Machine),
    /// An authenticated answer carried a date.
    Answered(Answered),
    /// The Node carries a good deadline, or the word `none`.
    Learnt {
        /// The deadline.
        deadline: Option<Wall>,
        /// When the question was asked that this answers. None: an event, which may have waited in a buffer.
        asked: Option<Boot>,
    },
    /// A question asked then was answered with nothing good: the last good deadline stands, and has been confirmed.
    NothingNew {
        /// When it was asked.
        asked: Boot,
    },
    /// The server was created by us at this time, which bounds its lifetime too.
    Created(Wall),
    /// A heartbeat wants to know that this thread turns.
    Beat(u64),
}

/// How the rest of the agent speaks to the thread.
#[derive(Clone, Debug)]
pub struct FuseHandle {
    mailbox: Sender<Tell>,
    bell: Arc<EventFd>,
    /// What the thread last said.
    pub view: watch::Receiver<View>,
}

impl FuseHandle {
    /// Tells the fuse something. Never blocks.
    pub fn tell(&self, what: Tell) {
        // Both fail only if the thread is gone, and a thread that ends ends the process.
        let _ = self.mailbox.send(what);
        let _ = self.bell.write(1);
    }
}

/// Lights the fuse: from here on the machine's lifetime is bounded, whatever fails afterwards.
pub fn light(lifetime: Boot, best_time: Arc<BestTime>) -> nix::Result<FuseHandle> {
    let (mailbox, inbox) = mpsc::channel();
    let bell = Arc::new(EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
    let alarms = Alarms::new()?;
    let now = clocks::read();
    let (burning, view) = Burning::new(lifetime, best_time, now);
    let handle = FuseHandle { mailbox, bell: Arc::clone(&bell), view };
    thread::Builder::new()
        .name("fuse".into())
        .stack_size(STACK)
        .spawn(move || burn(burning, &alarms, &bell, &inbox))
        .map_err(|error| nix::Error::from_raw(error.raw_os_error().unwrap_or(libc::EAGAIN)))?;
    Ok(handle)
}

fn burn(mut burning: Burning, alarms: &Alarms, bell: &EventFd, inbox: &Receiver<Tell>) {
    loop {
        let now = clocks::read();
        burning.observe(now);
        for what in inbox.try_iter() {
            burning.take(what, now);
        }
        let until = burning.decide(now);
        alarms.set(until, burning.deadline_wall(), now.real);
        let [boot, real] = alarms.fds();
        let mut waiting = [boot, real, bell.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        // Whatever woke us, and whatever failed: the clocks are read again and the decision is made again.
        let _ = poll(&mut waiting, PollTimeout::from(TURN_MILLIS));
        let _ = bell.read();
    }
}

/// The thread turns at least this often: proof of life for the service's watchdog, and a bound on any missed wake-up.
const TURN_MILLIS: u16 = 2_000;

const STACK: usize = 512 * 1024;
