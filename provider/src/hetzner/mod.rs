//! Hetzner Cloud: the requests of a machine. What the answers mean is in `answer`; renting is in `renting`.
//!
//! Source of every fact here: the API description at <https://docs.hetzner.cloud/reference/cloud>.

mod answer;
mod image;
mod order;
mod renting;
mod residue;
mod shelf;

use serde_json::json;

use crate::{Answer, Caller, Driver, Listing, Method, Outcome, Request, Server, ServerId, Token};

/// Where the API is, unless `HCLOUD_ENDPOINT` says otherwise.
pub const ENDPOINT: &str = "https://api.hetzner.cloud/v1";

/// Where the metadata service is. Link-local: no token, plain HTTP, readable by every process on the machine.
pub const METADATA: &str = "http://169.254.169.254";

/// The driver.
#[derive(Clone, Debug)]
pub struct Hetzner {
    endpoint: String,
}

impl Hetzner {
    /// A driver for the API at `endpoint`, which includes the `/v1`.
    #[must_use]
    pub fn new(endpoint: &str) -> Self {
        Self { endpoint: endpoint.trim_end_matches('/').to_owned() }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&serde_json::Value>,
        token: &Token,
    ) -> Request {
        let url = format!("{}{path}", self.endpoint);
        Request { method, url, body: body.map(ToString::to_string), token: token.clone() }
    }
}

impl Driver for Hetzner {
    fn provider_id(&self, id: ServerId) -> String {
        format!("{PROVIDER_ID}{id}")
    }

    fn server_id(&self, provider_id: &str) -> Option<ServerId> {
        provider_id.strip_prefix(PROVIDER_ID)?.parse().ok()
    }

    fn whoami(&self, sys_vendor: &str, product_serial: &str) -> Option<ServerId> {
        if sys_vendor.trim() == "Hetzner" { product_serial.trim().parse().ok() } else { None }
    }

    fn metadata_path(&self) -> &'static str {
        "/hetzner/v1/metadata/instance-id"
    }

    fn whoami_metadata(&self, body: &str) -> Option<ServerId> {
        body.trim().parse().ok()
    }

    fn read(&self, id: ServerId, token: &Token) -> Request {
        self.request(Method::Get, &format!("/servers/{id}"), None, token)
    }

    fn server(&self, answer: &Answer, caller: Caller) -> Result<Server, Outcome> {
        answer::server(answer, caller)
    }

    fn list(&self, (label, value): (&str, &str), page: u32, token: &Token) -> Request {
        let selector = encode(&format!("{label}=={value}"));
        self.request(
            Method::Get,
            &format!("/servers?label_selector={selector}&page={page}&per_page=50"),
            None,
            token,
        )
    }

    fn listing(&self, answer: &Answer) -> Result<Listing, Outcome> {
        answer::listing(answer)
    }

    /// Writes the server's own name over itself. The only no-op whose success also proves that *this* server is in
    /// the token's project; labels are not used, since they are replaced whole and another writer's would be lost.
    fn probe_write(&self, server: &Server, token: &Token) -> Request {
        let body = json!({ "name": server.name });
        self.request(Method::Put, &format!("/servers/{}", server.id), Some(&body), token)
    }

    fn delete(&self, id: ServerId, token: &Token) -> Request {
        self.request(Method::Delete, &format!("/servers/{id}"), None, token)
    }

    fn lift_protection(&self, id: ServerId, token: &Token) -> Request {
        // The two flags must be equal.
        let body = json!({ "delete": false, "rebuild": false });
        self.request(Method::Post, &format!("/servers/{id}/actions/change_protection"), Some(&body), token)
    }

    fn deleted(&self, answer: &Answer, caller: Caller) -> Outcome {
        answer::outcome(answer, caller)
    }
}

/// Percent-encodes what a query value must not hold as it is.
fn encode(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    value.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// Of a Node's `spec.providerID`. Set by Hetzner's cloud controller manager; must not be changed.
const PROVIDER_ID: &str = "hcloud://";

#[cfg(test)]
mod tests;
