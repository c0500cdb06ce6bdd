//! What may outlive a server: volumes, addresses, load balancers. How a server shows them, how it lets go of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::catalogue::Shelf;
use super::json::{public_ipv4, time};
use super::server::Server;
use super::state::State;
use super::token::Project;

/// Their collections.
pub(crate) const COLLECTIONS: [&str; 4] = ["volumes", "primary_ips", "floating_ips", "load_balancers"];

/// Everything that was put there, as the API shows it, by collection.
pub(crate) type Residue = BTreeMap<String, Vec<(Project, Value)>>;

impl State {
    /// What a project sees in a collection. Addresses made with a server are there as long as the server is.
    pub(crate) fn collection(&self, project: Project, name: &str) -> Vec<Value> {
        let put = self.residue.get(name).into_iter().flatten();
        let mut items: Vec<Value> =
            put.filter(|(owner, _)| *owner == project).map(|(_, item)| item.clone()).collect();
        if name == "primary_ips" {
            let ours = self.servers.values().filter(|server| server.project == project);
            items.extend(ours.flat_map(|server| self.own_addresses(server)));
        }
        items
    }

    /// The ids of what this server holds.
    pub(crate) fn held(&self, collection: &str, server: u64) -> Vec<&Value> {
        let items = self.residue.get(collection).into_iter().flatten().map(|(_, item)| item);
        items.filter(|item| holds(item, server)).map(|item| &item["id"]).collect()
    }

    /// The address that stands in for the server's own, if one was assigned to it.
    pub(crate) fn assigned_address(&self, server: u64, kind: &str) -> Option<&Value> {
        let items = self.residue.get("primary_ips").into_iter().flatten().map(|(_, item)| item);
        items.into_iter().find(|item| holds(item, server) && item["type"] == kind)
    }

    fn own_addresses(&self, server: &Server) -> Vec<Value> {
        let own = |kind: &&str| self.assigned_address(server.id, kind).is_none();
        ["ipv4", "ipv6"].into_iter().filter(own).filter_map(|kind| own_address(server, kind)).collect()
    }

    /// The server is gone: what was its own goes with it, the rest stays and costs.
    pub(crate) fn let_go(&mut self, server: u64) {
        for items in self.residue.values_mut() {
            items.retain(|(_, item)| !(item["assignee_id"] == server && item["auto_delete"] == true));
            items
                .iter_mut()
                .filter(|(_, item)| holds(item, server))
                .for_each(|(_, item)| release(item, server));
        }
    }
}

fn holds(item: &Value, server: u64) -> bool {
    item["server"] == server || item["assignee_id"] == server || targets(item).any(|target| target == server)
}

fn targets(item: &Value) -> impl Iterator<Item = &Value> {
    item["targets"].as_array().into_iter().flatten().map(|target| &target["server"]["id"])
}

fn release(item: &mut Value, server: u64) {
    if item["server"] == server {
        item["server"] = Value::Null;
    }
    if item["assignee_id"] == server {
        item["assignee_id"] = Value::Null;
        item["assignee_type"] = "unassigned".into();
    }
    if let Some(targets) = item.get_mut("targets").and_then(Value::as_array_mut) {
        targets.retain(|target| target["server"]["id"] != server);
    }
}

/// The id of the address of this kind that is made, and goes, with the server.
pub(crate) const fn own_address_id(server: u64, kind: &str) -> u64 {
    // Apart from each other and from every server's.
    if matches!(kind.as_bytes(), b"ipv4") { server + 1_000_000_000 } else { server + 2_000_000_000 }
}

pub(crate) fn ipv6_network(id: u64) -> String {
    format!("2001:db8:0:{:x}::/64", id % 0xffff)
}

fn own_address(server: &Server, kind: &str) -> Option<Value> {
    let (enabled, ip) = match kind {
        "ipv4" => (server.public.ipv4, public_ipv4(server.id)),
        _ => (server.public.ipv6, ipv6_network(server.id)),
    };
    let id = own_address_id(server.id, kind);
    enabled.then(|| {
        json!({
            "id": id, "name": format!("primary_ip-{id}"), "type": kind, "ip": ip, "assignee_type": "server",
            "assignee_id": server.id, "auto_delete": true, "blocked": false, "protection": { "delete": false },
            "labels": {}, "dns_ptr": [], "created": time(server.created),
            "location": Shelf::Locations.find(&server.location),
        })
    })
}
