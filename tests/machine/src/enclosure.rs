//! Private namespaces around everything: mounts, network, processes. Nothing of a run is seen outside, nothing reaches
//! outside, and nothing is left when its first process ends, however that ends.

use std::{
    env, fs, io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

/// The address of the world outside the machines, on its bridge. They have others of the same /24.
pub(crate) const OUTSIDE: [u8; 4] = [10, 88, 0, 1];
/// The bridge that machines are plugged into.
pub(crate) const BRIDGE: &str = "site";

/// Why no machine can be run here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("machines need root")]
    NotRoot,
    #[error("no private namespaces here: {0}")]
    NoNamespaces(String),
    #[error("{0} is not installed: tests/machine/prepare installs it")]
    NotInstalled(&'static str),
}

/// A step that failed within.
#[derive(Debug, thiserror::Error)]
#[error("failed to furnish the enclosure: {command}: {said}")]
pub(crate) struct Unfurnished {
    command: String,
    said: String,
}

/// Returns within the enclosure. Called outside, this process becomes its first.
pub(crate) fn enter() -> Result<(), Refused> {
    if env::var_os(ENCLOSED).is_some() {
        return Ok(());
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Refused::NotRoot);
    }
    for program in ["systemd-nspawn", "nsenter", "ip", "qemu-system-x86_64", "dnsmasq"] {
        let paths = env::var_os("PATH").unwrap_or_default();
        if !env::split_paths(&paths).any(|dir| dir.join(program).exists()) {
            return Err(Refused::NotInstalled(program));
        }
    }
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]);
        command
    };
    let no = |why: String| Refused::NoNamespaces(why.trim().to_owned());
    let tried = unshare().arg("true").output().map_err(|error| no(error.to_string()))?;
    if !tried.status.success() {
        return Err(no(String::from_utf8_lossy(&tried.stderr).into_owned()));
    }
    let own = env::current_exe().map_err(|error| no(error.to_string()))?;
    Err(no(unshare()
        .arg(own)
        .args(env::args_os().skip(1))
        .env(ENCLOSED, std::process::id().to_string())
        .exec()
        .to_string()))
}

/// Control groups and a network, within.
pub(crate) fn furnish() -> Result<(), Unfurnished> {
    let outside = OUTSIDE.map(|byte| byte.to_string()).join(".");
    for line in [
        // Version 2 alone, as systemd wants to find it.
        "umount --lazy /sys/fs/cgroup",
        "mount -t cgroup2 none /sys/fs/cgroup",
        &format!("mkdir {}", groups().display()),
        // What is kept in memory goes with us.
        "mount -t tmpfs -o mode=1777 none /dev/shm",
        "ip link set lo up",
        // An address of its own: else it takes one of its ports', and loses it, and with it its neighbours, when a
        // machine ends.
        &format!("ip link add {BRIDGE} address 02:00:0a:58:00:01 type bridge"),
        &format!("ip addr add {outside}/24 dev {BRIDGE}"),
        // The metadata service of every cloud.
        &format!("ip addr add 169.254.169.254/32 dev {BRIDGE}"),
        &format!("ip link set {BRIDGE} up"),
    ] {
        let unfurnished = |said: String| Unfurnished { command: line.to_owned(), said };
        let mut words = line.split(' ');
        let mut command = Command::new(words.next().unwrap_or_default());
        let output = command.args(words).output().map_err(|error| unfurnished(error.to_string()))?;
        if !output.status.success() {
            return Err(unfurnished(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
    }
    Ok(())
}

/// The control group of this run, in which machines have theirs.
pub(crate) fn groups() -> PathBuf {
    let run = env::var(ENCLOSED).unwrap_or_default();
    Path::new("/sys/fs/cgroup").join(format!("curfew-machine-{run}"))
}

/// Removes it, once no machine runs any more.
pub(crate) fn leave() {
    // One that is not empty says more than an error here could.
    let _ = fs::remove_dir(groups());
}

/// Kills every process of a control group, and returns when none is left. It is removed.
pub(crate) fn end_group(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.kill"), "1")?;
    while fs::read_to_string(group.join("cgroup.events"))?.contains("populated 1") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    remove_group(group)
}

fn remove_group(group: &Path) -> io::Result<()> {
    for entry in fs::read_dir(group)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_group(&entry.path())?;
        }
    }
    fs::remove_dir(group)
}

const ENCLOSED: &str = "CURFEW_MACHINE_ENCLOSED";
