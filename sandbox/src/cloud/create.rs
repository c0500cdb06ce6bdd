//! The body of POST /servers and of PUT /servers/{id}: everything that the provider checks in it.
//!
//! Fields that this double cannot honour are refused as if what they name did not exist.

use serde::Deserialize;
use serde_json::Value;

use super::catalogue::Shelf;
use super::error::Refusal;
use super::selector::{Labels, is_key, is_value};
use super::server::Public;

/// A create call that may be carried out.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) name: String,
    pub(crate) server_type: String,
    pub(crate) image: u64,
    pub(crate) location: String,
    pub(crate) labels: Labels,
    pub(crate) user_data: Option<String>,
    pub(crate) public: Public,
    pub(crate) firewalls: Vec<u64>,
    pub(crate) networks: Vec<u64>,
    pub(crate) start: bool,
    pub(crate) has_key: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    name: String,
    server_type: NameOrId,
    image: NameOrId,
    location: Option<NameOrId>,
    #[serde(default)]
    ssh_keys: Vec<NameOrId>,
    start_after_create: Option<bool>,
    placement_group: Option<u64>,
    #[serde(default)]
    volumes: Vec<u64>,
    #[serde(rename = "automount")]
    _automount: Option<bool>,
    #[serde(default)]
    networks: Vec<u64>,
    #[serde(default)]
    firewalls: Vec<Applied>,
    user_data: Option<String>,
    #[serde(default)]
    labels: Value,
    public_net: Option<PublicNet>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Applied {
    firewall: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NameOrId {
    Name(String),
    Id(u64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicNet {
    enable_ipv4: Option<bool>,
    enable_ipv6: Option<bool>,
    ipv4: Option<u64>,
    ipv6: Option<u64>,
}

impl Order {
    /// For a server that the sandbox puts there itself.
    pub(crate) fn usual(name: String, labels: Labels, user_data: Option<String>) -> Self {
        Self {
            name,
            server_type: "cpx22".into(),
            image: 161_547_269,
            location: "fsn1".into(),
            labels,
            user_data,
            public: Public { ipv4: true, ipv6: true },
            firewalls: Vec::new(),
            networks: Vec::new(),
            start: true,
            has_key: true,
        }
    }

    pub(crate) fn parse(body: &Value) -> Result<Self, Refusal> {
        for field in ["name", "server_type", "image"] {
            if body[field].is_null() {
                return Err(Refusal::invalid(field, "is required"));
            }
        }
        let body = Body::deserialize(body).map_err(|why| Refusal::invalid("body", why.to_string()))?;
        body.refuse_unsupported()?;
        let size = stocked(Shelf::ServerTypes, &body.server_type)?;
        let net = body.public_net;
        let enabled = |asked: fn(&PublicNet) -> Option<bool>| net.as_ref().and_then(asked).unwrap_or(true);
        let order = Self {
            name: host_name(&body.name)?,
            image: image(&body.image, size)?,
            location: location(body.location.as_ref(), size)?,
            server_type: text(&size["name"]),
            labels: labels(&body.labels)?,
            user_data: body.user_data,
            public: Public { ipv4: enabled(|net| net.enable_ipv4), ipv6: enabled(|net| net.enable_ipv6) },
            firewalls: listed(Shelf::Firewalls, body.firewalls.iter().map(|applied| applied.firewall))?,
            networks: listed(Shelf::Networks, body.networks.iter().copied())?,
            start: body.start_after_create.unwrap_or(true),
            has_key: !body.ssh_keys.is_empty(),
        };
        for key in &body.ssh_keys {
            stocked(Shelf::SshKeys, key)?;
        }
        if order.user_data.as_ref().is_some_and(|data| data.len() > 32 * 1024) {
            return Err(Refusal::invalid("user_data", "is longer than 32768 bytes"));
        }
        let lonely = !order.public.ipv4 && !order.public.ipv6 && order.networks.is_empty();
        if order.start && lonely {
            return Err(Refusal::invalid("public_net", "a server without any network cannot be started"));
        }
        Ok(order)
    }
}

impl Body {
    fn refuse_unsupported(&self) -> Result<(), Refusal> {
        let addresses = self.public_net.as_ref().is_some_and(|net| net.ipv4.or(net.ipv6).is_some());
        let named = [
            ("placement_group", self.placement_group.is_some()),
            ("volumes", !self.volumes.is_empty()),
            ("public_net", addresses),
        ];
        match named.into_iter().find(|(_, asked)| *asked) {
            Some((field, _)) => Err(Refusal::invalid(field, "not found")),
            None => Ok(()),
        }
    }
}

impl NameOrId {
    fn as_text(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Id(id) => id.to_string(),
        }
    }
}

fn stocked(shelf: Shelf, wanted: &NameOrId) -> Result<&'static Value, Refusal> {
    let wanted = wanted.as_text();
    shelf.find(&wanted).ok_or_else(|| Refusal::invalid(shelf.singular(), format!("'{wanted}' not found")))
}

fn listed(shelf: Shelf, ids: impl Iterator<Item = u64>) -> Result<Vec<u64>, Refusal> {
    ids.map(|id| match shelf.find(&id.to_string()) {
        Some(_) => Ok(id),
        None => Err(Refusal::invalid(shelf.plural(), format!("'{id}' not found"))),
    })
    .collect()
}

/// One that is ready, for the size's architecture.
fn image(wanted: &NameOrId, size: &Value) -> Result<u64, Refusal> {
    let wanted = wanted.as_text();
    let found = Shelf::image(&wanted, &size["architecture"]);
    let refused = |why| Err(Refusal::invalid("image", format!("'{wanted}' {why}")));
    match found {
        None => refused("not found"),
        Some(image) if image["architecture"] != size["architecture"] => {
            refused("is not compatible with the server type's architecture")
        }
        Some(image) if image["status"] != "available" => refused("is not available"),
        Some(image) => Ok(image["id"].as_u64().unwrap_or_default()),
    }
}

/// Where the size is sold. Without a wish the provider chooses.
fn location(wanted: Option<&NameOrId>, size: &Value) -> Result<String, Refusal> {
    let name = match wanted {
        None => "fsn1".to_owned(),
        Some(wanted) => text(&stocked(Shelf::Locations, wanted)?["name"]),
    };
    let mut places = size["locations"].as_array().into_iter().flatten();
    match places.find(|place| place["name"] == name) {
        None => Err(Refusal::invalid("location", format!("server type is not sold in '{name}'"))),
        Some(place) if place["available"] == false => Err(Refusal::OutOfStock),
        Some(_) => Ok(name),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// RFC 1123: letters, digits, `-`, dots between labels of at most 63.
pub(crate) fn host_name(name: &str) -> Result<String, Refusal> {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    if name.len() <= 253 && name.split('.').all(label) {
        Ok(name.to_owned())
    } else {
        Err(Refusal::invalid("name", "is not a valid hostname"))
    }
}

pub(crate) fn labels(labels: &Value) -> Result<Labels, Refusal> {
    let refused = |why: String| Refusal::invalid("labels", why);
    if labels.is_null() {
        return Ok(Labels::new());
    }
    let map = labels.as_object().ok_or_else(|| refused("must be an object".into()))?;
    map.iter()
        .map(|(key, value)| match value.as_str() {
            _ if !is_key(key) || key.starts_with("hetzner.cloud/") => {
                Err(refused(format!("invalid key '{key}'")))
            }
            Some(value) if is_value(value) => Ok((key.clone(), value.to_owned())),
            _ => Err(refused(format!("invalid value of '{key}'"))),
        })
        .collect()
}
