//! `verify`: the assertion an image build must pass, before a machine that cannot arm ever bills.
//!
//! Reads only. Every check is made and printed; the exit code is that of the first that failed.

mod environment;
mod identity;
mod program;
mod root;
mod units;

use std::{
    io::{self, Write},
    process::ExitCode,
};

pub use root::Root;

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
    /// `curfew-agent.service` is not there, not enabled, or masked.
    Unit = 14,
    /// The same of `curfew-backstop.timer`.
    Backstop = 15,
    /// The image has a machine-id: all its machines would share it.
    MachineId = 16,
    /// The image carries a ledger: it was made from a machine in use.
    Ledger = 17,
    /// The image carries an ssh host key.
    SshHostKey = 18,
    /// The image carries the identity of an overlay network.
    Overlay = 19,
    /// The image carries the marker of a bootstrap that failed.
    Bootstrap = 20,
}

/// Checks an image or machine, and prints what was found.
#[must_use]
pub fn verify(root: &Root, config: &Config, complaints: &[Complaint]) -> ExitCode {
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

fn inspect(root: &Root, config: &Config, complaints: &[Complaint]) -> [(&'static str, Checked); 9] {
    [
        ("agent is static, executable and for this processor", program::check(root)),
        ("options and the files they name", configuration(root, config, complaints)),
        ("curfew-agent.service enabled", units::switch(root)),
        ("curfew-backstop.timer enabled", units::backstop(root)),
        ("no baked machine-id", identity::machine_id(root)),
        ("no baked ledger", identity::ledger(root, config)),
        ("no baked ssh host key", identity::ssh(root)),
        ("no baked identity of an overlay network", identity::overlay(root)),
        ("no bootstrap that failed", identity::bootstrap(root, config)),
    ]
}

fn first_fault(found: &[(&str, Checked)]) -> Option<Fault> {
    found.iter().find_map(|(_, result)| result.as_ref().err()).map(|(fault, _)| *fault)
}

fn configuration(root: &Root, config: &Config, complaints: &[Complaint]) -> Checked {
    let fault = |why: String| (Fault::Configuration, why);
    if !root.dir().is_dir() {
        return Err(fault(format!("{} is not a directory", root.dir().display())));
    }
    if let Some(complaint) = complaints.iter().cloned().chain(environment::complaints(root)).next() {
        return Err(fault(complaint));
    }
    let token = match &config.token {
        Source::File { path, .. } if root.contains(&path.to_string_lossy()) => Some(path),
        // A token that comes after the boot is the better way; then the file is not in the image.
        _ => None,
    };
    for path in config.provider_ca.iter().chain(token) {
        root.read(&path.to_string_lossy())
            .map_err(|error| fault(format!("cannot read {}: {error}", path.display())))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
