//! POST /servers/{id}/actions/{verb}: power and protection. Every other verb is refused as an unknown route.
//!
//! Power is bookkeeping here: only a deletion ends a machine's processes.

use jiff::Timestamp;
use serde_json::json;

use super::desk::Call;
use super::error::Refusal;
use super::json as shape;
use super::routes::Served;
use super::server::{Server, Status};
use super::state::{Outcome, State};

const VERBS: [(&str, &str, Outcome); 5] = [
    ("poweron", "start_server", Outcome::Becomes(Status::Running)),
    ("poweroff", "stop_server", Outcome::Becomes(Status::Off)),
    // At the provider success means "signal sent"; this guest always obeys.
    ("shutdown", "shutdown_server", Outcome::Becomes(Status::Off)),
    ("reboot", "reboot_server", Outcome::Becomes(Status::Running)),
    ("reset", "reset_server", Outcome::Becomes(Status::Running)),
];

pub(crate) fn known(verb: &str) -> bool {
    verb == "change_protection" || VERBS.iter().any(|(known, ..)| *known == verb)
}

pub(crate) fn act(state: &mut State, server: &Server, verb: &str, call: &Call, now: Timestamp) -> Served {
    let (command, outcome) = if verb == "change_protection" {
        ("change_protection", Outcome::Protects(protection(call)?))
    } else {
        let found = VERBS.iter().find(|(known, ..)| *known == verb);
        let &(_, command, outcome) =
            found.ok_or_else(|| Refusal::NotFound(format!("the sandbox has no action '{verb}'")))?;
        (command, outcome)
    };
    if state.locked(server) {
        return Err(Refusal::Locked);
    }
    let action = state.act(command, server, outcome, now, state.settings.action_duration);
    Ok((201, json!({ "action": shape::action(&action, true) })))
}

/// The provider has two flags and demands that they be equal.
fn protection(call: &Call) -> Result<bool, Refusal> {
    let body = call.json()?;
    match (body["delete"].as_bool(), body["rebuild"].as_bool()) {
        (Some(delete), Some(rebuild)) if delete == rebuild => Ok(delete),
        _ => Err(Refusal::invalid("delete", "must be equal to rebuild")),
    }
}
