//! Images: the provider's own by name, once for each architecture, and snapshots that carry `role=node`.

use serde_json::{Value, json};

pub(super) fn all() -> Vec<Value> {
    vec![
        system(161_547_269, "ubuntu-24.04", "Ubuntu 24.04", "ubuntu", "24.04", "x86"),
        system(161_547_270, "ubuntu-24.04", "Ubuntu 24.04", "ubuntu", "24.04", "arm"),
        system(310_557_660, "debian-13", "Debian 13", "debian", "13", "x86"),
        system(310_557_661, "debian-13", "Debian 13", "debian", "13", "arm"),
        snapshot(3_100_000_001, "node, old", "2026-09-01T00:00:00Z", "x86", "available"),
        snapshot(3_100_000_002, "node", "2026-11-01T00:00:00Z", "x86", "available"),
        snapshot(3_100_000_003, "node, arm", "2026-11-02T00:00:00Z", "arm", "available"),
        // The newest of all, and not ready.
        snapshot(3_100_000_004, "node, in the making", "2026-11-30T00:00:00Z", "x86", "creating"),
    ]
}

fn system(id: u64, name: &str, description: &str, flavor: &str, version: &str, architecture: &str) -> Value {
    json!({
        "id": id, "type": "system", "status": "available", "name": name, "description": description,
        "image_size": null, "disk_size": 5, "created": "2026-01-15T00:00:00Z", "created_from": null,
        "bound_to": null, "os_flavor": flavor, "os_version": version, "rapid_deploy": true,
        "protection": { "delete": false }, "deprecated": null, "deleted": null, "labels": {},
        "architecture": architecture,
    })
}

fn snapshot(id: u64, description: &str, created: &str, architecture: &str, status: &str) -> Value {
    json!({
        "id": id, "type": "snapshot", "status": status, "name": null, "description": description,
        "image_size": 1.5, "disk_size": 40, "created": created, "created_from": null,
        "bound_to": null, "os_flavor": "debian", "os_version": null, "rapid_deploy": false,
        "protection": { "delete": false }, "deprecated": null, "deleted": null, "labels": { "role": "node" },
        "architecture": architecture,
    })
}
