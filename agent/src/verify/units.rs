//! Whether an image's systemd will start the agent and its backstop: installed, enabled, and not masked.

use std::path::Path;

use super::{Checked, Fault, Root};

/// `curfew-agent.service`.
pub(super) fn switch(root: &Root) -> Checked {
    enabled(root, "curfew-agent.service").map_err(|why| (Fault::Unit, why))
}

/// The timer alone starts nothing.
pub(super) fn backstop(root: &Root) -> Checked {
    let both =
        enabled(root, "curfew-backstop.timer").and_then(|()| installed(root, "curfew-backstop.service"));
    both.map(drop).map_err(|why| (Fault::Backstop, why))
}

/// The program that the agent's unit names.
pub(super) fn agent(root: &Root) -> Option<String> {
    let unit = root.read(&installed(root, "curfew-agent.service").ok()?).ok()?;
    let unit = String::from_utf8_lossy(&unit);
    let command = unit.lines().find_map(|line| line.trim().strip_prefix("ExecStart="))?;
    let program = command.trim_start_matches(['-', '@', ':', '+', '!']).split_whitespace().next()?;
    program.starts_with('/').then(|| program.to_owned())
}

/// Where the unit is that counts: the first in systemd's order. A link to `/dev/null` there, or an empty file, masks all
/// the others.
fn installed(root: &Root, unit: &str) -> Result<String, String> {
    let path = DIRS.iter().map(|dir| format!("{dir}/{unit}")).find(|path| root.contains(path));
    let path = path.ok_or_else(|| format!("{unit} is not installed"))?;
    if root.link(&path).is_some_and(|target| target == Path::new("/dev/null")) {
        return Err(format!("masked: systemctl unmask {unit}"));
    }
    match root.read(&path) {
        Ok(text) if text.is_empty() => Err(format!("masked by the empty file {path}")),
        Ok(_) => Ok(path),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

/// `systemctl enable` is a link in a `.wants` directory.
fn enabled(root: &Root, unit: &str) -> Result<(), String> {
    installed(root, unit)?;
    let wants = |name: &str| [".wants", ".requires"].iter().any(|end| name.ends_with(end));
    let linked = |dir: &str| {
        let links = |name: String| wants(&name) && root.contains(&format!("{dir}/{name}/{unit}"));
        root.names(dir).into_iter().any(links)
    };
    if DIRS.into_iter().any(linked) {
        Ok(())
    } else {
        Err(format!("installed but not enabled: systemctl enable {unit}"))
    }
}

const DIRS: [&str; 4] = [
    "/etc/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];
