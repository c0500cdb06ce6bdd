//! How parts become a `#cloud-config`: YAML, base64 and the shell's quotes. Knows nothing of what the parts mean.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::error::Error;

/// What Hetzner takes as user-data, in bytes (its API's reference: "limited to 32KiB").
pub const LIMIT: usize = 32 * 1024;

/// A file that cloud-init writes.
#[derive(Clone)]
pub(super) struct Part {
    /// Printable ASCII.
    pub(super) path: String,
    pub(super) mode: &'static str,
    pub(super) content: Vec<u8>,
}

/// The document. `early` and `late` are shell: run early in each boot, and late in the first.
pub(super) fn write(parts: &[Part], early: &str, late: &str) -> Result<String, Error> {
    let files: Vec<_> = parts.iter().map(file).collect();
    let (files, early, late) = (files.concat(), block(early, 2), block(late, 2));
    let text = format!("#cloud-config\nwrite_files:\n{files}bootcmd:\n- {early}runcmd:\n- {late}");
    if text.len() > LIMIT {
        return Err(Error::TooBig { size: text.len(), limit: LIMIT, largest: largest(parts) });
    }
    Ok(text)
}

fn file(part: &Part) -> String {
    let Part { path, mode, content } = part;
    let content = match readable(content) {
        Some(text) => format!("content: {}", block(text, 4)),
        None => format!("encoding: b64\n  content: \"{}\"\n", STANDARD.encode(content)),
    };
    format!("- path: \"{path}\"\n  permissions: \"{mode}\"\n  {content}")
}

/// A text that a block scalar carries unchanged under every version of YAML: printable ASCII and tabs, one newline at its
/// end, and a first line that says by itself how far it is indented.
fn readable(content: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(content).ok()?;
    let is_plain = |byte: u8| matches!(byte, b'\n' | b'\t' | b' ') || byte.is_ascii_graphic();
    let ends_once = text.ends_with('\n') && !text.ends_with("\n\n");
    let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_graphic());
    (starts && ends_once && text.bytes().all(is_plain)).then_some(text)
}

fn block(text: &str, indent: usize) -> String {
    let line = |line: &str| if line.is_empty() { "\n".into() } else { format!("{:indent$}{line}\n", "") };
    std::iter::once("|\n".into()).chain(text.lines().map(line)).collect()
}

fn largest(parts: &[Part]) -> String {
    let mut sizes: Vec<_> = parts.iter().map(|part| (file(part).len(), &part.path)).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let said: Vec<_> = sizes.iter().take(3).map(|(size, path)| format!("{path} ({size})")).collect();
    said.join(", ")
}

/// `name='value'`, which a shell reads back byte for byte. The value has no NUL.
pub(super) fn assign(name: &str, value: &str) -> String {
    format!("{name}='{}'\n", value.replace('\'', r"'\''"))
}

/// A script or unit without the lines that only explain it: the document must be small, and the repository has them.
pub(super) fn without_comments(text: &str) -> String {
    let keeps =
        |line: &&str| line.starts_with("#!") || !line.trim_start().starts_with('#') && !line.is_empty();
    text.lines().filter(keeps).flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn a_shell_reads_back_what_was_assigned(value in "[^\0]{0,80}") {
            let script = assign("given", &value) + "printf '%s.' \"$given\"";
            let output = Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(output.stdout, format!("{value}.").into_bytes());
        }
    }
}
