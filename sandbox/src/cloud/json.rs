//! The provider's JSON shapes of servers and actions.
//!
//! `datacenter` is missing on purpose: the provider dropped it from every answer after 1 July 2026.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::catalogue::Shelf;
use super::server::Server;
use super::state::{Action, Outcome, State};

/// RFC 3339 in whole seconds, as the API writes it.
fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// An address out of the documentation ranges: it must never be anybody's.
pub(crate) fn public_ipv4(id: u64) -> String {
    format!("203.0.113.{}", id % 254 + 1)
}

pub(crate) fn server(state: &State, server: &Server) -> Value {
    let kind = Shelf::ServerTypes.find(&server.server_type).unwrap_or_default();
    let ipv4 = json!({
        "id": server.id + 1_000_000_000, "ip": public_ipv4(server.id), "blocked": false,
        "dns_ptr": format!("static.{}.clients.example.com", server.id),
    });
    let ipv6 = json!({
        "id": server.id + 2_000_000_000, "ip": format!("2001:db8:0:{:x}::/64", server.id % 0xffff),
        "blocked": false, "dns_ptr": [],
    });
    let attached: Vec<&Value> = state
        .residue
        .get("volumes")
        .into_iter()
        .flatten()
        .filter(|(_, volume)| volume["server"] == server.id)
        .map(|(_, volume)| &volume["id"])
        .collect();
    json!({
        "id": server.id, "name": server.name, "created": time(server.created), "status": server.status.as_str(),
        "locked": state.locked(server), "rescue_enabled": false, "primary_disk_size": kind["disk"],
        "public_net": {
            "ipv4": server.public.ipv4.then_some(ipv4), "ipv6": server.public.ipv6.then_some(ipv6),
            "floating_ips": [], "firewalls": [],
        },
        "private_net": [],
        "server_type": kind,
        "location": Shelf::Locations.find(&server.location),
        "image": Shelf::Images.find(&server.image),
        "iso": null, "backup_window": null,
        "outgoing_traffic": 0, "ingoing_traffic": 0, "included_traffic": 21_990_232_555_520_u64,
        "protection": { "delete": server.protected, "rebuild": server.protected },
        "labels": server.labels, "volumes": attached, "load_balancers": [], "placement_group": null,
    })
}

/// `fresh`: as the call that started it shows it, running even if it has ended by the next call.
pub(crate) fn action(action: &Action, fresh: bool) -> Value {
    let ended = action.ended && !fresh;
    let failed = ended && action.outcome == Outcome::Fails;
    let status = match (ended, failed) {
        (false, _) => "running",
        (true, true) => "error",
        (true, false) => "success",
    };
    json!({
        "id": action.id, "command": action.command, "status": status, "progress": if ended { 100 } else { 0 },
        "started": time(action.started), "finished": ended.then(|| time(action.ends)),
        "resources": [{ "id": action.server, "type": "server" }],
        "error": failed.then(|| json!({ "code": "action_failed", "message": "Action failed" })),
    })
}
