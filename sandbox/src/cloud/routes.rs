//! What each route of the API does. An unknown route is 404, an unknown method on a known one 405.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::catalogue::{self, Shelf};
use super::create::{Order, host_name, labels};
use super::desk::Call;
use super::error::Refusal;
use super::list::{only, page};
use super::residue::COLLECTIONS;
use super::server::{Server, Status};
use super::state::{Action, Outcome, State};
use super::token::Project;
use super::{json as shape, power};

pub(crate) type Served = Result<(u16, Value), Refusal>;

/// Serves a call whose token may make it. `fails`: a creation or deletion is to fail after it was accepted.
pub(crate) fn serve(state: &mut State, call: &Call, project: Project, fails: bool, now: Timestamp) -> Served {
    let unknown = || Refusal::NotFound(format!("route '{}' not found", call.path));
    let path = call.path.strip_prefix("/v1/").ok_or_else(unknown)?;
    let segments: Vec<&str> = path.split('/').collect();
    match (call.method.as_str(), segments.as_slice()) {
        ("GET", ["servers"]) => list_servers(state, call, project),
        ("POST", ["servers"]) => create(state, &call.json()?, project, fails, now),
        ("GET", ["actions"]) if call.query.one("id").is_none() => Err(Refusal::invalid("id", "is required")),
        ("GET", ["actions"] | ["servers", "actions"]) => list_actions(state, call, project, None),
        ("GET", ["actions", id] | ["servers", "actions", id] | ["servers", _, "actions", id]) => {
            read_action(state, project, number(id)?)
        }
        ("GET", ["servers", id]) => read(state, project, number(id)?),
        ("PUT", ["servers", id]) => update(state, &call.json()?, project, number(id)?),
        ("DELETE", ["servers", id]) => {
            let server = state.server(project, number(id)?)?.clone();
            let action = state.delete(&server, fails, now)?;
            Ok((200, json!({ "action": shape::action(&action, true) })))
        }
        ("GET", ["servers", id, "actions"]) => list_actions(state, call, project, Some(number(id)?)),
        ("POST", ["servers", id, "actions", verb]) => {
            let server = state.server(project, number(id)?)?.clone();
            power::act(state, &server, verb, call, now)
        }
        ("GET", ["pricing"]) => Ok((200, catalogue::pricing())),
        ("GET", [collection, rest @ ..]) => {
            collect(state, call, project, collection, rest).unwrap_or_else(|| Err(unknown()))
        }
        (_, segments) if known(segments) => Err(Refusal::MethodNotAllowed),
        _ => Err(unknown()),
    }
}

fn known(segments: &[&str]) -> bool {
    match segments {
        ["servers", _, "actions", verb] => power::known(verb),
        ["servers" | "actions" | "pricing"]
        | ["servers" | "actions", _]
        | ["servers", "actions", _]
        | ["servers", _, "actions"] => true,
        [collection] | [collection, _] => shelf(collection).is_some() || COLLECTIONS.contains(collection),
        _ => false,
    }
}

fn shelf(collection: &str) -> Option<Shelf> {
    Shelf::ALL.into_iter().find(|shelf| shelf.plural() == collection)
}

/// The read-only collections; `None` if there is no such route.
fn collect(state: &State, call: &Call, project: Project, collection: &str, rest: &[&str]) -> Option<Served> {
    let (items, singular) = match shelf(collection) {
        Some(shelf) => (shelf.entries().to_vec(), shelf.singular()),
        None if COLLECTIONS.contains(&collection) => {
            (state.collection(project, collection), collection.trim_end_matches('s'))
        }
        None => return None,
    };
    match rest {
        [] => {
            let known = [
                "name",
                "label_selector",
                "sort",
                "type",
                "status",
                "architecture",
                "ip",
                "include_deprecated",
            ];
            let listed = only(&call.query, &known)
                .and_then(|()| page(collection, items, &call.query, &["id", "name", "created"]));
            Some(listed.map(|body| (200, body)))
        }
        [id] => {
            let item =
                items.into_iter().find(|item| item["id"].as_u64().is_some_and(|n| n.to_string() == *id));
            let missing = || Refusal::NotFound(format!("{singular} with ID '{id}' not found"));
            Some(item.ok_or_else(missing).map(|item| (200, json!({ singular: item }))))
        }
        _ => None,
    }
}

