//! The cluster's time: the API server's `Date`, carried between answers by `CLOCK_BOOTTIME`.
//!
//! `Date` is cut to whole seconds: each answer alone is up to a second behind, and none is ahead. So of the last answers the
//! one counts that was least behind, and whoever asks does so at ever other fractions of a second.
//!
//! The only file that reads a clock. The machine's own wall clock never supplies the time: one that is wrong must not
//! move a deadline. One API server of several may be wrong too, so a step counts only once it has been confirmed, and
//! so does a first answer that this machine's own clock contradicts: until then nothing that needs a time is decided.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use nix::time::{ClockId, clock_gettime};

/// Time since boot, running through suspend. The only measure of how long something took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Uptime(pub(crate) SignedDuration);

/// What both clocks say at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The API server's time. None: it has not answered yet, and nothing that needs a time is decided.
    pub(crate) now: Option<Timestamp>,
    /// This machine's.
    pub(crate) up: Uptime,
}

impl Uptime {
    /// How long after `earlier` this is.
    pub(crate) fn since(self, earlier: Self) -> SignedDuration {
        self.0.saturating_sub(earlier.0)
    }

    /// Later by `span`.
    #[must_use]
    pub(crate) fn after(self, span: SignedDuration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

impl Reading {
    /// When, by this machine's clock, the cluster's will show `at`.
    pub(crate) fn uptime_at(self, at: Timestamp) -> Option<Uptime> {
        Some(self.up.after(at.duration_since(self.now?)))
    }
}

/// The cluster's clock, shared by everyone who needs the time.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterClock(Arc<Mutex<Offset>>);

impl ClusterClock {
    /// Both clocks, now.
    pub(crate) fn read(&self) -> Reading {
        let up = uptime();
        let offset = self.0.lock().unwrap_or_else(PoisonError::into_inner).current;
        Reading { now: offset.and_then(|offset| Timestamp::UNIX_EPOCH.checked_add(offset + up.0).ok()), up }
    }

    /// Takes the `Date` of an answer that was just received.
    pub(crate) fn hear(&self, date: Timestamp) -> Heard {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).hear(date, uptime(), own())
    }
}

/// What an answer did to the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The clock follows the answer.
    Followed,
    /// The answer is a step away; it will count if later ones confirm it for a minute.
    Doubted(SignedDuration),
    /// A step was confirmed, and the clock follows it.
    Stepped(SignedDuration),
}

/// Cluster time less uptime, and a step that waits to be confirmed. Pure.
#[derive(Clone, Debug, Default)]
struct Offset {
    current: Option<SignedDuration>,
    /// Of the last answers that were followed.
    recent: VecDeque<SignedDuration>,
    doubted: Option<(SignedDuration, Uptime)>,
}

impl Offset {
    /// `own`: what this machine's own wall clock says.
    fn hear(&mut self, date: Timestamp, up: Uptime, own: Timestamp) -> Heard {
        let heard = date.duration_since(Timestamp::UNIX_EPOCH) - up.0;
        let step = self.current.map_or_else(|| date.duration_since(own), |current| heard - current);
        if step.abs() <= SMALL {
            self.follow(heard);
            return Heard::Followed;
        }
        let since = match self.doubted {
            Some((doubted, since)) if (heard - doubted).abs() <= SMALL => since,
            _ => up,
        };
        if up.since(since) >= CONFIRMED_AFTER {
            self.recent.clear();
            self.follow(heard);
            return Heard::Stepped(step);
        }
        self.doubted = Some((heard, since));
        Heard::Doubted(step)
    }

    fn follow(&mut self, heard: SignedDuration) {
        self.recent.truncate(FRACTIONS - 1);
        self.recent.push_front(heard);
        self.current = self.recent.iter().copied().max();
        self.doubted = None;
    }
}

