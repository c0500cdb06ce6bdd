//! Sizes: both architectures, both kinds of cores, and one of each that cannot or should not be had.

use serde_json::{Value, json};

use super::{locations, price};

/// Not sold there.
const NOT_IN: (&str, &str) = ("cax31", "hel1");
/// No host has room for one.
const SOLD_OUT: &str = "cx43";
/// Announced to be withdrawn.
const DEPRECATED: &str = "cx22";

pub(super) fn all() -> Vec<Value> {
    let (x86, arm, shared, dedicated) = ("x86", "arm", "shared", "dedicated");
    vec![
        size(22, "cpx22", (2, 4, 80), (x86, shared), ("0.0128", "7.99")),
        size(32, "cpx32", (4, 8, 160), (x86, shared), ("0.0224", "13.99")),
        size(104, DEPRECATED, (2, 4, 40), (x86, shared), ("0.0060", "3.79")),
        size(115, "cx33", (4, 8, 80), (x86, shared), ("0.0088", "5.49")),
        // The same price as cx33.
        size(116, "cx33s", (4, 8, 40), (x86, shared), ("0.0088", "5.49")),
        size(117, SOLD_OUT, (8, 16, 160), (x86, shared), ("0.0152", "9.49")),
        size(93, "cax21", (4, 8, 80), (arm, shared), ("0.0104", "6.49")),
        size(94, NOT_IN.0, (8, 16, 160), (arm, shared), ("0.0200", "12.49")),
        size(97, "ccx13", (2, 8, 80), (x86, dedicated), ("0.0200", "12.49")),
        size(98, "ccx23", (4, 16, 160), (x86, dedicated), ("0.0392", "24.49")),
    ]
}

fn size(
    id: u64,
    name: &str,
    (cores, memory, disk): (u32, u32, u32),
    (architecture, cpu_type): (&str, &str),
    (hourly, monthly): (&str, &str),
) -> Value {
    let deprecation = (name == DEPRECATED)
        .then(|| json!({ "announced": "2026-10-01T00:00:00Z", "unavailable_after": "2027-04-01T00:00:00Z" }));
    let sold = |place: &Value| {
        json!({
            "id": place["id"], "name": place["name"], "deprecation": deprecation,
            "available": name != SOLD_OUT, "recommended": deprecation.is_none(),
        })
    };
    let priced = |place: &Value| {
        json!({
            "location": place["name"], "price_hourly": price(hourly), "price_monthly": price(monthly),
            "included_traffic": 21_990_232_555_520_u64, "price_per_tb_traffic": price("1.0000"),
        })
    };
    let mut places = locations();
    places.retain(|place| name != NOT_IN.0 || place["name"] != NOT_IN.1);
    json!({
        "id": id, "name": name, "description": name.to_uppercase(), "cores": cores, "memory": memory, "disk": disk,
        "cpu_type": cpu_type, "storage_type": "local", "architecture": architecture, "category": "cost_optimized",
        "deprecated": deprecation.is_some(), "deprecation": deprecation,
        "locations": places.iter().map(sold).collect::<Vec<_>>(),
        "prices": places.iter().map(priced).collect::<Vec<_>>(),
    })
}
