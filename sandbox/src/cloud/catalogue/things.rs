//! What an order may name besides size and image: a key, a firewall, a network. One of each, called `sandbox`.

use serde_json::{Value, json};

const SINCE: &str = "2026-01-15T00:00:00Z";

pub(super) fn ssh_keys() -> Vec<Value> {
    vec![json!({
        "id": 3_000_000_123_u64, "name": "sandbox", "fingerprint": "b7:2f:30:a0:2f:6c:58:6c:21:04:58:61:ba:06:3b:2f",
        "public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExample0 sandbox",
        "labels": {}, "created": SINCE,
    })]
}

pub(super) fn firewalls() -> Vec<Value> {
    vec![json!({
        "id": 3_000_000_201_u64, "name": "sandbox", "labels": {}, "created": SINCE, "rules": [], "applied_to": [],
    })]
}

/// A server's address in it follows from the server's id.
pub(super) fn networks() -> Vec<Value> {
    vec![json!({
        "id": 3_000_000_301_u64, "name": "sandbox", "ip_range": "10.0.0.0/16", "subnets": [], "routes": [],
        "servers": [], "load_balancers": [], "protection": { "delete": false }, "labels": {}, "created": SINCE,
        "expose_routes_to_vswitch": false,
    })]
}
