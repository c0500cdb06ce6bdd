//! One learnt deadline as an instant of `CLOCK_BOOTTIME`. Pure.
//!
//! From the moment it is learnt, what counts is the instant: however the clocks step afterwards, the *same* deadline
//! moves later by [`LATER_AT_MOST`] in all. A *new* deadline is a new [`Held`] and may move it either way.

use crate::time::{Boot, Offset, Span, Wall};

/// A deadline in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// As written on the Node.
    pub deadline: Wall,
    /// When it fires.
    pub fires: Boot,
    /// The earliest instant it ever had on authenticated time: what "later" counts from.
    pub earliest: Option<Boot>,
    /// It was already past when it was first learnt, so [`Held::fires`] is a respite and no clock moves it.
    pub respite: bool,
}

impl Held {
    /// A deadline first learnt at `now`, on authenticated cluster time.
    ///
    /// One that is already past (a restored etcd, a lagging read) fires only after [`RESPITE`], so that its
    /// replacement can come: the bill runs on for a minute, which is cheaper than a machine lost to a stale read.
    #[must_use]
    pub fn learnt(deadline: Wall, offset: Offset, now: Boot) -> Self {
        let at = deadline.at(offset);
        if at <= now {
            Self { deadline, fires: now.plus(RESPITE), earliest: None, respite: true }
        } else {
            Self::dated(deadline, at)
        }
    }

    /// A renewal that is learnt when it has passed too, while the deadline it renewed is due. It is no reason to live on:
    /// nobody who asked the Node in time would have, and who cannot ask does not.
    #[must_use]
    pub fn missed(deadline: Wall, offset: Offset) -> Self {
        Self::dated(deadline, deadline.at(offset))
    }

    /// One that fires `at` its own time.
    const fn dated(deadline: Wall, at: Boot) -> Self {
        Self { deadline, fires: at, earliest: Some(at), respite: false }
    }

    /// A deadline out of another boot's ledger: its instant is not known in this boot until cluster time is.
    #[must_use]
    pub fn remembered(deadline: Wall, offset: Offset) -> Self {
        Self { deadline, fires: unsure(deadline, offset), earliest: None, respite: false }
    }

    /// The same deadline after cluster time has changed. On unauthenticated time (`authenticated` is false) nothing
    /// is promised, and the instant follows the guess; the ledger's high-water mark bounds how late that can be.
    #[must_use]
    pub fn adjusted(self, offset: Offset, authenticated: bool) -> Self {
        if self.respite {
            return self;
        }
        if !authenticated {
            return Self { fires: unsure(self.deadline, offset), ..self };
        }
        let at = self.deadline.at(offset);
        let earliest = self.earliest.map_or(at, |earliest| earliest.min(at));
        Self { fires: at.min(earliest.plus(LATER_AT_MOST)), earliest: Some(earliest), ..self }
    }
}

/// By the machine's own clock alone: after a boot that was set from a hardware clock of whole seconds. It fails towards
/// a second of bill.
fn unsure(deadline: Wall, offset: Offset) -> Boot {
    deadline.at(offset).plus(HARDWARE_CLOCK)
}

/// What a clock may be ahead that was set from the hardware's. Linux takes the middle of the second, systems that count
/// in whole ones its end.
const HARDWARE_CLOCK: Span = Span::from_millis(1_000);

/// How much later the same deadline may move in all.
pub const LATER_AT_MOST: Span = Span::from_millis(2_000);

/// How long a deadline that was already past when first learnt waits for its replacement.
pub const RESPITE: Span = Span::from_millis(60_000);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offset(millis: i64) -> Offset {
        Offset::between(Wall::from_millis(millis), Boot::START)
    }

    #[test]
    fn a_deadline_first_learnt_when_already_past_waits_a_minute_for_its_replacement() {
        let now = Boot::from_millis(5_000);
        let held = Held::learnt(Wall::from_millis(100_000), offset(200_000), now);
        assert_eq!(held.fires, now.plus(RESPITE));
        assert_eq!(held.adjusted(offset(0), true), held, "and no clock moves that minute");
    }

    #[test]
    fn by_its_own_clock_alone_a_machine_waits_out_the_second_its_hardware_clock_may_be_ahead() {
        let deadline = Wall::from_millis(100_000);
        let held = Held::remembered(deadline, offset(0));
        assert_eq!(held.fires, deadline.at(offset(0)).plus(Span::from_secs(1)));
        let held = held.adjusted(offset(400), false);
        assert_eq!(held.fires, deadline.at(offset(400)).plus(Span::from_secs(1)), "it follows the guess");
        assert_eq!(
            held.adjusted(offset(0), true).fires,
            deadline.at(offset(0)),
            "told the time, it is exact"
        );
    }

    proptest! {
        #[test]
        fn however_the_clocks_step_the_same_deadline_moves_later_by_two_seconds_in_all(
            steps in prop::collection::vec(-100_000_i64..100_000, 1..50)
        ) {
            let mut held = Held::learnt(Wall::from_millis(1_000_000), offset(0), Boot::START);
            let mut earliest = held.fires;
            for step in steps {
                held = held.adjusted(offset(step), true);
                prop_assert!(held.fires <= earliest.plus(LATER_AT_MOST));
                prop_assert!(held.fires <= Wall::from_millis(1_000_000).at(offset(step)), "never later than the deadline");
                earliest = earliest.min(held.fires);
            }
        }
    }
}
