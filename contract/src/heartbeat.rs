//! The heartbeat: what the agent will do and whether it can, as one JSON object in one annotation.
//!
//! It is written only from what the fuse thread itself computed, so it is an acknowledgement and not a guess.
//! All times are *cluster time*, and null while the agent has none. Reading is lenient to the future (unknown
//! fields are ignored, unknown words are read as the cautious value) and strict about the present: what does not
//! parse shows the machine as unarmed.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Note, duration};

/// One beat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// Version of this encoding: [`VERSION`].
    pub v: u32,
    /// When the beat was made.
    pub at: Option<Timestamp>,
    /// How often beats come. Read through [`Heartbeat::period`], which bounds it.
    #[serde(with = "duration")]
    pub every: SignedDuration,
    /// When the machine will be deleted if nothing changes.
    pub fires_at: Option<Timestamp>,
    /// Which of the two clocks that is.
    pub cause: Cause,
    /// The deadline the agent acts upon: what it acknowledges. Null: none, or `none`.
    pub deadline_seen: Option<Timestamp>,
    /// The server the agent will delete, in the form of a Node's `spec.providerID`.
    pub server: Option<String>,
    /// Whether that server is proven to be the machine the agent runs on.
    pub identity: Identity,
    /// Whether the credential may delete it.
    pub authority: Authority,
    /// The second layer, from its own record.
    pub backstop: Option<Backstop>,
    /// The machine's clock less cluster time, like `-3h0m2s`. Absent while they agree or cannot be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_skew: Option<String>,
    /// What the agent is doing.
    pub phase: Phase,
    /// What a person should know. Empty when all is well.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// Version of the agent.
    pub agent: String,
}

/// Which clock runs out first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The wall-clock deadline from the Node.
    Deadline,
    /// The monotonic lifetime.
    #[default]
    #[serde(other)]
    Lifetime,
}

/// Whether the agent knows which server it runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// The machine's own word and the provider's agree, and the server consented to be deleted.
    Proven,
    /// Anything else.
    #[default]
    #[serde(other)]
    Unproven,
}

/// Whether the credential may delete this server, as found by a write that changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Authority {
    /// A probe within the last two probe intervals was allowed.
    Verified,
    /// The provider said no: a read-only or revoked token, another project.
    Denied,
    /// Never probed, or not within two probe intervals.
    #[default]
    #[serde(other)]
    Unverified,
}

/// What the agent is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Waiting for the first of the two clocks.
    Armed,
    /// Less than `grace` is left: moving work away.
    Draining,
    /// Deleting its own server. Never taken back.
    #[default]
    #[serde(other)]
    Firing,
}

/// What the backstop left behind at its last run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backstop {
    /// When it ran.
    pub at: Option<Timestamp>,
    /// What its own probe of the credential found.
    pub authority: Authority,
}

impl Heartbeat {
    /// Reads the annotation. The error names what is wrong and where.
    pub fn read(value: &str) -> Result<Self, serde_json::Error> {
        if value.len() > LARGEST {
            return Err(serde::de::Error::custom("a heartbeat is never longer than 4096 bytes"));
        }
        let beat: Self = serde_json::from_str(value)?;
        if beat.v != VERSION {
            return Err(serde::de::Error::custom(format_args!("version {} is not {VERSION}", beat.v)));
        }
        Ok(beat)
    }

    /// Writes the annotation: times in whole seconds, no white space.
    #[must_use]
    pub fn write(&self) -> String {
        let whole = |t: Option<Timestamp>| t.and_then(|t| Timestamp::from_second(t.as_second()).ok());
        let beat = Self {
            at: whole(self.at),
            fires_at: whole(self.fires_at),
            backstop: self.backstop.map(|b| Backstop { at: whole(b.at), ..b }),
            ..self.clone()
        };
        serde_json::to_string(&beat).unwrap_or_default()
    }

    /// How often a beat is due: `every`, taken within 10 s and 5 min whatever the agent says.
    #[must_use]
    pub fn period(&self) -> SignedDuration {
        self.every.clamp(SHORTEST_PERIOD, LONGEST_PERIOD)
    }

