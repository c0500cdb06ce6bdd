//! What was last heard of machines whose Nodes are gone. A cloud controller deletes the Node of a machine that deleted
//! itself, often before anybody here has asked the provider; without its last heartbeat nobody could say who it was.

use std::collections::BTreeMap;

use curfew_contract::Heartbeat;
use jiff::{SignedDuration, Timestamp};

use super::Node;
use crate::clock::{Reading, Uptime};

/// Last words, by providerID.
#[derive(Clone, Debug, Default)]
pub(crate) struct Departed(BTreeMap<String, (LastWord, Uptime)>);

/// What a Node said when it was last seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LastWord {
    /// The last deadline that the machine can have heard of.
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) beat: Option<Heartbeat>,
}

impl LastWord {
    /// Of a Node that still is there.
    pub(crate) fn of(node: &Node, reading: Reading, now: Timestamp) -> Self {
        let beat = node.sighting.as_ref().and_then(|sighting| sighting.beat.as_ref().ok());
        // A renewal that came when the machine's end had come was written to a machine that was gone.
        let in_vain = beat.and_then(|beat| beat.deadline_seen).filter(|seen| {
            let replaced = node.replaced_at(Some(*seen), now).filter(|_| node.deadline(now) != Some(*seen));
            let end = reading.uptime_at(*seen);
            replaced.zip(end).is_some_and(|(replaced, end)| replaced.after(HEARD_WITHIN) >= end)
        });
        Self { deadline: in_vain.or_else(|| node.deadline(now)), beat: beat.cloned() }
    }
}

impl Departed {
    /// Notes a Node that is gone.
    pub(crate) fn note(&mut self, node: &Node, reading: Reading) {
        let (Some(id), Some(now)) = (node.provider_id(), reading.now) else { return };
        self.0.retain(|_, (_, since)| reading.up.since(*since) < KEPT_FOR);
        self.0.insert(id.into(), (LastWord::of(node, reading, now), reading.up));
    }

    /// The last word of that machine.
    pub(crate) fn of(&self, provider_id: &str) -> Option<&LastWord> {
        self.0.get(provider_id).map(|(word, _)| word)
    }
}

/// From the write of a deadline to an agent that goes by it: its watch brings it at once, or its next heartbeat does.
const HEARD_WITHIN: SignedDuration = SignedDuration::from_secs(5);
/// Longer than any provider needs to admit that a server is gone.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(1);