/// Reads an HTTP `Date` (IMF-fixdate, RFC 9110).
pub(crate) fn http_date(value: &str) -> Option<Timestamp> {
    let time = jiff::civil::DateTime::strptime("%a, %d %b %Y %H:%M:%S GMT", value).ok()?;
    time.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

/// Time since boot, now.
pub(crate) fn uptime() -> Uptime {
    // A kernel without CLOCK_BOOTTIME does not exist any more; zero would only make everything look stale.
    let read = clock_gettime(ClockId::CLOCK_BOOTTIME).map(std::time::Duration::from);
    Uptime(read.ok().and_then(|up| up.try_into().ok()).unwrap_or_default())
}

/// What this machine's own wall clock says. Never the cluster's time, only something to compare it with.
pub(crate) fn own() -> Timestamp {
    let read = clock_gettime(ClockId::CLOCK_REALTIME).map(std::time::Duration::from);
    let since = read.ok().and_then(|since| SignedDuration::try_from(since).ok()).unwrap_or_default();
    Timestamp::UNIX_EPOCH.saturating_add(since).unwrap_or(Timestamp::MAX)
}

/// So many answers, each asked for at another sixteenth of a second, tell the time to a sixteenth.
pub(crate) const FRACTIONS: usize = 16;
const SMALL: SignedDuration = SignedDuration::from_secs(5);
const CONFIRMED_AFTER: SignedDuration = SignedDuration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: Timestamp = Timestamp::constant(1_796_068_800, 0);

    fn hear(offset: &mut Offset, up: i64, step: i64) -> Heard {
        let up = SignedDuration::from_secs(up);
        offset.hear(DATE + up + SignedDuration::from_secs(step), Uptime(up), DATE + up)
    }

    #[test]
    fn the_date_of_an_answer_is_read() {
        assert_eq!(http_date("Mon, 30 Nov 2026 20:00:00 GMT"), Some(DATE));
        assert_eq!(http_date("Monday, 30-Nov-26 20:00:00 GMT"), None);
        assert_eq!(http_date(""), None);
    }

    #[test]
    fn of_the_last_answers_the_one_counts_that_was_least_behind() {
        let mut offset = Offset::default();
        let mut hear = |millis: i64| {
            let (up, at) = (SignedDuration::from_millis(millis), DATE + SignedDuration::from_millis(millis));
            let date = Timestamp::from_second(at.as_second()).unwrap();
            assert_eq!(offset.hear(date, Uptime(up), at), Heard::Followed);
            offset.current.unwrap() - DATE.duration_since(Timestamp::UNIX_EPOCH)
        };
        assert_eq!(hear(900), SignedDuration::from_millis(-900));
        assert_eq!(hear(20_100), SignedDuration::from_millis(-100), "less behind");
        assert_eq!(hear(40_800), SignedDuration::from_millis(-100), "more behind");
        for nth in 0..16 {
            hear(60_500 + nth * 20_000);
        }
        assert_eq!(
            hear(400_500),
            SignedDuration::from_millis(-500),
            "an old answer no longer counts: clocks drift"
        );
    }

    #[test]
    fn one_api_server_with_a_wrong_clock_moves_nothing() {
        let mut offset = Offset::default();
        hear(&mut offset, 0, 0);
        for up in (20..400).step_by(20) {
            let wrong = if up % 40 == 0 { 3600 } else { 0 };
            assert!(!matches!(hear(&mut offset, up, wrong), Heard::Stepped(_)));
        }
        assert_eq!(hear(&mut offset, 420, 0), Heard::Followed);
    }

    #[test]
    fn a_step_counts_once_it_has_been_confirmed_for_a_minute() {
        let mut offset = Offset::default();
        hear(&mut offset, 0, 0);
        let step = SignedDuration::from_secs(-3600);
        assert_eq!(hear(&mut offset, 20, -3600), Heard::Doubted(step));
        assert_eq!(hear(&mut offset, 60, -3600), Heard::Doubted(step));
        assert_eq!(hear(&mut offset, 80, -3600), Heard::Stepped(step));
        assert_eq!(hear(&mut offset, 81, -3599), Heard::Followed);
    }

    #[test]
    fn a_first_answer_that_the_machines_own_clock_contradicts_must_be_confirmed() {
        let mut offset = Offset::default();
        let step = SignedDuration::from_secs(-3600);
        assert_eq!(hear(&mut offset, 0, -3600), Heard::Doubted(step));
        assert_eq!((hear(&mut offset, 20, 0), offset.current.is_some()), (Heard::Followed, true));
        let mut offset = Offset::default();
        for up in [0, 20, 40] {
            assert_eq!((hear(&mut offset, up, -3600), offset.current), (Heard::Doubted(step), None));
        }
        assert_eq!(hear(&mut offset, 60, -3600), Heard::Stepped(step));
    }

    #[test]
    fn without_an_answer_there_is_no_time() {
        assert_eq!(ClusterClock::default().read().now, None);
    }
}
