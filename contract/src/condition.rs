//! From a heartbeat to `WatchdogArmed`: pure, shared by the controller (which publishes it) and by
//! `curfew-agent status` (which shows it on the machine), so that both give one answer.
//!
//! True only if everything holds; otherwise the *first* failing reason, in the order of [`Reason`]. Doubt is
//! shown as unarmed: a person who looks for nothing is the expensive failure.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Authority, Heartbeat, Identity, Note, Phase};

/// Why a watchdog is not armed, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// No heartbeat on the Node, or one that cannot be read.
    HeartbeatMissing,
    /// The heartbeat has not changed for three of its own periods.
    HeartbeatStale,
    /// The agent would delete a server that is not this Node's `spec.providerID`.
    IdentityMismatch,
    /// The agent does not know, beyond doubt, which server it runs on, or that server did not consent.
    IdentityUnproven,
    /// The provider refuses the credential of the agent or of its backstop.
    AuthorityDenied,
    /// The credential was never probed, or not within two probe intervals.
    AuthorityUnverified,
    /// The deadline the agent acts upon is not the one that was written, for longer than one beat.
    DeadlineNotSeen,
    /// The second layer has not run within three minutes.
    BackstopMissing,
    /// The agent runs with `--observe`: it deletes nothing.
    ObserveOnly,
    /// The machine is deleting itself.
    Firing,
}

/// How old the heartbeat is, in the judgement of whoever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Seen to change within its window.
    Fresh,
    /// Not seen to change within its window.
    Stale,
}

/// What the reader knows of the Node besides the heartbeat.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The Node's `spec.providerID`, if set.
    pub provider_id: Option<&'a str>,
    /// The deadline on the Node.
    pub deadline: Option<Timestamp>,
    /// For how long the heartbeat's `deadlineSeen` has differed from `deadline`.
    pub deadline_unseen_for: SignedDuration,
}

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assessment {
    /// The machine will delete itself, and can.
    Armed,
    /// It will not, or cannot, or nobody can tell.
    Unarmed(Reason),
}

/// Judges one heartbeat. `None` is a heartbeat that is absent or cannot be read.
#[must_use]
pub fn assess(beat: Option<&Heartbeat>, freshness: Freshness, expected: Expected<'_>) -> Assessment {
    let Some(beat) = beat else { return Assessment::Unarmed(Reason::HeartbeatMissing) };
    let mismatch = matches!((&beat.server, expected.provider_id), (Some(own), Some(node)) if own != node);
    let unseen = beat.deadline_seen != expected.deadline && expected.deadline_unseen_for > beat.period();
    let failing = [
        (freshness == Freshness::Stale, Reason::HeartbeatStale),
        (mismatch, Reason::IdentityMismatch),
        (beat.identity != Identity::Proven || beat.server.is_none(), Reason::IdentityUnproven),
        (beat.authority == Authority::Denied || backstop_is_denied(beat), Reason::AuthorityDenied),
        (beat.authority != Authority::Verified, Reason::AuthorityUnverified),
        (unseen, Reason::DeadlineNotSeen),
        (!backstop_ran(beat), Reason::BackstopMissing),
        (beat.notes.contains(&Note::ObserveOnly), Reason::ObserveOnly),
        (beat.phase == Phase::Firing, Reason::Firing),
    ];
    failing
        .into_iter()
        .find(|(fails, _)| *fails)
        .map_or(Assessment::Armed, |(_, why)| Assessment::Unarmed(why))
}

/// The second layer proves its own credential; one that cannot delete is no second layer.
fn backstop_is_denied(beat: &Heartbeat) -> bool {
    beat.backstop.is_some_and(|backstop| backstop.authority == Authority::Denied)
}

/// Whether the second layer ran within [`BACKSTOP_WINDOW`] of this beat, by the machine's own two records.
fn backstop_ran(beat: &Heartbeat) -> bool {
    match (beat.at, beat.backstop.and_then(|b| b.at)) {
        (Some(at), Some(ran)) => at.duration_since(ran) <= BACKSTOP_WINDOW,
        _ => false,
    }
}

/// The backstop's timer is due each minute; three missed runs are a missing backstop.
pub const BACKSTOP_WINDOW: SignedDuration = SignedDuration::from_mins(3);

