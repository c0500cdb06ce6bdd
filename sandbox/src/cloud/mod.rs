//! A loopback Hetzner Cloud: real sockets, the provider's shapes and refusals, a ledger of every call, and faults
//! that can be switched on while it runs.
//!
//! ```text
//! door ─▶ serve ─▶ desk ─▶ routes ─▶ state       sockets · bytes · who and what fault · meaning · what exists
//! ```
//!
//! Everything from `desk` on is pure. What is not supported is refused as the provider would; nothing is ever
//! quietly accepted. It opens ports on 127.0.0.1 unless told another address, and its tokens guard nothing.

mod catalogue;
mod console;
mod create;
mod desk;
mod door;
mod error;
mod fault;
mod json;
mod ledger;
mod list;
mod metadata;
mod power;
mod residue;
mod routes;
mod selector;
mod serve;
mod server;
mod state;
mod token;

#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::ServerConfig;

pub use self::door::Mode;
pub use self::fault::{Effect, Fault, FaultId};
pub use self::ledger::Entry;
pub use self::selector::Labels;
pub use self::server::{Created, Public, Server, Status};
pub use self::state::{Kill, Settings};
pub use self::token::{Access, Caller, Project};

use self::{create::Order, door::Door, serve::Shared, state::State};

/// How to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens: 127.0.0.1, unless machines in network namespaces of their own must reach it.
    pub listen: IpAddr,
    /// Port of the plain HTTP API; 0 takes a free one.
    pub port: u16,
    /// Serves the API on a second port over TLS with this; HTTP/1.1 only, so it must offer no other protocol.
    pub tls: Option<Arc<ServerConfig>>,
    /// Can be changed later by [`Cloud::configure`].
    pub settings: Settings,
}

impl Default for Options {
    fn default() -> Self {
        Self { listen: Ipv4Addr::LOCALHOST.into(), port: 0, tls: None, settings: Settings::default() }
    }
}

/// A server that simply exists and runs, without a create call.
#[derive(Clone, Debug)]
pub struct ServerSpec {
    /// Unique within the project; not checked.
    pub name: String,
    /// Labels.
    pub labels: Labels,
    /// Whose it is.
    pub project: Project,
    /// When it was created; `None`: now.
    pub created: Option<Timestamp>,
    /// Served at the metadata endpoint.
    pub user_data: Option<String>,
}

impl ServerSpec {
    /// A server of the sandbox's own project.
    #[must_use]
    pub fn new(name: &str, labels: &[(&str, &str)]) -> Self {
        let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        Self { name: name.into(), labels, project: Project::OURS, created: None, user_data: None }
    }
}

/// The running cloud. Dropping it closes its ports.
pub struct Cloud {
    shared: Arc<Shared>,
    http: Door,
    https: Option<Door>,
    metadata: Door,
}

