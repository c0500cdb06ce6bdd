//! Whether the agent of an image is a program that runs on any machine of this kind: ELF, static, executable.

use super::{Checked, Fault, Root, units};

/// The agent that the image's unit would run.
pub(super) fn check(root: &Root) -> Checked {
    let path = units::agent(root).or_else(|| {
        let found = PLACES.iter().find(|place| root.contains(place));
        found.map(|place| (*place).to_owned())
    });
    let none =
        || (Fault::NotABinary, format!("there is no {} in {}", PLACES.join(", no "), root.dir().display()));
    let path = path.ok_or_else(none)?;
    let not_a_binary = |why: &str| (Fault::NotABinary, format!("{path}: {why}"));
    let bytes = root.read(&path).map_err(|error| not_a_binary(&error.to_string()))?;
    elf(&path, &bytes)?;
    if root.is_executable(&path) { Ok(()) } else { Err(not_a_binary("not executable: chmod 0755")) }
}

/// ELF: <https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html>, 64-bit little-endian.
fn elf(path: &str, bytes: &[u8]) -> Checked {
    let not_a_binary = |why: &str| (Fault::NotABinary, format!("{path}: {why}"));
    let number = |at: usize, length: usize| {
        let field = bytes.get(at..at.checked_add(length)?)?;
        Some(field.iter().rev().fold(0_usize, |value, byte| value << 8 | usize::from(*byte)))
    };
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return Err(not_a_binary("not a 64-bit ELF file"));
    }
    let truncated = || not_a_binary("cut short");
    let machine = number(18, 2).ok_or_else(truncated)?;
    if machine != THIS_MACHINE {
        return Err((
            Fault::WrongArchitecture,
            format!("built for ELF machine {machine}, needed is {THIS_MACHINE}"),
        ));
    }
    let (start, size) = (number(32, 8).ok_or_else(truncated)?, number(54, 2).ok_or_else(truncated)?);
    for header in 0..number(56, 2).ok_or_else(truncated)? {
        let kind = start.checked_add(header * size).and_then(|at| number(at, 4)).ok_or_else(truncated)?;
        if kind == PT_INTERP {
            return Err((Fault::NotStatic, format!("{path} needs a loader: use the musl build")));
        }
    }
    Ok(())
}

const PLACES: [&str; 3] = ["/usr/local/bin/curfew-agent", "/usr/bin/curfew-agent", "/opt/bin/curfew-agent"];
const PT_INTERP: usize = 3;
/// `EM_X86_64`, `EM_AARCH64`.
pub(super) const THIS_MACHINE: usize = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
