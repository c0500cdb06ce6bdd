//! The create call, and what its answer means; actions.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{self, Wire};
use crate::{ActionId, Answer, Caller, Created, NotCreated, Order, Outcome, Progress};

/// The body of POST /servers.
pub(super) fn body(order: &Order) -> Value {
    let firewalls: Vec<Value> = order.firewalls.iter().map(|id| json!({ "firewall": id })).collect();
    let mut body = json!({
        "name": order.name,
        "server_type": order.size,
        "location": order.region,
        // A name or an id, and text in either case.
        "image": order.image.to_string(),
        "ssh_keys": order.ssh_keys,
        "firewalls": firewalls,
        "networks": order.networks,
        "public_net": { "enable_ipv4": order.public_ipv4, "enable_ipv6": order.public_ipv6 },
        "labels": order.labels,
        "start_after_create": true,
    });
    if let Some(data) = &order.user_data {
        body["user_data"] = data.reveal().into();
    }
    body
}

/// What came of it. A 201 that cannot be read is [`Outcome::Retry`]: the server exists, and is found by its name.
pub(super) fn created(answer: &Answer) -> Result<Created, NotCreated> {
    match answer::outcome(answer, Caller::Another) {
        Outcome::Accepted => {}
        outcome => return Err(refusal(answer, outcome)),
    }
    let unread = NotCreated::Refused(Outcome::Retry { after: None });
    let body: CreatedBody = serde_json::from_slice(&answer.body).map_err(|_| unread.clone())?;
    let actions = std::iter::once(body.action).chain(body.next_actions);
    Ok(Created {
        actions: actions.filter_map(|action| action.id.try_into().ok()).collect(),
        server: body.server.parse().map_err(|_| unread)?,
    })
}

/// Codes of the create call. What is not known here was not judged, unless the status says that it was.
fn refusal(answer: &Answer, outcome: Outcome) -> NotCreated {
    let Ok(Refusal { error }) = serde_json::from_slice(&answer.body) else {
        return NotCreated::Refused(outcome);
    };
    let invalid = |field: Option<String>| NotCreated::Invalid {
        field: field.unwrap_or_default(),
        message: error.message.clone(),
    };
    let field = error.details.as_ref().and_then(|details| details.fields.first()).map(|f| f.name.clone());
    match error.code.as_str() {
        "uniqueness_error" if field.as_deref().is_none_or(|field| field == "name") => NotCreated::NameTaken,
        "resource_unavailable" | "placement_error" | "no_space_left_in_location" => NotCreated::OutOfStock,
        "resource_limit_exceeded" => NotCreated::Quota(error.message),
        "service_error" | "conflict" | "locked" => NotCreated::Refused(outcome),
        // An image, key or network that the order names by id.
        "json_error" | "not_found" => invalid(field),
        _ if matches!(answer.status, 409 | 412 | 422) => invalid(field),
        _ => NotCreated::Refused(outcome),
    }
}

/// How an action fares. A status that is not known yet is one of an action that has not ended.
pub(super) fn progress(answer: &Answer) -> Result<Progress, Outcome> {
    let body: ActionBody = answer::read(answer, Caller::Another)?;
    Ok(match body.action.status.as_deref() {
        Some("success") => Progress::Done,
        Some("error") => {
            let error = body.action.error.unwrap_or_default();
            Progress::Failed { code: error.code, message: error.message }
        }
        _ => Progress::Running,
    })
}

/// The action that a write started.
pub(super) fn started(answer: &Answer) -> Option<ActionId> {
    let body: ActionBody = serde_json::from_slice(&answer.body).ok()?;
    body.action.id.try_into().ok()
}

#[derive(Deserialize)]
struct CreatedBody {
    server: Wire,
    action: Action,
    #[serde(default)]
    next_actions: Vec<Action>,
}

#[derive(Deserialize)]
struct ActionBody {
    action: Action,
}

#[derive(Deserialize)]
struct Action {
    id: u64,
    status: Option<String>,
    error: Option<ActionError>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ActionError {
    code: String,
    message: String,
}

#[derive(Deserialize)]
struct Refusal {
    error: RefusalError,
}

#[derive(Deserialize)]
struct RefusalError {
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default, deserialize_with = "lenient")]
    details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    fields: Vec<Field>,
}

#[derive(Deserialize)]
struct Field {
    name: String,
}

/// Details differ from code to code; those that are not understood must not hide the code.
fn lenient<'de, D: serde::Deserializer<'de>>(details: D) -> Result<Option<Details>, D::Error> {
    Ok(Details::deserialize(Value::deserialize(details)?).ok())
}
