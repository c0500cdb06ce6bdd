//! The metadata service, for every machine under its own prefix: on loopback the source address cannot tell
//! machines apart. `<prefix>/<id>` stands for `http://169.254.169.254`.
//!
//! Knows no token and no budget, like the real one.

use super::catalogue::Shelf;
use super::json::public_ipv4;
use super::server::Server;
use super::state::State;

/// Paths that begin so are metadata calls.
pub(crate) const PREFIX: &str = "/machines/";

/// Status and text of `<id>/hetzner/v1/...`.
pub(crate) fn read(state: &State, method: &str, path: &str) -> (u16, String) {
    let missing = || (404, "not found\n".to_owned());
    let Some((id, path)) = path.split_once('/') else { return missing() };
    let Some(server) = id.parse().ok().and_then(|id: u64| state.servers.get(&id)) else { return missing() };
    let Some(path) = path.strip_prefix("hetzner/v1/") else { return missing() };
    if method != "GET" {
        return (405, "method not allowed\n".into());
    }
    let text = match path {
        "userdata" => server.user_data.clone(),
        "metadata" => Some(document(server)),
        _ => path.strip_prefix("metadata/").and_then(|field| self::field(server, field)),
    };
    text.map_or_else(missing, |text| (200, text))
}

fn field(server: &Server, name: &str) -> Option<String> {
    let place = Shelf::Locations.find(&server.location);
    match name {
        "hostname" => Some(server.name.clone()),
        "instance-id" => Some(server.id.to_string()),
        "public-ipv4" => Some(if server.public.ipv4 { public_ipv4(server.id) } else { String::new() }),
        "local-ipv4" => Some(String::new()),
        "region" => place.and_then(|place| place["network_zone"].as_str()).map(str::to_owned),
        "availability-zone" => Some(format!("{}-dc1", server.location)),
        "private-networks" | "public-keys" => Some("[]".into()),
        _ => None,
    }
}

fn document(server: &Server) -> String {
    let names = [
        "availability-zone",
        "hostname",
        "instance-id",
        "local-ipv4",
        "public-ipv4",
        "region",
        "public-keys",
    ];
    let line = |name: &str| format!("{name}: {}", field(server, name).unwrap_or_default());
    names.map(line).join("\n") + "\n" + NETWORK
}

/// What cloud-init sets up at each boot. The real one names the card by its hardware address as well.
const NETWORK: &str = "network-config:
  version: 1
  config:
  - type: physical
    name: eth0
    subnets:
    - type: dhcp4
";
