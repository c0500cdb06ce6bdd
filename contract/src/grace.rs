//! The grace: how it is written, how it is read, and what is never acted upon.
//!
//! Like a deadline it is hearsay until it has passed [`Grace::read`]. What is refused moves no work: it fails towards
//! work that is lost with its machine, and never towards a healthy machine that is emptied.

use std::fmt;

use jiff::SignedDuration;

use crate::duration;

/// With less than this left, a machine moves its work away. More than nothing, at most [`LONGEST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grace(SignedDuration);

/// Why a value of the annotation is not acted upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum GraceRefusal {
    /// Not a duration as Kubernetes writes it.
    #[error("not a duration: write it like 30s, 2m or 1h30m")]
    Unparsable,
    /// Below zero.
    #[error("negative")]
    Negative,
    /// No policy allows it.
    #[error("longer than 12h")]
    TooLong,
}

impl Grace {
    /// A grace of this length. `None`: of none at all.
    pub fn new(length: SignedDuration) -> Result<Option<Self>, GraceRefusal> {
        if length.is_negative() {
            Err(GraceRefusal::Negative)
        } else if length > LONGEST {
            Err(GraceRefusal::TooLong)
        } else {
            Ok(Some(Self(length)).filter(|_| !length.is_zero()))
        }
    }

    /// Reads [`crate::annotation::GRACE`]. `None`: there is none, and no work is moved.
    pub fn read(value: Option<&str>) -> Result<Option<Self>, GraceRefusal> {
        let Some(value) = value else { return Ok(None) };
        Self::new(duration::parse(value).map_err(|_| GraceRefusal::Unparsable)?)
    }

    /// How long it is.
    #[must_use]
    pub const fn length(self) -> SignedDuration {
        self.0
    }
}

/// As written into the annotation: `2m0s`.
impl fmt::Display for Grace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&duration::format(self.0))
    }
}

/// Half of the longest slack there is: [`crate::Watchdog`] allows no more.
pub const LONGEST: SignedDuration = SignedDuration::from_hours(12);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_grace_is_spelled_as_durations_are() {
        let grace = Grace::new(SignedDuration::from_mins(2)).unwrap().unwrap();
        assert_eq!(grace.to_string(), "2m0s");
        assert_eq!(Grace::read(Some("120s")), Ok(Some(grace)));
    }

    #[test]
    fn an_absent_grace_and_one_of_nothing_are_none() {
        assert_eq!(Grace::read(None), Ok(None));
        assert_eq!(Grace::read(Some("0s")), Ok(None));
    }

    #[test]
    fn nonsense_is_refused_and_never_acted_upon() {
        for (value, refusal) in [
            ("", GraceRefusal::Unparsable),
            ("soon", GraceRefusal::Unparsable),
            ("120", GraceRefusal::Unparsable),
            ("-2m", GraceRefusal::Negative),
            ("12h0m1s", GraceRefusal::TooLong),
            ("99999h", GraceRefusal::TooLong),
            ("99999999999h", GraceRefusal::Unparsable),
        ] {
            assert_eq!(Grace::read(Some(value)), Err(refusal), "{value}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_lies_within_the_bounds_and_is_read_back(value in "\\PC{0,20}|-?[0-9]{1,9}(ms|s|m|h)") {
            if let Ok(Some(grace)) = Grace::read(Some(&value)) {
                prop_assert!(grace.length() > SignedDuration::ZERO && grace.length() <= LONGEST);
                prop_assert_eq!(Grace::read(Some(&grace.to_string())), Ok(Some(grace)));
            }
        }
    }
}
