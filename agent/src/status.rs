//! `status`: one screen for a person on the machine. Which clock fires when, and why the machine is or is not armed.
//!
//! The daemon leaves its last word in `/run`; this reads it, and falls back to the ledger where the daemon is silent.
//! Reads only.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use curfew_contract::{Assessment, Cause, Expected, Freshness, Heartbeat, Note, Phase, condition::assess};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::{
    bootstrap, clocks,
    config::Config,
    fuse::View,
    ledger::Found,
    net::BestTime,
    parts::Parts,
    time::{Boot, Offset, Reading, Span},
};

/// What the daemon last said to the machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastWord {
    boot_id: Option<String>,
    at: Boot,
    fires: Boot,
    lifetime: Boot,
    best: Offset,
    authenticated: bool,
    heartbeat: Heartbeat,
}

impl LastWord {
    /// The daemon's word at the moment of `view`.
    #[must_use]
    pub fn new(view: &View, heartbeat: Heartbeat, boot_id: Option<String>) -> Self {
        Self {
            boot_id,
            at: view.now.boot,
            fires: view.fires,
            lifetime: view.lifetime,
            best: view.best,
            authenticated: view.cluster.is_some(),
            heartbeat,
        }
    }

    /// Leaves it for `status`.
    pub fn write(&self, run_dir: &Path) -> io::Result<()> {
        let fresh = run_dir.join("status.fresh.json");
        fs::write(&fresh, serde_json::to_vec(self)?)?;
        fs::rename(fresh, run_dir.join(LAST_WORD))
    }

    /// The last word there is, whichever boot it is of.
    #[must_use]
    pub fn read(run_dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(run_dir.join(LAST_WORD)).ok()?).ok()
    }

    /// Whether it was said in this boot. Where boots cannot be told apart, it was not.
    #[must_use]
    pub fn is_of(&self, boot_id: Option<&str>) -> bool {
        boot_id.is_some() && self.boot_id.as_deref() == boot_id
    }

    /// Whether the fuse's thread turned a moment ago.
    #[must_use]
    pub fn is_fresh(&self, now: Boot) -> bool {
        (Span::ZERO..=SILENT_AFTER).contains(&now.since(self.at))
    }

    /// What it says.
    #[must_use]
    pub const fn heartbeat(&self) -> &Heartbeat {
        &self.heartbeat
    }

    /// In one line, for the service manager. Without anything that changes by itself.
    #[must_use]
    pub fn line(&self) -> String {
        let at = self.best.wall(self.fires).timestamp();
        let by = clock_name(self.heartbeat.cause);
        format!("{}; fires at {at:.0} by the {by}", self.verdict(self.at).0)
    }

    /// Armed or why not, as the controller would judge it with a fresh heartbeat, and what to do.
    fn verdict(&self, now: Boot) -> (String, &'static str) {
        let expected = Expected {
            provider_id: None,
            deadline: self.heartbeat.deadline_seen,
            deadline_unseen_for: SignedDuration::ZERO,
        };
        let freshness = if self.is_fresh(now) { Freshness::Fresh } else { Freshness::Stale };
        match assess(Some(&self.heartbeat), freshness, expected) {
            Assessment::Armed => ("armed".to_owned(), ""),
            Assessment::Unarmed(reason) => (format!("NOT ARMED: {}", reason.as_str()), reason.advice()),
        }
    }

    fn screen(&self, now: Reading, bootstrap: Option<String>) -> String {
        let beat = &self.heartbeat;
        let (verdict, advice) = self.verdict(now.boot);
        let clock = if self.authenticated {
            "cluster time"
        } else {
            "this machine's clock; the cluster's is not known"
        };
        let when =
            |at: Boot| format!("{:.0}, {}", self.best.wall(at).timestamp(), distance(at.since(now.boot)));
        let fires = if beat.notes.contains(&Note::ObserveOnly) { "would fire" } else { "fires" };
        let mut rows = vec![
            ("server", beat.server.clone().unwrap_or_else(|| "unknown".into())),
            ("state", verdict),
            (fires, format!("{} by the {}", when(self.fires), clock_name(beat.cause))),
            ("deadline", beat.deadline_seen.map_or_else(|| "none".into(), |at| at.to_string())),
            ("lifetime", format!("ends {}", when(self.lifetime))),
            ("times are", clock.to_owned()),
            ("identity", format!("{:?}", beat.identity)),
            ("authority", format!("{:?}", beat.authority)),
            (
                "backstop",
                beat.backstop
                    .map_or_else(|| "has not run in this boot".into(), |b| format!("{:?}", b.authority)),
            ),
        ];
        if !advice.is_empty() {
            rows.insert(2, ("what to do", advice.to_owned()));
        }
        if let Some(skew) = &beat.clock_skew {
            rows.push(("clock", format!("this machine's is off by {skew}")));
        }
        rows.extend(beat.notes.iter().map(|note| ("note", note.explanation().to_owned())));
        if beat.phase == Phase::Draining {
            rows.push(("work", "is being moved to other Nodes: the end is near".to_owned()));
        }
        rows.extend(bootstrap.map(|words| ("bootstrap", words)));
        rows.push((
            "daemon",
            format!("agent {}, last word {}", beat.agent, distance(self.at.since(now.boot))),
        ));
        table(&rows)
    }
}

