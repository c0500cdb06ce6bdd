//! The read-only part of the provider: types, images, locations, keys, prices. A few entries of each, in the
//! provider's shapes; prices are examples.

use serde_json::{Value, json};

/// A collection that is only ever listed and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shelf {
    Locations,
    ServerTypes,
    Images,
    SshKeys,
}

impl Shelf {
    /// The collection's name on the wire.
    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Locations => "locations",
            Self::ServerTypes => "server_types",
            Self::Images => "images",
            Self::SshKeys => "ssh_keys",
        }
    }

    pub(crate) const fn singular(self) -> &'static str {
        match self {
            Self::Locations => "location",
            Self::ServerTypes => "server_type",
            Self::Images => "image",
            Self::SshKeys => "ssh_key",
        }
    }

    pub(crate) fn entries(self) -> Vec<Value> {
        match self {
            Self::Locations => locations(),
            Self::ServerTypes => vec![
                server_type(22, "cpx22", 2, 4, 80, "0.0128", "7.99"),
                server_type(32, "cpx32", 4, 8, 160, "0.0224", "13.99"),
                server_type(115, "cx33", 4, 8, 80, "0.0088", "5.49"),
            ],
            Self::Images => vec![
                image(161_547_269, "ubuntu-24.04", "Ubuntu 24.04", "ubuntu", "24.04"),
                image(310_557_660, "debian-13", "Debian 13", "debian", "13"),
            ],
            Self::SshKeys => vec![ssh_key()],
        }
    }

    /// An entry by its name or by its id in decimal, as the create call accepts both.
    pub(crate) fn find(self, wanted: &str) -> Option<Value> {
        self.entries().into_iter().find(|entry| {
            entry["name"].as_str() == Some(wanted)
                || entry["id"].as_u64().is_some_and(|id| id.to_string() == wanted)
        })
    }
}

fn locations() -> Vec<Value> {
    let place = |id: u64, name: &str, country: &str, city: &str, latitude: f64, longitude: f64| {
        json!({
            "id": id, "name": name, "description": format!("{city} DC Park 1"), "country": country, "city": city,
            "latitude": latitude, "longitude": longitude, "network_zone": "eu-central",
        })
    };
    vec![
        place(1, "fsn1", "DE", "Falkenstein", 50.48, 12.37),
        place(2, "nbg1", "DE", "Nuremberg", 49.45, 11.08),
        place(3, "hel1", "FI", "Helsinki", 60.17, 24.94),
    ]
}

fn price(net: &str) -> Value {
    json!({ "net": net, "gross": net })
}

fn type_prices(hourly: &str, monthly: &str) -> Vec<Value> {
    let one = |place: Value| {
        json!({
            "location": place["name"], "price_hourly": price(hourly), "price_monthly": price(monthly),
            "included_traffic": 21_990_232_555_520_u64, "price_per_tb_traffic": price("1.0000"),
        })
    };
    locations().into_iter().map(one).collect()
}

fn server_type(
    id: u64,
    name: &str,
    cores: u32,
    memory: u32,
    disk: u32,
    hourly: &str,
    monthly: &str,
) -> Value {
    let sold = |place: Value| {
        json!({
            "id": place["id"], "name": place["name"], "deprecation": null, "available": true, "recommended": true,
        })
    };
    json!({
        "id": id, "name": name, "description": name.to_uppercase(), "cores": cores, "memory": memory, "disk": disk,
        "cpu_type": "shared", "storage_type": "local", "architecture": "x86", "category": "cost_optimized",
        "deprecated": false, "deprecation": null,
        "locations": locations().into_iter().map(sold).collect::<Vec<_>>(),
        "prices": type_prices(hourly, monthly),
    })
}

fn image(id: u64, name: &str, description: &str, flavor: &str, version: &str) -> Value {
    json!({
        "id": id, "type": "system", "status": "available", "name": name, "description": description,
        "image_size": null, "disk_size": 5, "created": "2026-01-15T00:00:00Z", "created_from": null,
        "bound_to": null, "os_flavor": flavor, "os_version": version, "rapid_deploy": true,
        "protection": { "delete": false }, "deprecated": null, "deleted": null, "labels": {}, "architecture": "x86",
    })
}

fn ssh_key() -> Value {
    json!({
        "id": 3_000_000_123_u64, "name": "sandbox", "fingerprint": "b7:2f:30:a0:2f:6c:58:6c:21:04:58:61:ba:06:3b:2f",
        "public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExample0 sandbox",
        "labels": {}, "created": "2026-01-15T00:00:00Z",
    })
}

/// `GET /pricing`.
pub(crate) fn pricing() -> Value {
    let prices = |kind: Value| json!({ "id": kind["id"], "name": kind["name"], "prices": kind["prices"] });
    let address = |kind: &str| {
        let one = |place: Value| {
            json!({
                "location": place["name"], "price_hourly": price("0.0008"), "price_monthly": price("0.5000"),
            })
        };
        json!({ "type": kind, "prices": locations().into_iter().map(one).collect::<Vec<_>>() })
    };
    json!({ "pricing": {
        "currency": "EUR", "vat_rate": "0.00",
        "server_types": Shelf::ServerTypes.entries().into_iter().map(prices).collect::<Vec<_>>(),
        "primary_ips": [address("ipv4"), address("ipv6")],
        "floating_ips": [],
        "floating_ip": { "price_monthly": price("3.0000") },
        "volume": { "price_per_gb_month": price("0.0440") },
        "image": { "price_per_gb_month": price("0.0110") },
        "server_backup": { "percentage": "20.00" },
        "load_balancer_types": [],
    } })
}
