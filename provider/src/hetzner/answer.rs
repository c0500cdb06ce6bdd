//! What Hetzner's answers mean. Branches on `error.code`, since one status has several remedies (423 is `locked`
//! or `protected`, 401 is a bad token or a read-only one); falls back to the status where the body is a proxy's.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use crate::{Answer, Attached, Caller, Listing, Outcome, Server, ServerId, ServerStatus};

/// The server in an answer that carries one.
pub(super) fn server(answer: &Answer, caller: Caller) -> Result<Server, Outcome> {
    let body: ServerBody = read(answer, caller)?;
    body.server.parse()
}

/// The page in an answer to a list.
pub(super) fn listing(answer: &Answer) -> Result<Listing, Outcome> {
    let body: ListBody = read(answer, Caller::Another)?;
    let servers = body.servers.into_iter().map(Wire::parse).collect::<Result<_, _>>()?;
    Ok(Listing { servers, next_page: body.meta.pagination.next_page })
}

/// The meaning of an answer to a write.
pub(super) fn outcome(answer: &Answer, caller: Caller) -> Outcome {
    if (200..300).contains(&answer.status) {
        return Outcome::Accepted;
    }
    match code(answer).as_deref() {
        Some("token_readonly") => Outcome::ReadOnly,
        Some("unauthorized" | "forbidden") => Outcome::Forbidden,
        Some("locked") => Outcome::Locked,
        Some("protected") => Outcome::Protected,
        Some("not_found") => match caller {
            Caller::Another => Outcome::Gone,
            Caller::TheServerItself => Outcome::WrongProject,
        },
        // A bare 401 or 403 is a proxy's or a new code's; it is shown as denied, and tried again all the same.
        None if matches!(answer.status, 401 | 403) => Outcome::Forbidden,
        // Everything else, a 404 without the API's own code included, decides nothing.
        _ => Outcome::Retry { after: answer.retry_after },
    }
}

pub(super) fn read<'a, T: Deserialize<'a>>(answer: &'a Answer, caller: Caller) -> Result<T, Outcome> {
    match outcome(answer, caller) {
        Outcome::Accepted => serde_json::from_slice(&answer.body).map_err(|_| Outcome::Retry { after: None }),
        refused => Err(refused),
    }
}

/// The API's own error code, where the body is the API's own.
fn code(answer: &Answer) -> Option<String> {
    serde_json::from_slice::<ErrorBody>(&answer.body).ok().map(|body| body.error.code)
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorCode,
}

#[derive(Deserialize)]
struct ErrorCode {
    code: String,
}

#[derive(Deserialize)]
struct ServerBody {
    server: Wire,
}

#[derive(Deserialize)]
struct ListBody {
    servers: Vec<Wire>,
    meta: Meta,
}

#[derive(Deserialize)]
pub(super) struct Meta {
    pub(super) pagination: Pagination,
}

#[derive(Deserialize)]
pub(super) struct Pagination {
    pub(super) next_page: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct Wire {
    id: u64,
    name: String,
    created: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    protection: Option<Protection>,
    public_net: Option<PublicNet>,
    #[serde(default)]
    private_net: Vec<PrivateNet>,
    server_type: Option<Name>,
    location: Option<Name>,
    status: Option<String>,
    #[serde(default)]
    volumes: Vec<u64>,
    #[serde(default)]
    load_balancers: Vec<u64>,
}

#[derive(Deserialize)]
struct Protection {
    delete: bool,
}

#[derive(Deserialize)]
struct PublicNet {
    ipv4: Option<Address>,
    ipv6: Option<Address>,
    #[serde(default)]
    floating_ips: Vec<u64>,
}

#[derive(Deserialize)]
struct Address {
    id: Option<u64>,
    ip: String,
}

#[derive(Deserialize)]
struct PrivateNet {
    ip: String,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

impl Wire {
    pub(super) fn parse(self) -> Result<Server, Outcome> {
        let named = |name: Option<Name>| name.map(|n| n.name).unwrap_or_default();
        let net = self.public_net.unwrap_or(PublicNet { ipv4: None, ipv6: None, floating_ips: Vec::new() });
        let addresses = [&net.ipv4, &net.ipv6].into_iter().flatten();
        Ok(Server {
            id: ServerId::try_from(self.id).map_err(|_| Outcome::Retry { after: None })?,
            name: self.name,
            created: self.created.and_then(|t| t.parse::<Timestamp>().ok()),
            labels: self.labels,
            private_ipv4: self.private_net.into_iter().map(|net| net.ip).collect(),
            protected: self.protection.is_some_and(|p| p.delete),
            size: named(self.server_type),
            region: named(self.location),
            status: status(self.status.as_deref()),
            attached: Attached {
                volumes: self.volumes,
                floating_ips: net.floating_ips,
                primary_ips: addresses.filter_map(|address| address.id).collect(),
                load_balancers: self.load_balancers,
            },
            public_ipv4: net.ipv4.map(|address| address.ip),
        })
    }
}

fn status(text: Option<&str>) -> ServerStatus {
    match text {
        Some("initializing") => ServerStatus::Initializing,
        Some("starting") => ServerStatus::Starting,
        Some("running") => ServerStatus::Running,
        Some("stopping") => ServerStatus::Stopping,
        Some("off") => ServerStatus::Off,
        Some("deleting") => ServerStatus::Deleting,
        _ => ServerStatus::Other,
    }
}