impl Cloud {
    /// Opens the ports. Must be called within a tokio runtime. Fails if the given port is taken.
    pub async fn start(options: Options) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        shared.with(|state, _| {
            state.settings = options.settings;
            state.salt = RandomState::new().build_hasher().finish();
        });
        let at = |port| (options.listen, port).into();
        let http = Door::open(at(options.port), None, Arc::clone(&shared)).await?;
        let metadata = Door::open(at(0), None, Arc::clone(&shared)).await?;
        let https = match options.tls {
            Some(tls) => Some(Door::open(at(0), Some(tls), Arc::clone(&shared)).await?),
            None => None,
        };
        Ok(Self { shared, http, https, metadata })
    }

    /// What belongs into `HCLOUD_ENDPOINT`: `http://ADDRESS:PORT/v1`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}/v1", self.http.address)
    }

    /// The same over TLS, if it was started with that.
    #[must_use]
    pub fn tls_endpoint(&self) -> Option<String> {
        self.https.as_ref().map(|door| format!("https://{}/v1", door.address))
    }

    /// Stands for `http://169.254.169.254` as this server sees it; `/hetzner/v1/metadata` follows. It stays up
    /// when the API is down.
    #[must_use]
    pub fn metadata_endpoint(&self, id: u64) -> String {
        format!("http://{}{}{id}", self.metadata.address, metadata::PREFIX)
    }

    /// Status and text of a GET of `path` (`/hetzner/v1/…`), for whoever serves metadata at its real address.
    #[must_use]
    pub fn metadata(&self, id: u64, path: &str) -> (u16, String) {
        self.shared.look(|state| metadata::read(state, "GET", &format!("{id}{path}")))
    }

    /// Takes the API down, or brings it back on the same ports. Returns when that is so.
    pub async fn set_api(&self, mode: Mode) -> io::Result<()> {
        self.http.set(mode).await?;
        match &self.https {
            Some(door) => door.set(mode).await,
            None => Ok(()),
        }
    }

    /// Changes how the provider behaves from now on.
    pub fn configure(&self, change: impl FnOnce(&mut Settings)) {
        self.shared.with(|state, _| change(&mut state.settings));
    }

    /// A new token. `holder` is what the ledger calls its bearer.
    #[must_use]
    pub fn issue_token(&self, project: Project, access: Access, holder: &str) -> String {
        self.shared.with(|state, _| state.issue(project, access, holder))
    }

    /// From now on 401 `unauthorized`.
    pub fn revoke_token(&self, token: &str) {
        self.shared
            .with(|state, _| state.tokens.get_mut(token).into_iter().for_each(|token| token.revoked = true));
    }

    /// Turns a token into another kind in mid-life.
    pub fn set_access(&self, token: &str, access: Access) {
        self.shared
            .with(|state, _| state.tokens.get_mut(token).into_iter().for_each(|token| token.access = access));
    }

    /// A running server, as if rented earlier. Returns its id.
    #[must_use]
    pub fn add_server(&self, spec: ServerSpec) -> u64 {
        let ServerSpec { name, labels, project, created, user_data } = spec;
        let order = Order::usual(name, labels, user_data);
        self.shared.with(|state, now| {
            let mut server = Server::ordered(order, state.next_server_id(), project, created.unwrap_or(now));
            server.status = Status::Running;
            let id = server.id;
            state.servers.insert(id, server);
            id
        })
    }

    /// All servers of all projects that are still listed.
    #[must_use]
    pub fn servers(&self) -> Vec<Server> {
        self.shared.look(|state| state.servers.values().cloned().collect())
    }

    /// Whether the server is still listed.
    #[must_use]
    pub fn contains(&self, id: u64) -> bool {
        self.shared.look(|state| state.servers.contains_key(&id))
    }

    /// When the DELETE of this server was accepted: the clock of record. A DELETE whose action failed counts not.
    #[must_use]
    pub fn gone_at(&self, id: u64) -> Option<Timestamp> {
        self.shared.look(|state| state.gone.get(&id).copied())
    }

    /// Waits for [`Cloud::gone_at`].
    pub async fn wait_gone(&self, id: u64, timeout: Duration) -> Option<Timestamp> {
        self.wait(timeout, |state| state.gone.get(&id).copied()).await
    }

    /// Every call so far, oldest first.
    #[must_use]
    pub fn ledger(&self) -> Vec<Entry> {
        self.shared.look(|state| state.ledger.clone())
    }

    /// Waits for the first call, past or to come, of which `is` holds.
    pub async fn wait_call(&self, timeout: Duration, is: impl Fn(&Entry) -> bool) -> Option<Entry> {
        self.wait(timeout, |state| state.ledger.iter().find(|entry| is(entry)).cloned()).await
    }

    async fn wait<T>(&self, timeout: Duration, look: impl Fn(&State) -> Option<T>) -> Option<T> {
        let mut changes = self.shared.changes.subscribe();
        let seen = async {
            loop {
                if let Some(found) = self.shared.look(&look) {
                    return Some(found);
                }
                changes.changed().await.ok()?;
            }
        };
        tokio::time::timeout(timeout, seen).await.ok().flatten()
    }

    /// Runs `hook` with the id of each deleted server, on a thread of its own, before or after its DELETE is answered
    /// ([`Kill`]). It should kill the machine's processes and return when they are dead: until then there is no
    /// answer. It must not call `on_gone` itself.
    pub fn on_gone(&self, hook: impl Fn(u64) + Send + Sync + 'static) {
        self.shared.hook(Box::new(hook));
    }

    /// Runs `hook` for each server whose create call was accepted, on a thread of its own that is no part of any
    /// runtime. It may call the cloud. Several hooks may be registered. A server of [`Effect::CreateFails`], or one
    /// that the sandbox put there itself, boots nothing.
    pub fn on_created(&self, hook: impl Fn(Created) + Send + Sync + 'static) {
        self.shared.boot_hook(Arc::new(hook));
    }

    /// Switches a fault on.
    pub fn inject(&self, fault: Fault) -> FaultId {
        self.shared.with(|state, _| state.faults.inject(fault))
    }

    /// Switches it off.
    pub fn lift(&self, fault: FaultId) {
        self.shared.with(|state, _| state.faults.lift(fault));
    }

    /// Switches all faults off.
    pub fn lift_all(&self) {
        self.shared.with(|state, _| state.faults.lift_all());
    }
}
