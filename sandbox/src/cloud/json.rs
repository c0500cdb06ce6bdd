//! The provider's JSON shapes of servers and actions.
//!
//! `datacenter` is missing on purpose: the provider dropped it from every answer after 1 July 2026.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::catalogue::Shelf;
use super::residue::{ipv6_network, own_address_id};
use super::server::Server;
use super::state::{Action, Outcome, State};

/// RFC 3339 in whole seconds, as the API writes it.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// An address out of the documentation ranges: it must never be anybody's.
pub(crate) fn public_ipv4(id: u64) -> String {
    format!("203.0.113.{}", id % 254 + 1)
}

/// In the private network that this double has.
fn private(server: &Server, network: u64) -> Value {
    let (high, low) = (server.id / 250 % 250 + 1, server.id % 250 + 2);
    json!({
        "network": network, "ip": format!("10.0.{high}.{low}"), "alias_ips": [],
        "mac_address": format!("86:00:00:00:{high:02x}:{low:02x}"),
    })
}

/// The server's own address, unless another was assigned to it.
fn public(state: &State, server: &Server, kind: &str, own: String) -> Value {
    let assigned = state.assigned_address(server.id, kind);
    let (id, ip) = match assigned {
        Some(address) => (address["id"].clone(), address["ip"].clone()),
        None => (own_address_id(server.id, kind).into(), own.into()),
    };
    let dns_ptr =
        if kind == "ipv4" { format!("static.{}.clients.example.com", server.id).into() } else { json!([]) };
    json!({ "id": id, "ip": ip, "blocked": false, "dns_ptr": dns_ptr })
}

pub(crate) fn server(state: &State, server: &Server) -> Value {
    let kind = Shelf::ServerTypes.find(&server.server_type);
    let public = |enabled: bool, kind, own| enabled.then(|| public(state, server, kind, own));
    let firewall = |id: &u64| json!({ "id": id, "status": "applied" });
    json!({
        "id": server.id, "name": server.name, "created": time(server.created), "status": server.status.as_str(),
        "locked": state.locked(server), "rescue_enabled": false,
        "primary_disk_size": kind.map(|kind| &kind["disk"]),
        "public_net": {
            "ipv4": public(server.public.ipv4, "ipv4", public_ipv4(server.id)),
            "ipv6": public(server.public.ipv6, "ipv6", ipv6_network(server.id)),
            "floating_ips": state.held("floating_ips", server.id),
            "firewalls": server.firewalls.iter().map(firewall).collect::<Vec<_>>(),
        },
        "private_net": server.networks.iter().map(|id| private(server, *id)).collect::<Vec<_>>(),
        "server_type": kind,
        "location": Shelf::Locations.find(&server.location),
        "image": Shelf::Images.find(&server.image.to_string()),
        "iso": null, "backup_window": null,
        "outgoing_traffic": 0, "ingoing_traffic": 0, "included_traffic": 21_990_232_555_520_u64,
        "protection": { "delete": server.protected, "rebuild": server.protected },
        "labels": server.labels, "volumes": state.held("volumes", server.id),
        "load_balancers": state.held("load_balancers", server.id), "placement_group": null,
    })
}

/// What a list is filtered and sorted by. The whole of a server is shown only where it is on the page.
pub(crate) fn gist(server: &Server) -> Value {
    json!({
        "id": server.id, "name": server.name, "created": time(server.created), "status": server.status.as_str(),
        "labels": server.labels,
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