/// Prints the screen. Exit code 0: armed. 1: not armed. 2: the daemon has not armed this machine in this boot.
#[must_use]
pub fn status(config: &Config) -> ExitCode {
    let now = clocks::read();
    let boot_id = clocks::boot_id();
    let bootstrap = bootstrap::row(&config.state_dir);
    if let Some(word) = LastWord::read(&config.run_dir).filter(|word| word.is_of(boot_id.as_deref())) {
        say(&word.screen(now, bootstrap));
        let armed = word.verdict(now.boot).0 == "armed";
        return ExitCode::from(u8::from(!armed));
    }
    let parts = Parts::new(config, std::sync::Arc::new(BestTime::new()));
    let Found { record, torn, alien } = parts.ledger.read(&parts.machine());
    let ledger = match record {
        None if alien => "another machine's: this one is a clone, and has never been armed".to_owned(),
        None if torn => "cannot be read".to_owned(),
        None => "none: this machine has never been armed".to_owned(),
        Some(record) => {
            let restored = record.restore(config.max_lifetime, boot_id.as_deref(), now);
            let (fires, cause) = restored.fuse.fires();
            let at = restored.clock.offset(now).wall(fires).timestamp();
            format!(
                "says that the {} ends at {at:.0}, {}",
                clock_name(cause),
                distance(fires.since(now.boot))
            )
        }
    };
    let mut rows = vec![
        ("state", "NOT ARMED: the agent does not run".to_owned()),
        ("what to do", "systemctl status curfew-agent".to_owned()),
        ("ledger", ledger),
    ];
    rows.extend(bootstrap.map(|words| ("bootstrap", words)));
    say(&table(&rows));
    ExitCode::from(2)
}

/// Whoever has closed standard output wants only the exit code.
fn say(screen: &str) {
    let _ = io::stdout().write_all(screen.as_bytes());
}

const fn clock_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Deadline => "deadline",
        Cause::Lifetime => "lifetime",
    }
}

fn distance(span: Span) -> String {
    let seconds = Span::from_secs(span.magnitude().millis() / 1000);
    if span.millis() < 0 { format!("{seconds} ago") } else { format!("in {seconds}") }
}

fn table(rows: &[(&str, String)]) -> String {
    rows.iter().fold(String::new(), |mut screen, (name, value)| {
        // Writing to a string does not fail.
        let _ = writeln!(screen, "{name:<11} {value}");
        screen
    })
}

const LAST_WORD: &str = "status.json";

/// The daemon says something every two seconds.
const SILENT_AFTER: Span = Span::from_secs(15);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::time::Wall;
    use curfew_contract::{Authority, Identity, Phase, heartbeat::VERSION};

    /// The word of a machine without a cluster that is all it should be, said at `at`, but for what `change` does.
    pub(crate) fn word(at: Boot, boot_id: Option<&str>, change: impl FnOnce(&mut Heartbeat)) -> LastWord {
        let mut heartbeat = Heartbeat {
            v: VERSION,
            at: None,
            every: SignedDuration::from_secs(30),
            fires_at: None,
            cause: Cause::Lifetime,
            deadline_seen: None,
            server: Some("hcloud://42".into()),
            identity: Identity::Proven,
            authority: Authority::Verified,
            backstop: None,
            clock_skew: None,
            phase: Phase::Armed,
            notes: vec![],
            agent: "0.1.0".into(),
        };
        change(&mut heartbeat);
        let (boot_id, end) = (boot_id.map(str::to_owned), at.plus(Span::from_secs(86_400)));
        LastWord {
            boot_id,
            at,
            fires: end,
            lifetime: end,
            best: Offset::between(Wall::from_millis(0), Boot::START),
            authenticated: false,
            heartbeat,
        }
    }

    #[test]
    fn a_bootstrap_that_failed_is_on_the_screen() {
        let now = clocks::read();
        let screen =
            word(now.boot, Some("a"), |_| {}).screen(now, Some("failed: agent: no URL works".into()));
        assert!(screen.contains("\nbootstrap   failed: agent: no URL works\n"), "{screen}");
    }
}