    /// How old a beat may be: three periods.
    #[must_use]
    pub fn window(&self) -> SignedDuration {
        self.period() * 3
    }
}

/// The version this crate writes, and the only one it reads.
pub const VERSION: u32 = 1;
/// Bounds of [`Heartbeat::period`], lower.
pub const SHORTEST_PERIOD: SignedDuration = SignedDuration::from_secs(10);
/// Bounds of [`Heartbeat::period`], upper.
pub const LONGEST_PERIOD: SignedDuration = SignedDuration::from_mins(5);
/// Most bytes of a heartbeat: every write to a Node goes to every watcher of nodes.
pub const LARGEST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn beat() -> Heartbeat {
        let at = |s: i64| Some(Timestamp::constant(1_796_068_800 + s, 0));
        Heartbeat {
            v: 1,
            at: at(0),
            every: SignedDuration::from_secs(30),
            fires_at: at(600),
            cause: Cause::Deadline,
            deadline_seen: at(600),
            server: Some("hcloud://42".into()),
            identity: Identity::Proven,
            authority: Authority::Verified,
            backstop: Some(Backstop { at: at(-20), authority: Authority::Verified }),
            clock_skew: Some("-3h0m2s".into()),
            phase: Phase::Armed,
            notes: vec![Note::LedgerUnwritable],
            agent: "0.1.0".into(),
        }
    }

    #[test]
    fn a_heartbeat_is_spelled_as_promised() {
        assert_eq!(
            beat().write(),
            r#"{"v":1,"at":"2026-11-30T20:00:00Z","every":"30s","firesAt":"2026-11-30T20:10:00Z","cause":"Deadline","deadlineSeen":"2026-11-30T20:10:00Z","server":"hcloud://42","identity":"Proven","authority":"Verified","backstop":{"at":"2026-11-30T19:59:40Z","authority":"Verified"},"clockSkew":"-3h0m2s","phase":"Armed","notes":["LedgerUnwritable"],"agent":"0.1.0"}"#
        );
    }

    #[test]
    fn words_and_fields_of_a_newer_agent_are_read_with_caution() {
        let newer = beat()
            .write()
            .replace("Proven", "ProvenByTpm")
            .replace("\"Verified\"", "\"Delegated\"")
            .replace("Armed", "Resting")
            .replace("LedgerUnwritable", "MoonIsFull")
            .replace("\"v\":1", "\"v\":1,\"moon\":{}");
        let read = Heartbeat::read(&newer).unwrap();
        assert_eq!((read.identity, read.authority), (Identity::Unproven, Authority::Unverified));
        assert_eq!((read.phase, read.notes), (Phase::Firing, vec![Note::Unknown]));
    }

    #[test]
    fn what_is_not_a_heartbeat_is_an_error() {
        for text in ["", "{}", "null", "[]", "{\"v\":1}", &beat().write().replace("\"v\":1", "\"v\":2")] {
            assert!(Heartbeat::read(text).is_err(), "{text}");
        }
        assert!(Heartbeat::read(&format!("{}{}", beat().write(), " ".repeat(LARGEST))).is_err());
    }

    #[test]
    fn the_period_is_bounded_whatever_the_agent_says() {
        for (every, period) in [(0, 10), (-5, 10), (30, 30), (86_400, 300)] {
            let beat = Heartbeat { every: SignedDuration::from_secs(every), ..beat() };
            assert_eq!(beat.period(), SignedDuration::from_secs(period));
        }
    }

    proptest! {
        #[test]
        fn a_written_heartbeat_is_read_back(
            at in proptest::option::of(1_600_000_000_i64..2_000_000_000), every in 0_i64..100_000,
            server in proptest::option::of("hcloud://[0-9]{1,16}"), observing: bool
        ) {
            let beat = Heartbeat {
                at: at.map(|s| Timestamp::from_second(s).unwrap()), every: SignedDuration::from_secs(every), server,
                notes: if observing { vec![Note::ObserveOnly] } else { vec![] }, clock_skew: None, backstop: None,
                ..beat()
            };
            prop_assert_eq!(Heartbeat::read(&beat.write()).unwrap(), beat);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
            let _ = Heartbeat::read(&text);
        }
    }
}
