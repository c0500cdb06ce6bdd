//! What systemd is told: by whom, and until when.

use std::{
    fs,
    os::unix::net::UnixDatagram,
    path::Path,
    process::{Child, Command, Stdio},
};

use curfew_tests::{Kept, Promise, promises, secs};
use nix::{
    sys::ptrace::{self, Options},
    unistd::Pid,
};
use tokio::time::Instant;

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] =
    promises![systemd_hears_of_life_as_long_as_the_fuse_burns_and_no_longer];

/// A machine of which nothing is known and where nothing can be reached: its lifetime runs all the same.
async fn systemd_hears_of_life_as_long_as_the_fuse_burns_and_no_longer() -> Kept {
    let dir = tempfile::tempdir()?;
    let systemd = UnixDatagram::bind(dir.path().join("notify"))?;
    systemd.set_read_timeout(Some(secs(1)))?;
    let agent = Agent(run(dir.path())?);
    let said = heard(&systemd, 8);
    assert_eq!(said.iter().filter(|word| *word == "READY=1").count(), 1, "{said:?}");
    assert!(said.iter().any(|word| word.starts_with("STATUS=NOT ARMED: IdentityUnproven")), "{said:?}");
    let alive = said.iter().filter(|word| *word == "WATCHDOG=1").count();
    assert!((2..=9).contains(&alive), "{alive} times in 8 s");

    // The fuse's thread stops, and it alone: the others go on, and may not speak for it.
    let process = agent.0.id();
    let fuse = Pid::from_raw(thread(process, "fuse")?.ok_or("no thread of that name")?);
    ptrace::seize(fuse, Options::empty())?;
    ptrace::interrupt(fuse)?;
    let _stopped = Stopped(fuse);
    heard(&systemd, 1);
    let word = || fs::metadata(dir.path().join("run/status.json"))?.modified();
    let before = word()?;
    assert_eq!(heard(&systemd, 6), Vec::<String>::new());
    assert!(word()? > before, "the other threads had stopped, too");
    Ok(())
}

fn run(dir: &Path) -> std::io::Result<Child> {
    let path = |name: &str| dir.join(name).display().to_string();
    fs::create_dir(dir.join("run"))?;
    let mut command = Command::new(TESTBED);
    command.args(["agent", "run", "--endpoint", NOBODY, "--metadata", NOBODY, "--kubeconfig", &path("none")]);
    command.args(["--dmi", &path("none"), "--token-file", &path("none")]);
    command.args(["--run-dir", &path("run"), "--state-dir", &path("state")]);
    command.env("NOTIFY_SOCKET", dir.join("notify")).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Everything that is said within so many seconds.
fn heard(systemd: &UnixDatagram, seconds: u64) -> Vec<String> {
    let (mut said, mut bytes) = (Vec::new(), [0; 4096]);
    let until = Instant::now() + secs(seconds);
    while Instant::now() < until {
        if let Ok(length) = systemd.recv(&mut bytes) {
            said.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
        }
    }
    said
}

fn thread(process: u32, name: &str) -> std::io::Result<Option<i32>> {
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        let task = task?;
        if fs::read_to_string(task.path().join("comm"))?.trim() == name {
            return Ok(task.file_name().to_string_lossy().parse().ok());
        }
    }
    Ok(None)
}

/// Ends with the test.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Let go with the test, before the process is ended: a traced thread would keep it from being reaped.
struct Stopped(Pid);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = ptrace::detach(self.0, None);
    }
}

const NOBODY: &str = "http://127.0.0.1:9";