fn number(id: &str) -> Result<u64, Refusal> {
    id.parse().map_err(|_| Refusal::NotFound(format!("'{id}' not found")))
}

fn list_servers(state: &State, call: &Call, project: Project) -> Served {
    only(&call.query, &["name", "label_selector", "status", "sort"])?;
    let ours = state.servers.values().filter(|server| server.project == project);
    let mut body = page("servers", ours.map(shape::gist).collect(), &call.query, &["id", "name", "created"])?;
    for item in body["servers"].as_array_mut().into_iter().flatten() {
        if let Some(server) = item["id"].as_u64().and_then(|id| state.servers.get(&id)) {
            *item = shape::server(state, server);
        }
    }
    Ok((200, body))
}

fn read(state: &State, project: Project, id: u64) -> Served {
    let server = state.server(project, id)?;
    Ok((200, json!({ "server": shape::server(state, server) })))
}

fn read_action(state: &State, project: Project, id: u64) -> Served {
    let action = state.actions.get(&id).filter(|action| action.project == project);
    let missing = || Refusal::NotFound(format!("action with ID '{id}' not found"));
    action.ok_or_else(missing).map(|action| (200, json!({ "action": shape::action(action, false) })))
}

fn list_actions(state: &State, call: &Call, project: Project, server: Option<u64>) -> Served {
    only(&call.query, &["id", "status", "sort"])?;
    if let Some(id) = server {
        state.server(project, id)?;
    }
    let ours = |action: &&Action| action.project == project && server.is_none_or(|id| action.server == id);
    let shown = state.actions.values().filter(ours).map(|action| shape::action(action, false)).collect();
    Ok((200, page("actions", shown, &call.query, &["id", "command", "status", "started", "finished"])?))
}

fn create(state: &mut State, body: &Value, project: Project, fails: bool, now: Timestamp) -> Served {
    let order = Order::parse(body)?;
    if state.name_taken(project, &order.name, None) {
        return Err(Refusal::NameTaken);
    }
    if state.servers.values().filter(|server| server.project == project).count()
        >= state.settings.server_limit
    {
        return Err(Refusal::ServerLimit);
    }
    if !state.settings.in_stock {
        return Err(Refusal::OutOfStock);
    }
    let (start, has_key) = (order.start, order.has_key);
    let server = Server::ordered(order, state.next_server_id(), project, now);
    state.servers.insert(server.id, server.clone());
    let (takes, starts) = (state.settings.action_duration, Outcome::Becomes(Status::Running));
    let takes = state.settings.create_duration.unwrap_or(takes);
    let [made, started] = match (fails, start) {
        (true, _) => [Outcome::Fails; 2],
        (false, true) => [Outcome::Becomes(Status::Starting), starts],
        (false, false) => [Outcome::Becomes(Status::Off), starts],
    };
    if !fails {
        state.created.push((&server).into());
    }
    let action = state.act("create_server", &server, made, now, takes);
    let next: Vec<Value> = start
        .then(|| state.act("start_server", &server, started, now, takes * 2))
        .iter()
        .map(|action| shape::action(action, true))
        .collect();
    let body = json!({
        "server": shape::server(state, &server), "action": shape::action(&action, true), "next_actions": next,
        "root_password": (!has_key).then_some("sandbox-has-no-root"),
    });
    Ok((201, body))
}

fn update(state: &mut State, body: &Value, project: Project, id: u64) -> Served {
    state.server(project, id)?;
    let fields = body.as_object().ok_or_else(|| Refusal::invalid("body", "must be an object"))?;
    if let Some(strange) = fields.keys().find(|key| !["name", "labels"].contains(&key.as_str())) {
        return Err(Refusal::invalid(strange, "unknown field"));
    }
    let name = match fields.get("name") {
        None => None,
        Some(name) => Some(host_name(name.as_str().unwrap_or_default())?),
    };
    let labels = fields.get("labels").map(labels).transpose()?;
    if name.as_ref().is_some_and(|name| state.name_taken(project, name, Some(id))) {
        return Err(Refusal::NameTaken);
    }
    if let Some(server) = state.servers.get_mut(&id) {
        server.name = name.unwrap_or_else(|| server.name.clone());
        server.labels = labels.unwrap_or_else(|| server.labels.clone());
    }
    read(state, project, id)
}
