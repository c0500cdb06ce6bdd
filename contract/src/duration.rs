//! Durations as Kubernetes writes them (`1h30m0s`): the encoding only.
//!
//! Reading takes everything `time.ParseDuration` of Go takes with the units `h m s ms`; writing gives the same
//! form back. Fractions below a millisecond are cut.

use jiff::SignedDuration;

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration: write it like 30s, 10m or 1h30m")]
pub struct NotADuration(pub String);

/// Writes a duration the way Go does: `0s`, `250ms`, `30s`, `10m0s`, `-3h0m2s`.
#[must_use]
pub fn format(value: SignedDuration) -> String {
    let (sign, millis) = (if value.is_negative() { "-" } else { "" }, value.as_millis().unsigned_abs());
    let (seconds, fraction) = (millis / 1000, millis % 1000);
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let rest = if fraction == 0 {
        format!("{rest}")
    } else {
        format!("{rest}.{fraction:03}").trim_end_matches('0').into()
    };
    match (hours, minutes, seconds, fraction) {
        (0, 0, 0, 1..) => format!("{sign}{fraction}ms"),
        (0, 0, ..) => format!("{sign}{rest}s"),
        (0, ..) => format!("{sign}{minutes}m{rest}s"),
        _ => format!("{sign}{hours}h{minutes}m{rest}s"),
    }
}

/// Reads a duration. Values beyond ±100 years are refused: nothing here means them.
pub fn parse(text: &str) -> Result<SignedDuration, NotADuration> {
    let refuse = || NotADuration(text.chars().take(40).collect());
    let (negative, mut rest) = text.strip_prefix('-').map_or((false, text), |r| (true, r));
    if rest.is_empty() {
        return Err(refuse());
    }
    let mut millis: f64 = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(refuse)?;
        let value: f64 = rest[..digits].parse().map_err(|_| refuse())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        millis += value
            * match &rest[..letters] {
                "h" => 3_600_000.0,
                "m" => 60_000.0,
                "s" => 1000.0,
                "ms" => 1.0,
                _ => return Err(refuse()),
            };
        rest = &rest[letters..];
    }
    if millis > CENTURY_MILLIS {
        return Err(refuse());
    }
    #[expect(clippy::cast_possible_truncation, reason = "bounded to a century just above")]
    let whole = millis.round() as i64;
    Ok(SignedDuration::from_millis(if negative { -whole } else { whole }))
}

/// `#[serde(with = "curfew_contract::duration")]`: writing.
pub fn serialize<S: serde::Serializer>(value: &SignedDuration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&format(*value))
}

/// `#[serde(with = "curfew_contract::duration")]`: reading.
pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<SignedDuration, D::Error> {
    let text = <String as serde::Deserialize>::deserialize(from)?;
    parse(&text).map_err(serde::de::Error::custom)
}

const CENTURY_MILLIS: f64 = 100.0 * 366.0 * 86_400_000.0;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_spelled_as_kubernetes_spells_them() {
        for (seconds, text) in [(0, "0s"), (30, "30s"), (60, "1m0s"), (600, "10m0s"), (5400, "1h30m0s")] {
            assert_eq!(format(SignedDuration::from_secs(seconds)), text);
            assert_eq!(parse(text), Ok(SignedDuration::from_secs(seconds)));
        }
        assert_eq!(format(SignedDuration::from_secs(-10802)), "-3h0m2s");
        assert_eq!(format(SignedDuration::from_millis(1500)), "1.5s");
        assert_eq!(parse("10m"), parse("600s"));
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in
            ["", "-", "30", "s", "1d", "1h-3m", "1e9h", "NaNs", "infs", "99999999999h", "1.2.3s", "3 s", "µ"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_written_duration_is_read_back(millis in -10_000_000_000_i64..10_000_000_000) {
            let value = SignedDuration::from_millis(millis);
            prop_assert_eq!(parse(&format(value)), Ok(value));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,60}") {
            let _ = parse(&text);
        }
    }
}
