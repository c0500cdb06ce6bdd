//! Whether two witnesses tell the same story: the machine's console, and the cloud's ledger. Pure.

use jiff::{SignedDuration, Timestamp};

use crate::console::Line;

/// What comes of holding them side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The console names the unit that the ledger names, at that time.
    Agree,
    /// The unit that the ledger names said nothing of it.
    Silent,
    /// It did, but at another time; so long before the deletion, or after it if negative.
    AnotherTime(SignedDuration),
}

/// `deleter`: the holder of the token of the accepted DELETE; `at`: when it was accepted.
pub(crate) fn agree(console: &[Line], deleter: &str, at: Timestamp) -> Verdict {
    let said = format!("curfew-{deleter}[");
    let is_it = |line: &&Line| {
        line.text.contains(&said) && [FIRING, ACCEPTED].iter().any(|text| line.text.contains(text))
    };
    let firing = console.iter().filter(is_it);
    let before = firing.map(|line| at.duration_since(line.at)).min_by_key(|before| before.abs());
    match before {
        None => Verdict::Silent,
        Some(before) if before.abs() <= TOLERANCE => Verdict::Agree,
        Some(before) => Verdict::AnotherTime(before),
    }
}

/// What agent and backstop log when they begin.
const FIRING: &str = "firing: this machine deletes itself";
/// And when they were heard, which may be later, and may not get out any more.
const ACCEPTED: &str = "the provider accepted the deletion";
/// From the line, through journal and console, and from the request to its acceptance, on a loaded machine.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_796_000_000 + second).unwrap()
    }

    fn said(second: i64, text: &str) -> Line {
        Line { at: at(second), text: text.into() }
    }

    const LINE: &str = "curfew-agent[123]: firing: this machine deletes itself cause=Deadline";

    #[test]
    fn witnesses_agree_on_unit_and_time_or_not_at_all() {
        let console = [said(0, "systemd[1]: Started curfew-agent.service"), said(100, LINE)];
        assert_eq!(agree(&console, "agent", at(101)), Verdict::Agree);
        assert_eq!(agree(&console, "backstop", at(101)), Verdict::Silent, "another unit");
        assert_eq!(agree(&console[..1], "agent", at(101)), Verdict::Silent, "it said something else");
        let early = SignedDuration::from_secs(60);
        assert_eq!(agree(&console, "agent", at(160)), Verdict::AnotherTime(early));
        assert_eq!(agree(&console, "agent", at(40)), Verdict::AnotherTime(-early));
    }

    #[test]
    fn an_attempt_that_was_heard_late_counts_when_it_was_heard() {
        let heard = said(130, "curfew-agent[123]: the provider accepted the deletion round=3");
        assert_eq!(agree(&[said(100, LINE), heard], "agent", at(130)), Verdict::Agree);
    }

    #[test]
    fn of_several_firings_the_nearest_counts() {
        let console = [said(10, LINE), said(100, LINE), said(300, LINE)];
        assert_eq!(agree(&console, "agent", at(100)), Verdict::Agree);
    }
}
