//! The command line.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::Arc,
};

use clap::Parser;

use crate::{
    rows::{self, ROWS, Row},
    site::Site,
};

/// Plays rows of the failure matrix on real machines.
///
/// Exit codes: 0 every row held; 1 not, or something has to be installed or built first; 77 nothing can be played here
/// (the reason is printed).
#[derive(Debug, Parser)]
#[command(name = "machine")]
pub(crate) struct Cli {
    /// Rows to play. None: all of them.
    #[arg(value_name = "ROW", value_parser = row)]
    rows: Vec<&'static Row>,
    /// Print one JSON object a row, as the sandbox does.
    #[arg(long)]
    json: bool,
    /// The agent that machines fetch and install: a static one [default: where .ci/static builds it].
    #[arg(long, value_name = "PATH")]
    agent: Option<PathBuf>,
    /// What tests/machine/image/build made.
    #[arg(long, value_name = "DIR", default_value_os_t = workspace().join("target/machine"))]
    image: PathBuf,
    /// Keep everything the machines said on their consoles in this directory, a file for each row.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

impl Cli {
    pub(crate) async fn play(self) -> Result<ExitCode, Box<dyn Error>> {
        let agent = self.agent.map_or_else(built, Ok)?;
        let bytes =
            std::fs::read(&agent).map_err(|source| Unprepared::Agent { path: agent.clone(), source })?;
        if !is_static(&bytes) {
            return Err(Unprepared::Dynamic(agent).into());
        }
        if !self.image.join("tree.version").exists() {
            return Err(Unprepared::Image(self.image).into());
        }
        let site = Arc::new(Site::open(bytes, &self.image).await?);
        let rows = if self.rows.is_empty() { ROWS.iter().collect() } else { self.rows };
        let held = rows::play_all(rows, &site, self.json, self.keep).await;
        Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// What has to be built before.
#[derive(Debug, thiserror::Error)]
enum Unprepared {
    #[error("failed to read the agent {}: `make static` builds it", path.display())]
    Agent {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the agent {} needs a loader, which a machine may not have: `make static` builds another", .0.display())]
    Dynamic(PathBuf),
    #[error("there is no image in {}: `tests/machine/image/build` makes it", .0.display())]
    Image(PathBuf),
}

/// Whether a program names no loader, which it would do within its first page.
fn is_static(program: &[u8]) -> bool {
    let head = &program[..program.len().min(4096)];
    !head.windows(4).any(|bytes| bytes == b"/ld-")
}

/// A row by its name, with or without `-seen`.
fn row(text: &str) -> Result<&'static Row, String> {
    let is_it = |row: &&Row| {
        [row.name, row.name.trim_end_matches("-seen")].iter().any(|n| n.eq_ignore_ascii_case(text))
    };
    ROWS.iter().find(is_it).ok_or_else(|| {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        format!("the rows are: {}", names.join(", "))
    })
}

/// The static agent.
fn built() -> Result<PathBuf, Box<dyn Error>> {
    let printed = Command::new(workspace().join(".ci/static")).arg("--print").output()?;
    Ok(workspace().join(String::from_utf8(printed.stdout)?.trim()))
}

fn workspace() -> &'static Path {
    let crate_ = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_.ancestors().nth(2).unwrap_or(crate_)
}
