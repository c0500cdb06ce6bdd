//! `ready`: whether this machine could delete itself, as far as that needs no cluster. For "no watchdog, no join".
//!
//! Reads what the daemon last said, and nothing else: neither Node nor API server nor provider. Which way it fails:
//! whatever is doubtful is not ready, and then the machine takes no work and bills until its lifetime ends, seen by
//! whoever looks at `curfew-armed.service`. Once ready is enough: it is asked before the kubelet's start and never again.

use std::{fmt, io::Write, process::ExitCode, thread, time::Duration};

use curfew_contract::{Authority, Identity, Note, Phase};

use crate::{clocks, config::Config, notify, status::LastWord, time::Boot};

/// What is known at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The lifetime runs, and this machine knows which server it is and may delete it.
    Ready,
    /// Not, for the reason that comes first.
    Waiting(Reason),
}

/// Why a machine is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The daemon has said nothing in this boot, or this boot cannot be told from another.
    Unheard,
    /// The daemon, or its fuse, has fallen silent.
    Silent,
    /// It is being deleted.
    Firing,
    /// Its identity is not proven; why, in words.
    Identity(Vec<&'static str>),
    /// The token is not proven; why, in words.
    Authority(Authority, Vec<&'static str>),
}

/// Decides. Pure. `word` is the daemon's last, whichever boot it is of.
#[must_use]
pub fn readiness(word: Option<&LastWord>, boot_id: Option<&str>, now: Boot) -> Readiness {
    use Readiness::{Ready, Waiting};
    let Some(word) = word.filter(|word| word.is_of(boot_id)) else { return Waiting(Reason::Unheard) };
    let beat = word.heartbeat();
    let notes = || beat.notes.iter().filter(|note| explains(**note)).map(|note| note.explanation()).collect();
    match (beat.phase, beat.identity, beat.authority) {
        _ if !word.is_fresh(now) => Waiting(Reason::Silent),
        (Phase::Firing, ..) => Waiting(Reason::Firing),
        // Draining counts as armed: on k3s the API server is reached through k3s itself, so that a machine kept out of
        // its cluster while it drains would never see the renewal that saves it.
        (Phase::Armed | Phase::Draining, Identity::Proven, Authority::Verified) => Ready,
        (_, Identity::Proven, authority) => Waiting(Reason::Authority(authority, notes())),
        _ => Waiting(Reason::Identity(notes())),
    }
}

/// Whether a note says why identity or authority is missing. The others come and go without a bearing on it.
const fn explains(note: Note) -> bool {
    use Note::{Autoscaled, CredentialUnreadable, IdentityConflict, IdentityUnknown, NotManaged};
    matches!(note, Autoscaled | CredentialUnreadable | IdentityConflict | IdentityUnknown | NotManaged)
}

/// Asks once, or with `wait` until the answer is yes. Exit code 0: ready. 1: not. 2: the daemon has said nothing in this
/// boot.
#[must_use]
pub fn ready(config: &Config, wait: bool) -> ExitCode {
    let boot_id = clocks::boot_id();
    let mut said = None;
    loop {
        let word = LastWord::read(&config.run_dir);
        let found = readiness(word.as_ref(), boot_id.as_deref(), clocks::read().boot);
        if said.as_ref() != Some(&found) {
            say(&found.to_string());
            said = Some(found.clone());
        }
        match found {
            Readiness::Ready => return ExitCode::SUCCESS,
            Readiness::Waiting(_) if wait => thread::sleep(AGAIN),
            Readiness::Waiting(Reason::Unheard) => return ExitCode::from(2),
            Readiness::Waiting(_) => return ExitCode::from(1),
        }
    }
}

/// On standard output, and where `systemctl status` shows it.
fn say(words: &str) {
    notify::status(words);
    // Whoever has closed standard output wants only the exit code.
    let _ = writeln!(std::io::stdout(), "{words}");
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("ready: this machine can delete itself"),
            Self::Waiting(reason) => write!(f, "not ready: {reason}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, notes): (_, &[&str]) = match self {
            Self::Unheard => ("the agent has said nothing in this boot: systemctl status curfew-agent", &[]),
            Self::Silent => ("the agent has fallen silent: systemctl status curfew-agent", &[]),
            Self::Firing => ("this machine is deleting itself", &[]),
            Self::Identity(notes) => ("which server this is, is not proven", notes),
            Self::Authority(Authority::Denied, notes) => ("the token may not delete this server", notes),
            Self::Authority(_, notes) => ("whether the token may delete this server is not known yet", notes),
        };
        write!(f, "{what}")?;
        notes.iter().try_for_each(|note| write!(f, "; {note}"))
    }
}

/// Between two looks: the daemon says something every two seconds.
const AGAIN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::tests::word;

    const BOOT: Option<&str> = Some("a");

    fn at(seconds: i64) -> Boot {
        Boot::from_millis(seconds * 1000)
    }

    /// A word said at second 100 of boot `a`.
    fn found(
        change: impl FnOnce(&mut curfew_contract::Heartbeat),
        boot: Option<&str>,
        now: i64,
    ) -> Readiness {
        readiness(Some(&word(at(100), BOOT, change)), boot, at(now))
    }

    #[test]
    fn a_machine_is_ready_without_any_node_or_cluster() {
        assert_eq!(found(|_| {}, BOOT, 102), Readiness::Ready);
        let draining = found(|beat| beat.phase = Phase::Draining, BOOT, 102);
        assert_eq!(draining, Readiness::Ready, "k3s must start for the renewal to be seen");
    }

    #[test]
    fn a_word_that_is_stale_or_of_another_boot_is_not_ready() {
        assert_eq!(found(|_| {}, BOOT, 140), Readiness::Waiting(Reason::Silent));
        assert_eq!(found(|_| {}, BOOT, 99), Readiness::Waiting(Reason::Silent), "said in the future");
        assert_eq!(found(|_| {}, Some("b"), 102), Readiness::Waiting(Reason::Unheard));
        assert_eq!(readiness(None, BOOT, at(102)), Readiness::Waiting(Reason::Unheard));
        let nameless = word(at(100), None, |_| {});
        assert_eq!(readiness(Some(&nameless), None, at(102)), Readiness::Waiting(Reason::Unheard));
    }

    #[test]
    fn a_machine_is_not_ready_without_identity_and_authority_or_while_firing() {
        let reason = |change: fn(&mut curfew_contract::Heartbeat)| match found(change, BOOT, 102) {
            Readiness::Waiting(reason) => reason,
            Readiness::Ready => panic!("it counts as ready"),
        };
        assert!(matches!(reason(|beat| beat.identity = Identity::Unproven), Reason::Identity(_)));
        assert!(matches!(reason(|beat| beat.authority = Authority::Denied), Reason::Authority(..)));
        assert!(matches!(reason(|beat| beat.authority = Authority::Unverified), Reason::Authority(..)));
        assert_eq!(reason(|beat| beat.phase = Phase::Firing), Reason::Firing);
    }

    #[test]
    fn the_reason_is_said_in_words() {
        let words = found(
            |beat| {
                beat.identity = Identity::Unproven;
                beat.notes = vec![Note::FirstArming, Note::NotManaged];
            },
            BOOT,
            102,
        );
        assert!(words.to_string().contains("curfew.dev/managed-by=curfew"), "{words}");
        assert!(!words.to_string().contains("ten minutes"), "{words}");
    }
}
