//! `GET /pricing`.

use serde_json::{Value, json};

use super::{Shelf, locations, price};

pub(crate) fn pricing() -> Value {
    let prices = |kind: &Value| json!({ "id": kind["id"], "name": kind["name"], "prices": kind["prices"] });
    let everywhere = |one: fn(&Value) -> Value| locations().iter().map(one).collect::<Vec<_>>();
    let primary = |place: &Value| {
        json!({
            "location": place["name"], "price_hourly": price("0.0008"), "price_monthly": price("0.5000"),
        })
    };
    let floating = |place: &Value| json!({ "location": place["name"], "price_monthly": price("3.0000") });
    let balancer = |place: &Value| {
        json!({
            "location": place["name"], "price_hourly": price("0.0088"), "price_monthly": price("5.3900"),
            "included_traffic": 21_990_232_555_520_u64, "price_per_tb_traffic": price("1.0000"),
        })
    };
    let kinds = |prices: Vec<Value>| ["ipv4", "ipv6"].map(|kind| json!({ "type": kind, "prices": prices }));
    json!({ "pricing": {
        "currency": "EUR", "vat_rate": "0.00",
        "server_types": Shelf::ServerTypes.entries().iter().map(prices).collect::<Vec<_>>(),
        "primary_ips": kinds(everywhere(primary)),
        "floating_ips": kinds(everywhere(floating)),
        "floating_ip": { "price_monthly": price("3.0000") },
        "volume": { "price_per_gb_month": price("0.0440") },
        "image": { "price_per_gb_month": price("0.0110") },
        "server_backup": { "percentage": "20.00" },
        "load_balancer_types": [{ "id": 1, "name": "lb11", "prices": everywhere(balancer) }],
    } })
}
