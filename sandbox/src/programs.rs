//! Which executables are the agent and the controller, and how one executable can be both.
//!
//! Every process is started through a wrapper (`sandbox enclosed … -- PROGRAM …`) that ties it to the sandbox's life
//! and then becomes the program. No process outlives the sandbox, not even if the sandbox is killed.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    sys::{prctl, signal::Signal},
    unistd::getppid,
};

/// The executables.
#[derive(Clone, Debug)]
pub struct Programs {
    wrapper: PathBuf,
    agent: Vec<OsString>,
    controller: Vec<OsString>,
}

impl Programs {
    /// One executable whose `main` is [`crate::main`].
    #[must_use]
    pub fn all_in(executable: impl Into<PathBuf>) -> Self {
        let wrapper = executable.into();
        let part = |name: &str| vec![wrapper.clone().into_os_string(), name.into()];
        Self { agent: part(AGENT), controller: part(CONTROLLER), wrapper }
    }

    /// This process's own executable.
    pub fn own() -> io::Result<Self> {
        std::env::current_exe().map(Self::all_in)
    }

    /// Another agent, for example the static one.
    #[must_use]
    pub fn with_agent(mut self, path: PathBuf) -> Self {
        self.agent = vec![path.into()];
        self
    }

    /// Another controller.
    #[must_use]
    pub fn with_controller(mut self, path: PathBuf) -> Self {
        self.controller = vec![path.into()];
        self
    }

    /// The agent's file.
    #[must_use]
    pub fn agent_path(&self) -> &Path {
        self.agent.first().map_or_else(|| Path::new(""), Path::new)
    }

    /// Whether the agent is an executable of its own.
    #[must_use]
    pub fn agent_is_separate(&self) -> bool {
        self.agent_path() != self.wrapper
    }

    /// The agent's command line. `read_only`: directories that it cannot write.
    #[must_use]
    pub fn agent(&self, read_only: &[&Path]) -> Command {
        self.enclosed(&self.agent, read_only)
    }

    /// The controller's command line, to which its arguments are added.
    #[must_use]
    pub fn controller(&self) -> Command {
        self.enclosed(&self.controller, &[])
    }

    /// Whether this kernel lets us make directories read-only for one process.
    pub(crate) fn can_freeze(&self, directories: &[&Path]) -> bool {
        let nothing = [self.agent.as_slice(), &["version".into()]].concat();
        let tried = self.enclosed(&nothing, directories).output();
        tried.is_ok_and(|output| output.status.success())
    }

    fn enclosed(&self, program: &[OsString], read_only: &[&Path]) -> Command {
        let mut command = Command::new(&self.wrapper);
        command.arg(ENCLOSED).arg(std::process::id().to_string()).args(read_only).arg("--").args(program);
        // What happens to be set in the developer's shell (proxies, tokens) is no part of the stage.
        command.env_clear();
        command
    }
}

/// Becomes another program if `args`, as `main` gets them, ask for it. To be asked before anything else is done.
#[must_use]
pub fn become_other(args: &[OsString]) -> Option<ExitCode> {
    match args.get(1).and_then(|word| word.to_str()) {
        Some(AGENT) => Some(curfew_agent::main(args[1..].iter().cloned())),
        Some(CONTROLLER) => Some(curfew_controller::run_from(args[1..].iter().cloned())),
        Some(ENCLOSED) => Some(enclose(&args[2..])),
        _ => None,
    }
}

/// `PARENT DIRECTORY… -- PROGRAM ARGUMENT…`: ties this process to its parent's life, makes directories read-only for it,
/// and becomes the program.
fn enclose(args: &[OsString]) -> ExitCode {
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let (Some((parent, directories)), Some((executable, arguments))) =
        (args[..end].split_first(), args.get(end + 1..).and_then(<[OsString]>::split_first))
    else {
        return ExitCode::from(2);
    };
    if let Err(error) = tie(parent).and_then(|()| freeze(directories)) {
        eprintln!("sandbox: failed to enclose {}: {error}", executable.display());
        return ExitCode::from(NOT_ENCLOSED);
    }
    let error = Command::new(executable).args(arguments).exec();
    eprintln!("sandbox: failed to start {}: {error}", executable.display());
    ExitCode::FAILURE
}

fn tie(parent: &OsStr) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // The parent may have died before; then nobody would ever send the signal.
    if OsStr::new(&getppid().to_string()) == parent {
        Ok(())
    } else {
        Err(io::Error::other("the sandbox is gone"))
    }
}

/// Mounts each directory read-only over itself, seen by this process only.
fn freeze(directories: &[OsString]) -> io::Result<()> {
    if directories.is_empty() {
        return Ok(());
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    let none = None::<&OsStr>;
    for directory in directories {
        let path = directory.as_os_str();
        mount(Some(path), path, none, MsFlags::MS_BIND, none)?;
        mount(none, path, none, MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY, none)?;
    }
    Ok(())
}

const AGENT: &str = "agent";
const CONTROLLER: &str = "controller";
const ENCLOSED: &str = "enclosed";
/// Exit code of the wrapper: namespaces are not to be had here.
const NOT_ENCLOSED: u8 = 71;
