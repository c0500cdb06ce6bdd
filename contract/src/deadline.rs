//! The deadline: how it is written, how it is read, and what is never acted upon.
//!
//! A value from the cluster is hearsay until it has passed [`Instruction::read`]. A typing error, a restored
//! backup or a stray script must not destroy a machine, so whatever is out of bounds is *refused and reported*
//! and the last good deadline stands. It fails towards the machine living on; the lifetime clock, which
//! nothing here can move, then bounds the bill.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

/// The wall-clock second at which a machine must be gone. Always after [`EARLIEST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(Timestamp);

/// What the annotation asks of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Be gone at this second.
    At(Deadline),
    /// No deadline for now: only the lifetime counts.
    NoDeadline,
}

/// Why a value of the annotation is not acted upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// The annotation is not there.
    #[error("the annotation is absent")]
    Absent,
    /// Neither RFC 3339 in UTC, nor decimal UNIX seconds, nor `none`; or out of any calendar's range.
    #[error("neither an RFC 3339 time, nor UNIX seconds, nor \"none\"")]
    Unparsable,
    /// Before 2020: a zero, a negative number, or a clock that never was set.
    #[error("before 2020")]
    TooEarly,
    /// More than 400 days from the time of the answer that carried it.
    #[error("more than 400 days away")]
    TooFar,
    /// `curfew.dev/deadline-for` names another server.
    #[error("meant for another server")]
    ForAnotherServer,
}

impl Deadline {
    /// A deadline this crate would also read back: not before 2020. Fractions of a second are cut.
    pub fn new(at: Timestamp) -> Result<Self, Refusal> {
        let whole = Timestamp::from_second(at.as_second()).map_err(|_| Refusal::Unparsable)?;
        if whole < EARLIEST { Err(Refusal::TooEarly) } else { Ok(Self(whole)) }
    }

    /// The instant itself.
    #[must_use]
    pub const fn at(self) -> Timestamp {
        self.0
    }
}

/// As written into the annotation: RFC 3339, UTC, whole seconds.
impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Instruction {
    /// Reads [`crate::annotation::DEADLINE`] with [`crate::annotation::DEADLINE_FOR`].
    ///
    /// `own` is the providerID of the machine that reads, if it knows it; `now` is the cluster time of the
    /// answer that carried the value.
    pub fn read(
        value: Option<&str>,
        meant_for: Option<&str>,
        own: Option<&str>,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let value = value.ok_or(Refusal::Absent)?;
        if let (Some(meant), Some(own)) = (meant_for, own)
            && meant != own
        {
            return Err(Refusal::ForAnotherServer);
        }
        if value == NO_DEADLINE {
            return Ok(Self::NoDeadline);
        }
        let deadline = Deadline::new(instant(value)?)?;
        if deadline.0.duration_since(now).abs() > FURTHEST {
            return Err(Refusal::TooFar);
        }
        Ok(Self::At(deadline))
    }
}

/// As written into the annotation.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(deadline) => deadline.fmt(f),
            Self::NoDeadline => f.write_str(NO_DEADLINE),
        }
    }
}

fn instant(value: &str) -> Result<Timestamp, Refusal> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        let seconds: i64 = value.parse().map_err(|_| Refusal::Unparsable)?;
        return Timestamp::from_second(seconds).map_err(|_| Refusal::Unparsable);
    }
    value.parse().map_err(|_| Refusal::Unparsable)
}

/// Nothing before 2020-01-01T00:00:00Z is a deadline.
pub const EARLIEST: Timestamp = Timestamp::constant(1_577_836_800, 0);

/// Nothing further from the present than this is a deadline.
pub const FURTHEST: SignedDuration = SignedDuration::from_hours(400 * 24);

