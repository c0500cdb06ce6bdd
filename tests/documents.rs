//! What is written down is true.

use std::{fs, path::Path, process::Command};

use curfew_tests::{Kept, Promise, promises, root};

pub(crate) const PROMISES: &[Promise] = promises![
    systemd_takes_the_units_as_they_are,
    systemd_calls_the_agents_unit_well_enclosed,
    every_promise_the_readme_names_is_one,
];

async fn systemd_takes_the_units_as_they_are() -> Kept {
    // The units name an executable that is not installed here: they are checked as copies that name one that is.
    let dir = tempfile::tempdir()?;
    let mut units = Vec::new();
    for entry in fs::read_dir(root().join("systemd"))? {
        let path = entry?.path();
        let unit = path.extension().is_some_and(|end| end == "service" || end == "timer");
        if let (true, Some(name)) = (unit, path.file_name()) {
            let text = fs::read_to_string(&path)?.replace("/usr/local/bin/curfew-agent", "/bin/true");
            fs::write(dir.path().join(name), text)?;
            units.push(dir.path().join(name));
        }
    }
    assert!(units.len() >= 3, "{units:?}");
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no", "--recursive-errors=no"]).args(&units);
    let Some(words) = said(&mut verify)? else { return Ok(()) };
    // It warns, and succeeds all the same, of an option it does not know.
    let ours: Vec<_> = words.1.lines().filter(|line| line.contains("curfew-")).collect();
    assert!(words.0 && ours.is_empty(), "{}", words.1);
    Ok(())
}

async fn systemd_calls_the_agents_unit_well_enclosed() -> Kept {
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--offline=true", "--no-pager", "--threshold=20"]);
    security.arg(root().join("systemd/curfew-agent.service"));
    let Some((fine, words)) = said(&mut security)? else { return Ok(()) };
    assert!(fine, "more exposed than 2.0 of 10:\n{words}");
    Ok(())
}

async fn every_promise_the_readme_names_is_one() -> Kept {
    let readme = fs::read_to_string(root().join("README.md")).unwrap_or_default();
    let rows = readme.lines().filter(|line| line.trim_start().starts_with('|'));
    let named = rows.flat_map(|row| row.split('`').skip(1).step_by(2)).filter(|word| is_promise(word));
    let sources = sources(root());
    for name in named {
        assert!(
            sources.contains(&format!("fn {name}(")),
            "README.md names {name}, and there is no such test"
        );
    }
    Ok(())
}

fn is_promise(word: &str) -> bool {
    word.matches('_').count() >= 3
        && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn sources(dir: &Path) -> String {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let of = |path: &Path| {
        let hidden = path
            .file_name()
            .is_some_and(|name| name == "target" || name.as_encoded_bytes().starts_with(b"."));
        match path.extension() {
            _ if hidden => String::new(),
            Some(end) if end == "rs" => fs::read_to_string(path).unwrap_or_default(),
            None if path.is_dir() => sources(path),
            _ => String::new(),
        }
    };
    entries.map(|path| of(&path)).collect()
}

/// Whether it succeeded, and what it said; none where there is no systemd, which is said loudly.
fn said(command: &mut Command) -> std::io::Result<Option<(bool, String)>> {
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("NOT CHECKED: there is no systemd-analyze on this machine");
            Ok(None)
        }
        output => output.map(|output| {
            let words = [output.stdout, output.stderr].concat();
            Some((output.status.success(), String::from_utf8_lossy(&words).into_owned()))
        }),
    }
}
