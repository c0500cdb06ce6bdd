//! What is written down is true.

use std::{fs, path::Path};

use curfew_tests::{Kept, Promise, promises, root};

pub(crate) const PROMISES: &[Promise] = promises![every_promise_the_readme_names_is_one];

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
