//! `verify`: the assertion an image build must pass, before a machine that cannot arm ever bills.
//!
//! Reads only. Every check is made and printed; the exit code is that of the first that failed.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{args::Complaint, config::Config, credential::Source};

/// What can be wrong with an image. The number is the exit code, and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Fault {
    /// The agent is not a readable ELF file.
    NotABinary = 10,
    /// The agent needs a loader or libraries of the image.
    NotStatic = 11,
    /// The agent is built for another processor.
    WrongArchitecture = 12,
    /// An option, or a file an option names, makes no sense.
    Configuration = 13,
    /// `curfew-agent.service` is not there, or not enabled.
    Unit = 14,
    /// `curfew-backstop.timer` is not there, or not enabled.
    Backstop = 15,
    /// The image has a machine-id: all its machines would share it.
    MachineId = 16,
    /// The image carries a ledger: it was made from a machine in use.
    Ledger = 17,
}

/// Checks the image or machine whose root directory is `root`, and prints what was found.
#[must_use]
pub fn verify(root: &Path, config: &Config, complaints: &[Complaint]) -> ExitCode {
    let found = inspect(root, config, complaints);
    for (check, result) in &found {
        let line = match result {
            Ok(()) => format!("ok      {check}"),
            Err((fault, why)) => format!("FAILED  {check}: {why} (exit code {})", *fault as u8),
        };
        // Whoever has closed standard output wants only the exit code.
        let _ = writeln!(io::stdout(), "{line}");
    }
    first_fault(&found).map_or(ExitCode::SUCCESS, |fault| ExitCode::from(fault as u8))
}

type Checked = Result<(), (Fault, String)>;

fn inspect(root: &Path, config: &Config, complaints: &[Complaint]) -> [(&'static str, Checked); 6] {
    [
        ("agent is static and for this processor", agent(root).and_then(|agent| binary(&agent))),
        ("options and the files they name", configuration(root, config, complaints)),
        ("curfew-agent.service enabled", enabled(root, "curfew-agent.service").map_err(|w| (Fault::Unit, w))),
        ("curfew-backstop.timer enabled", backstop(root).map_err(|why| (Fault::Backstop, why))),
        ("no baked machine-id", machine_id(root)),
        ("no baked ledger", ledger(root, config)),
    ]
}

fn first_fault(found: &[(&str, Checked)]) -> Option<Fault> {
    found.iter().find_map(|(_, result)| result.as_ref().err()).map(|(fault, _)| *fault)
}

/// The agent the image would run: in one of the places that the units name.
fn agent(root: &Path) -> Result<PathBuf, (Fault, String)> {
    let places = ["usr/local/bin/curfew-agent", "usr/bin/curfew-agent", "opt/bin/curfew-agent"];
    let found = places.iter().map(|place| root.join(place)).find(|path| path.exists());
    found.ok_or_else(|| {
        (Fault::NotABinary, format!("there is no {} in {}", places.join(", no "), root.display()))
    })
}

/// ELF: <https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html>, 64-bit little-endian.
fn binary(path: &Path) -> Checked {
    let not_a_binary = |why: String| (Fault::NotABinary, format!("{}: {why}", path.display()));
    let bytes = fs::read(path).map_err(|error| not_a_binary(error.to_string()))?;
    let number = |at: usize, length: usize| {
        let field = bytes.get(at..at.checked_add(length)?)?;
        Some(field.iter().rev().fold(0_usize, |value, byte| value << 8 | usize::from(*byte)))
    };
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return Err(not_a_binary("not a 64-bit ELF file".into()));
    }
    let truncated = || not_a_binary("cut short".into());
    let machine = number(18, 2).ok_or_else(truncated)?;
    if machine != THIS_MACHINE {
        return Err((
            Fault::WrongArchitecture,
            format!("built for ELF machine {machine}, needed is {THIS_MACHINE}"),
        ));
    }
    let (start, size) = (number(32, 8).ok_or_else(truncated)?, number(54, 2).ok_or_else(truncated)?);
    let count = number(56, 2).ok_or_else(truncated)?;
    for header in 0..count {
        if number(start + header * size, 4).ok_or_else(truncated)? == PT_INTERP {
            return Err((Fault::NotStatic, format!("{} needs a loader: use the musl build", path.display())));
        }
    }
    Ok(())
}

fn configuration(root: &Path, config: &Config, complaints: &[Complaint]) -> Checked {
    if !root.is_dir() {
        return Err((Fault::Configuration, format!("{} is not a directory", root.display())));
    }
    if let Some(complaint) = complaints.first() {
        return Err((Fault::Configuration, complaint.clone()));
    }
    let token = match &config.token {
        Source::File(path) if inside(root, path).exists() => Some(path),
        // A token that comes after the boot is the better way; then the file is not in the image.
        _ => None,
    };
    for path in config.provider_ca.iter().chain(token) {
        fs::read(inside(root, path))
            .map_err(|error| (Fault::Configuration, format!("cannot read {}: {error}", path.display())))?;
    }
    Ok(())
}

/// The timer alone starts nothing.
fn backstop(root: &Path) -> Result<(), String> {
    enabled(root, "curfew-backstop.timer")?;
    if is_installed(root, "curfew-backstop.service") {
        Ok(())
    } else {
        Err("curfew-backstop.service is not installed".into())
    }
}

fn is_installed(root: &Path, unit: &str) -> bool {
    UNIT_DIRS.iter().any(|dir| root.join(dir).join(unit).symlink_metadata().is_ok())
}

/// `systemctl enable` is a link in a `.wants` directory.
fn enabled(root: &Path, unit: &str) -> Result<(), String> {
    let wanted = UNIT_DIRS.iter().filter_map(|dir| fs::read_dir(root.join(dir)).ok()).flatten().flatten();
    let linked = wanted
        .filter(|entry| entry.path().extension().is_some_and(|ext| ext == "wants" || ext == "requires"))
        .any(|wants| wants.path().join(unit).symlink_metadata().is_ok());
    match (is_installed(root, unit), linked) {
        (true, true) => Ok(()),
        (true, false) => Err(format!("installed but not enabled: systemctl enable {unit}")),
        (false, _) => Err(format!("{unit} is not installed")),
    }
}

/// machine-id(5): an image must ship it empty, or with the word `uninitialized`. A machine that has booted has one.
fn machine_id(root: &Path) -> Checked {
    match fs::read_to_string(root.join("etc/machine-id")) {
        Ok(id) if root != Path::new("/") && !matches!(id.trim(), "" | "uninitialized") => {
            Err((Fault::MachineId, "empty /etc/machine-id before the image is taken".into()))
        }
        _ => Ok(()),
    }
}

fn ledger(root: &Path, config: &Config) -> Checked {
    if root == Path::new("/") {
        // A machine in use has one.
        return Ok(());
    }
    let dir = inside(root, &config.state_dir);
    match fs::read_dir(&dir).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err((Fault::Ledger, format!("remove what is in {}", config.state_dir.display()))),
        _ => Ok(()),
    }
}

fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

const UNIT_DIRS: [&str; 4] =
    ["etc/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];
const PT_INTERP: usize = 3;
/// `EM_X86_64`, `EM_AARCH64`.
const THIS_MACHINE: usize = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

#[cfg(test)]
mod tests;
