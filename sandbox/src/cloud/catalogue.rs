//! The read-only part of the provider: sizes, images, locations, keys, firewalls, networks, prices. A few entries of
//! each, in the provider's shapes, the same for every project; prices are examples.

mod images;
mod prices;
mod sizes;
mod things;

use std::sync::LazyLock;

use serde_json::{Value, json};

pub(crate) use self::prices::pricing;

/// A collection that is only ever listed and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shelf {
    Firewalls,
    Images,
    Locations,
    Networks,
    ServerTypes,
    SshKeys,
}

impl Shelf {
    pub(crate) const ALL: [Self; 6] =
        [Self::Firewalls, Self::Images, Self::Locations, Self::Networks, Self::ServerTypes, Self::SshKeys];

    /// The collection's name on the wire.
    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Firewalls => "firewalls",
            Self::Images => "images",
            Self::Locations => "locations",
            Self::Networks => "networks",
            Self::ServerTypes => "server_types",
            Self::SshKeys => "ssh_keys",
        }
    }

    pub(crate) const fn singular(self) -> &'static str {
        match self {
            Self::Firewalls => "firewall",
            Self::Images => "image",
            Self::Locations => "location",
            Self::Networks => "network",
            Self::ServerTypes => "server_type",
            Self::SshKeys => "ssh_key",
        }
    }

    /// Built once: every server in every list carries its size, its image and its location.
    pub(crate) fn entries(self) -> &'static [Value] {
        static ALL: [LazyLock<Vec<Value>>; 6] = [
            LazyLock::new(things::firewalls),
            LazyLock::new(images::all),
            LazyLock::new(locations),
            LazyLock::new(things::networks),
            LazyLock::new(sizes::all),
            LazyLock::new(things::ssh_keys),
        ];
        &ALL[self as usize]
    }

    /// An entry by its name or by its id in decimal, as the create call accepts both.
    pub(crate) fn find(self, wanted: &str) -> Option<&'static Value> {
        let mut entries = self.entries().iter();
        entries.find(|entry| entry["name"] == wanted || has_id(entry, wanted))
    }

    /// An image by its id, or by its name among those for `architecture`: a name exists once for each.
    pub(crate) fn image(wanted: &str, architecture: &Value) -> Option<&'static Value> {
        let fits = |entry: &&Value| {
            has_id(entry, wanted) || (entry["name"] == wanted && entry["architecture"] == *architecture)
        };
        Self::Images.entries().iter().find(fits)
    }
}

fn has_id(entry: &Value, wanted: &str) -> bool {
    entry["id"].as_u64().is_some_and(|id| id.to_string() == wanted)
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