const NO_DEADLINE: &str = "none";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::constant(1_796_068_800, 0); // 2026-11-30T20:00:00Z

    fn read(value: &str) -> Result<Instruction, Refusal> {
        Instruction::read(Some(value), None, None, NOW)
    }

    #[test]
    fn a_deadline_is_spelled_rfc_3339_in_utc_with_whole_seconds() {
        let Ok(deadline) = Deadline::new(Timestamp::constant(1_796_072_400, 999_000_000)) else { panic!() };
        assert_eq!(deadline.to_string(), "2026-11-30T21:00:00Z");
        assert_eq!(Instruction::NoDeadline.to_string(), "none");
    }

    #[test]
    fn unix_seconds_and_offsets_are_read_too() {
        let expected = read("2026-11-30T21:00:00Z");
        assert!(matches!(expected, Ok(Instruction::At(_))));
        assert_eq!(read("1796072400"), expected);
        assert_eq!(read("2026-11-30T22:00:00+01:00"), expected);
        assert_eq!(read("none"), Ok(Instruction::NoDeadline));
    }

    #[test]
    fn nonsense_is_refused_and_never_acted_upon() {
        for (value, refusal) in [
            ("0", Refusal::TooEarly),
            ("-5", Refusal::TooEarly),
            ("1", Refusal::TooEarly),
            ("2019-12-31T23:59:59Z", Refusal::TooEarly),
            ("1970-01-01T00:00:00Z", Refusal::TooEarly),
            ("9223372036854775807", Refusal::Unparsable),
            ("92233720368547758070", Refusal::Unparsable),
            ("-9223372036854775808", Refusal::Unparsable),
            ("", Refusal::Unparsable),
            ("-", Refusal::Unparsable),
            (" 1796072400", Refusal::Unparsable),
            ("1796072400.5", Refusal::Unparsable),
            ("1.8e9", Refusal::Unparsable),
            ("never", Refusal::Unparsable),
            ("None", Refusal::Unparsable),
            ("2026-11-30", Refusal::Unparsable),
            ("2026-11-30T21:00:00", Refusal::Unparsable),
            ("2028-01-05T20:00:01Z", Refusal::TooFar),
            ("1796072400000", Refusal::Unparsable),
        ] {
            let got = read(value);
            assert!(
                got == Err(refusal) || (value.len() == 13 && got == Err(Refusal::TooFar)),
                "{value}: {got:?}, expected {refusal:?}"
            );
        }
        assert_eq!(Instruction::read(None, None, None, NOW), Err(Refusal::Absent));
    }

    #[test]
    fn a_deadline_meant_for_another_server_is_refused() {
        let read = |meant, own| Instruction::read(Some("1796072400"), meant, own, NOW);
        assert_eq!(read(Some("hcloud://1"), Some("hcloud://2")), Err(Refusal::ForAnotherServer));
        assert!(read(Some("hcloud://2"), Some("hcloud://2")).is_ok());
        assert!(read(None, Some("hcloud://2")).is_ok(), "a deadline written by hand counts");
        assert!(
            read(Some("hcloud://2"), None).is_ok(),
            "an agent that cannot yet tell who it is keeps the deadline"
        );
    }

    proptest! {
        #[test]
        fn a_written_deadline_is_read_back(seconds in -30_000_000_i64..30_000_000) {
            let deadline = Deadline::new(Timestamp::from_second(NOW.as_second() + seconds).unwrap()).unwrap();
            prop_assert_eq!(read(&deadline.to_string()), Ok(Instruction::At(deadline)));
            prop_assert_eq!(read(&deadline.at().as_second().to_string()), Ok(Instruction::At(deadline)));
        }

        #[test]
        fn whatever_is_read_lies_within_the_bounds(value in "\\PC{0,40}|-?[0-9]{1,25}") {
            if let Ok(Instruction::At(deadline)) = read(&value) {
                prop_assert!(deadline.at() >= EARLIEST);
                prop_assert!(deadline.at().duration_since(NOW).abs() <= FURTHEST);
            }
        }
    }
}
