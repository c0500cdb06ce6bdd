//! When a look at the world is not believed, and what ends the doubt. Pure.
//!
//! A sweep that suddenly sees nothing must not conclude that everything is over: a wrong token, a restored backup or a
//! deleted `CustomResourceDefinition` look just like that. While in doubt nothing is deleted, neither server nor Node; it
//! fails towards a bill, and says so. It must not last for ever either, since whoever deletes all leases at once means it:
//!
//! * *No lease is left that we saw or that a server names*; after a restart, when none was seen yet: no lease at all. Believed after [`LISTS`] fresh lists over [`CONFIRMED_AFTER`]
//!   have said the same. Nobody is asked: what a wrong conclusion costs by then is servers whose own deadline has passed,
//!   by five minutes, with no lease in the cluster that would have moved it. A lease comes back: the doubt is over at once.
//! * *No server is left although leases say that some run.* There is nothing to delete then, but nothing is said to be
//!   gone, and no Node is removed. It ends when servers are listed again, or when every lease has found out for itself,
//!   id by id, that its servers are gone.

use std::{collections::BTreeSet, fmt};

use curfew_contract::{duration, label};
use curfew_provider::Server;
use jiff::SignedDuration;

use super::plan::Leases;
use crate::clock::Uptime;

/// What earlier looks at one provider told. Not kept over a restart: what the servers' labels name stands in for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// UIDs of the leases of the last look that was believed.
    seen: BTreeSet<String>,
    /// Since when no lease is left, and in how many lists.
    vanished: Option<(Uptime, u32)>,
}

/// Why a look is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// None of the known leases is listed; so long until that is believed, if it stays so.
    LeasesVanished(SignedDuration),
    /// No server is listed; leases say that so many run.
    ServersVanished(usize),
}

impl Memory {
    /// Takes in one look: the servers of this cluster, the leases listed afterwards, and how many servers of this provider
    /// those say are running.
    pub(crate) fn look(
        &mut self,
        servers: &[&Server],
        leases: &Leases,
        running: usize,
        up: Uptime,
    ) -> Option<Doubt> {
        if servers.is_empty() {
            self.vanished = None;
            if running > 0 {
                return Some(Doubt::ServersVanished(running));
            }
        } else if self.no_known_lease(servers, leases) {
            let (since, lists) =
                self.vanished.map_or((up, 1), |(since, lists)| (since, lists.saturating_add(1)));
            self.vanished = Some((since, lists));
            let left = CONFIRMED_AFTER - up.since(since);
            if left.is_positive() || lists < LISTS {
                return Some(Doubt::LeasesVanished(left.max(SignedDuration::ZERO)));
            }
        } else {
            self.vanished = None;
        }
        self.seen = leases.keys().cloned().collect();
        None
    }

    fn no_known_lease(&self, servers: &[&Server], leases: &Leases) -> bool {
        let mut named = servers.iter().filter_map(|server| server.labels.get(label::LEASE_UID));
        let seen = self.seen.iter().any(|uid| leases.contains_key(uid));
        let known = if self.seen.is_empty() { leases.is_empty() } else { !seen };
        known && !named.any(|uid| leases.contains_key(uid))
    }
}

impl Doubt {
    /// As a condition's reason.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::LeasesVanished(_) => "LeasesVanished",
            Self::ServersVanished(_) => "ServersVanished",
        }
    }
}

/// For people.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeasesVanished(left) => {
                let left = duration::format(SignedDuration::from_secs(left.as_secs()));
                write!(
                    f,
                    "no known lease is listed while servers of this cluster run; this is believed if it stays so for \
                     {left} more, and then every server goes whose own deadline has passed"
                )
            }
            Self::ServersVanished(running) => write!(
                f,
                "the provider lists no server of this cluster while leases say that {running} run: is the token of \
                 another project? until this is settled no Node is removed"
            ),
        }
    }
}

/// Longer than a restored or restarted API server takes to fill.
const CONFIRMED_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// A suspended controller has not looked, however much time has passed.
const LISTS: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::fixture::{leases, server};

    fn up(minutes: i64) -> Uptime {
        Uptime(SignedDuration::from_mins(minutes))
    }

    fn vanished(doubt: Option<Doubt>) -> bool {
        matches!(doubt, Some(Doubt::LeasesVanished(_)))
    }

    #[test]
    fn a_world_without_any_known_lease_is_believed_only_after_ten_minutes_of_fresh_lists() {
        let (mut memory, orphan) = (Memory::default(), server(1, "gone", 600));
        for minute in 0..10 {
            assert!(vanished(memory.look(&[&orphan], &leases(&[]), 0, up(minute))), "minute {minute}");
        }
        assert_eq!(memory.look(&[&orphan], &leases(&[]), 0, up(10)), None);
        assert_eq!(memory.look(&[&orphan], &leases(&[]), 0, up(11)), None, "and stays believed");
    }

    #[test]
    fn a_lease_that_comes_back_ends_the_doubt_and_the_next_one_begins_anew() {
        let (mut memory, server) = (Memory::default(), server(1, "a", 600));
        assert_eq!(memory.look(&[&server], &leases(&["a"]), 1, up(0)), None);
        assert!(vanished(memory.look(&[&server], &leases(&[]), 0, up(1))));
        assert_eq!(memory.look(&[&server], &leases(&["a"]), 1, up(9)), None);
        assert!(vanished(memory.look(&[&server], &leases(&[]), 0, up(12))));
    }

    #[test]
    fn two_lists_far_apart_are_not_enough() {
        let (mut memory, orphan) = (Memory::default(), server(1, "gone", 600));
        assert!(vanished(memory.look(&[&orphan], &leases(&[]), 0, up(0))));
        assert!(vanished(memory.look(&[&orphan], &leases(&[]), 0, up(600))), "it slept in between");
    }

    #[test]
    fn one_known_lease_is_enough_to_believe_that_others_are_gone() {
        let (mut memory, orphan) = (Memory::default(), server(1, "gone", 600));
        assert_eq!(memory.look(&[], &leases(&["a", "gone"]), 0, up(0)), None);
        assert_eq!(memory.look(&[&orphan], &leases(&["a"]), 0, up(1)), None);
    }

    #[test]
    fn a_provider_that_lists_nothing_while_servers_should_run_is_not_believed_until_the_leases_know() {
        let mut memory = Memory::default();
        for minute in 0..100 {
            let doubt = memory.look(&[], &leases(&["a"]), 2, up(minute));
            assert_eq!(doubt, Some(Doubt::ServersVanished(2)));
        }
        assert_eq!(memory.look(&[], &leases(&["a"]), 0, up(100)), None);
    }

    #[test]
    fn after_a_restart_other_leases_are_proof_enough_that_the_list_is_no_empty_one() {
        let orphan = server(1, "gone", 600);
        assert_eq!(Memory::default().look(&[&orphan], &leases(&["other"]), 0, up(0)), None);
        let mut memory = Memory::default();
        assert_eq!(memory.look(&[], &leases(&["a"]), 0, up(0)), None);
        assert!(
            vanished(memory.look(&[&orphan], &leases(&["other"]), 0, up(1))),
            "a was seen, and is gone too"
        );
    }

    #[test]
    fn an_empty_cluster_and_an_empty_project_are_nothing_to_doubt() {
        assert_eq!(Memory::default().look(&[], &leases(&[]), 0, up(0)), None);
    }
}
