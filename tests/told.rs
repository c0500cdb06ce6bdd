//! What a heartbeat says. Pure.

use curfew_contract::{
    Assessment, Authority, Expected, Freshness, Heartbeat, Identity, Note, condition::assess,
};
use jiff::SignedDuration;

/// All that a controller would need to call it armed.
#[must_use]
pub fn armed(beat: &Heartbeat) -> bool {
    let deadline_unseen_for = SignedDuration::ZERO;
    let expected = Expected { provider_id: None, deadline: beat.deadline_seen, deadline_unseen_for };
    assess(Some(beat), Freshness::Fresh, expected) == Assessment::Armed
}

/// Whether the agent knows its server and may delete it.
#[must_use]
pub fn proven(beat: &Heartbeat) -> bool {
    beat.identity == Identity::Proven && beat.authority == Authority::Verified
}

/// Whether it carries this note.
pub fn note(note: Note) -> impl Fn(&Heartbeat) -> bool {
    move |beat| beat.notes.contains(&note)
}
