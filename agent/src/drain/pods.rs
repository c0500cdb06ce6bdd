//! What becomes of each pod of a machine that goes. Pure.

use crate::{
    node::Pod,
    time::{Span, Wall},
};

/// What is to be done about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It belongs to the machine (a `DaemonSet`'s, or a mirror of a static pod) and goes with it.
    Stays,
    /// It is being deleted, and in time.
    Leaves,
    /// It is being deleted and has been given longer than the machine has: it is to have so many seconds from now, so that
    /// its volumes are let go and its name is free before the machine is gone.
    Hurry(i64),
    /// It is to be evicted, with the grace period that it has of its own.
    Evict,
}

/// The fate of a `pod` at `now`, on a machine that goes at `end`; both in cluster time.
#[must_use]
pub fn fate(pod: &Pod, end: Wall, now: Wall) -> Fate {
    let Some((gone_by, period)) = pod.leaving else {
        return if pod.is_the_machines { Fate::Stays } else { Fate::Evict };
    };
    let left = (end.since(now).millis() - MARGIN.millis()) / 1000;
    let shortest = left.max(1);
    // A period can only be made shorter. Zero would mean that nobody waits for the kubelet to stop the containers.
    if gone_by > end.plus(MARGIN.reversed()) && shortest < period {
        Fate::Hurry(shortest)
    } else {
        Fate::Leaves
    }
}

/// What a kubelet needs to report that a pod has stopped.
const MARGIN: Span = Span::from_millis(5_000);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pod(leaving: Option<(i64, i64)>, is_the_machines: bool) -> Pod {
        let leaving = leaving.map(|(at, period)| (Wall::from_millis(at * 1000), period));
        Pod { namespace: "a".into(), name: "p".into(), uid: "u".into(), is_the_machines, leaving }
    }

    fn at(pod: &Pod, end: i64, now: i64) -> Fate {
        fate(pod, Wall::from_millis(end * 1000), Wall::from_millis(now * 1000))
    }

    #[test]
    fn what_belongs_to_the_machine_stays_and_everything_else_is_evicted() {
        assert_eq!(at(&pod(None, true), 100, 0), Fate::Stays);
        assert_eq!(at(&pod(None, false), 100, 0), Fate::Evict);
    }

    #[test]
    fn a_pod_that_has_been_given_longer_than_the_machine_has_must_hurry() {
        assert_eq!(at(&pod(Some((30, 30)), false), 100, 0), Fate::Leaves);
        assert_eq!(at(&pod(Some((3600, 3600)), false), 100, 0), Fate::Hurry(95));
        assert_eq!(at(&pod(Some((3600, 3600)), true), 100, 0), Fate::Hurry(95));
        assert_eq!(at(&pod(Some((120, 30)), false), 100, 92), Fate::Hurry(3));
        assert_eq!(at(&pod(Some((120, 30)), false), 100, 99), Fate::Hurry(1));
        assert_eq!(at(&pod(Some((120, 1)), false), 100, 99), Fate::Leaves);
    }

    proptest! {
        #[test]
        fn nobody_is_hurried_twice_nor_given_more_than_is_left(
            end in 0_i64..10_000, now in 0_i64..10_000, asked in 0_i64..10_000, period in 0_i64..10_000
        ) {
            let asked = asked.min(now);
            if let Fate::Hurry(seconds) = at(&pod(Some((asked + period, period)), false), end, now) {
                prop_assert!(seconds >= 1 && seconds < period && seconds <= (end - now).max(1));
                // The API server counts the new period from the first request too.
                let hurried = pod(Some((asked + seconds, seconds)), false);
                prop_assert_eq!(at(&hurried, end, now), Fate::Leaves);
            }
        }
    }
}