impl Reason {
    /// The `reason` of the condition.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HeartbeatMissing => "HeartbeatMissing",
            Self::HeartbeatStale => "HeartbeatStale",
            Self::IdentityMismatch => "IdentityMismatch",
            Self::IdentityUnproven => "IdentityUnproven",
            Self::AuthorityDenied => "AuthorityDenied",
            Self::AuthorityUnverified => "AuthorityUnverified",
            Self::DeadlineNotSeen => "DeadlineNotSeen",
            Self::BackstopMissing => "BackstopMissing",
            Self::ObserveOnly => "ObserveOnly",
            Self::Firing => "Firing",
        }
    }

    /// What a person can do about it.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::HeartbeatMissing => {
                "is curfew-agent installed and running on the node? `systemctl status curfew-agent`"
            }
            Self::HeartbeatStale => {
                "the agent stopped or cannot reach the API server: `systemctl status curfew-agent` on the node"
            }
            Self::IdentityMismatch => {
                "the agent would delete another server than this Node's providerID: was the Node object copied?"
            }
            Self::IdentityUnproven => {
                "the notes in the heartbeat say why; mostly the server lacks the label curfew.dev/managed-by=curfew at the provider"
            }
            Self::AuthorityDenied => {
                "give the node a token with read and write access to the server's own project"
            }
            Self::AuthorityUnverified => {
                "the provider has not answered the agent's probe: can the node reach its API?"
            }
            Self::DeadlineNotSeen => {
                "the agent acts upon another deadline than the one on the Node: see the heartbeat's notes"
            }
            Self::BackstopMissing => "enable curfew-backstop.timer on the node",
            Self::ObserveOnly => "the agent runs with --observe and deletes nothing",
            Self::Firing => "the machine is deleting itself",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backstop, Cause};

    const NOW: Timestamp = Timestamp::constant(1_796_068_800, 0);

    fn armed() -> Heartbeat {
        Heartbeat {
            v: 1,
            at: Some(NOW),
            every: SignedDuration::from_secs(30),
            fires_at: Some(NOW),
            cause: Cause::Deadline,
            deadline_seen: Some(NOW),
            server: Some("hcloud://42".into()),
            identity: Identity::Proven,
            authority: Authority::Verified,
            backstop: Some(Backstop { at: Some(NOW), authority: Authority::Verified }),
            clock_skew: None,
            phase: Phase::Armed,
            notes: vec![],
            agent: "0".into(),
        }
    }

    fn judge(beat: &Heartbeat) -> Assessment {
        let expected = Expected {
            provider_id: Some("hcloud://42"),
            deadline: Some(NOW),
            deadline_unseen_for: SignedDuration::from_secs(31),
        };
        assess(Some(beat), Freshness::Fresh, expected)
    }

    #[test]
    fn armed_means_that_everything_holds() {
        assert_eq!(judge(&armed()), Assessment::Armed);
    }

    #[test]
    fn a_machine_that_moves_its_work_away_is_still_armed() {
        assert_eq!(judge(&Heartbeat { phase: Phase::Draining, ..armed() }), Assessment::Armed);
    }

    #[test]
    fn each_thing_that_does_not_hold_is_named() {
        let late = NOW + SignedDuration::from_secs(1);
        let early = NOW - SignedDuration::from_mins(4);
        for (beat, why) in [
            (Heartbeat { server: Some("hcloud://43".into()), ..armed() }, Reason::IdentityMismatch),
            (Heartbeat { server: None, ..armed() }, Reason::IdentityUnproven),
            (Heartbeat { identity: Identity::Unproven, ..armed() }, Reason::IdentityUnproven),
            (Heartbeat { authority: Authority::Denied, ..armed() }, Reason::AuthorityDenied),
            (
                Heartbeat {
                    backstop: Some(Backstop { at: Some(NOW), authority: Authority::Denied }),
                    ..armed()
                },
                Reason::AuthorityDenied,
            ),
            (Heartbeat { authority: Authority::Unverified, ..armed() }, Reason::AuthorityUnverified),
            (Heartbeat { deadline_seen: Some(late), ..armed() }, Reason::DeadlineNotSeen),
            (Heartbeat { deadline_seen: None, ..armed() }, Reason::DeadlineNotSeen),
            (Heartbeat { backstop: None, ..armed() }, Reason::BackstopMissing),
            (
                Heartbeat {
                    backstop: Some(Backstop { at: Some(early), authority: Authority::Verified }),
                    ..armed()
                },
                Reason::BackstopMissing,
            ),
            (Heartbeat { notes: vec![Note::ObserveOnly], ..armed() }, Reason::ObserveOnly),
            (Heartbeat { phase: Phase::Firing, ..armed() }, Reason::Firing),
        ] {
            assert_eq!(judge(&beat), Assessment::Unarmed(why));
        }
    }

    #[test]
    fn a_heartbeat_that_is_absent_or_old_is_unarmed_whatever_it_says() {
        let expected =
            Expected { provider_id: None, deadline: Some(NOW), deadline_unseen_for: SignedDuration::ZERO };
        assert_eq!(assess(None, Freshness::Fresh, expected), Assessment::Unarmed(Reason::HeartbeatMissing));
        assert_eq!(
            assess(Some(&armed()), Freshness::Stale, expected),
            Assessment::Unarmed(Reason::HeartbeatStale)
        );
    }

    #[test]
    fn each_reason_is_spelled_as_promised_and_says_what_to_do() {
        for (reason, word) in [
            (Reason::HeartbeatMissing, "HeartbeatMissing"),
            (Reason::HeartbeatStale, "HeartbeatStale"),
            (Reason::IdentityMismatch, "IdentityMismatch"),
            (Reason::IdentityUnproven, "IdentityUnproven"),
            (Reason::AuthorityDenied, "AuthorityDenied"),
            (Reason::AuthorityUnverified, "AuthorityUnverified"),
            (Reason::DeadlineNotSeen, "DeadlineNotSeen"),
            (Reason::BackstopMissing, "BackstopMissing"),
            (Reason::ObserveOnly, "ObserveOnly"),
            (Reason::Firing, "Firing"),
        ] {
            assert_eq!(reason.as_str(), word);
            assert!(!reason.advice().is_empty());
        }
    }

    #[test]
    fn a_new_deadline_may_take_one_beat_to_be_seen() {
        let beat = Heartbeat { deadline_seen: None, ..armed() };
        let expected = |secs| Expected {
            provider_id: None,
            deadline: Some(NOW),
            deadline_unseen_for: SignedDuration::from_secs(secs),
        };
        assert_eq!(assess(Some(&beat), Freshness::Fresh, expected(30)), Assessment::Armed);
        assert_eq!(
            assess(Some(&beat), Freshness::Fresh, expected(31)),
            Assessment::Unarmed(Reason::DeadlineNotSeen)
        );
    }
}
