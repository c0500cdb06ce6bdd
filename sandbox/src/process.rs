//! One real process: started, stopped, killed, reaped. It never outlives the value that owns it, and leaves no zombie.

use std::{
    fs::File,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

/// A running process in a process group of its own.
#[derive(Debug)]
pub struct Process {
    child: Mutex<Child>,
}

impl Process {
    /// Starts it, its standard error appended to `log`. To be called from a thread that lives as long as the process
    /// may: the kernel kills what [`crate::programs`] encloses when the starting *thread* ends.
    pub fn start(mut command: Command, log: &Path) -> io::Result<Self> {
        let log = File::options().create(true).append(true).open(log)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0);
        Ok(Self { child: Mutex::new(command.spawn()?) })
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child().id()
    }

    /// How it ended, if it has.
    #[must_use]
    pub fn ended(&self) -> Option<ExitStatus> {
        self.child().try_wait().ok().flatten()
    }

    /// Sends a signal to its group, unless it has ended.
    pub fn signal(&self, signal: Signal) {
        send(&mut self.child(), signal);
    }

    /// `kill -9`; returns when it is dead and reaped.
    pub fn kill(&self) {
        let mut child = self.child();
        send(&mut child, Signal::SIGKILL);
        // It fails only if it was reaped before.
        let _ = child.wait();
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The child's id stays its own until it is reaped, which only happens with the lock held.
fn send(child: &mut Child, signal: Signal) {
    let running = matches!(child.try_wait(), Ok(None));
    if let (true, Ok(id)) = (running, i32::try_from(child.id())) {
        let _ = killpg(Pid::from_raw(id), signal);
    }
}
