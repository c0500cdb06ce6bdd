//! One server: what the cloud knows of it.

use std::fmt;

use jiff::Timestamp;

use super::create::Order;
use super::selector::Labels;
use super::token::Project;

/// The states of a server that this cloud knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Being created.
    Initializing,
    /// Booting.
    Starting,
    /// On.
    Running,
    /// Off, and billed in full.
    Off,
    /// DELETE was accepted.
    Deleting,
}

impl Status {
    /// As the API spells it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initializing => "initializing",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Off => "off",
            Self::Deleting => "deleting",
        }
    }
}

/// Which public addresses a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Public {
    /// An IPv4 address.
    pub ipv4: bool,
    /// An IPv6 network.
    pub ipv6: bool,
}

/// A server whose create call was accepted: what its machine boots with.
#[derive(Clone, PartialEq, Eq)]
pub struct Created {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: Labels,
    /// What cloud-init finds. Carries credentials: not in `Debug`.
    pub user_data: Option<String>,
}

impl fmt::Debug for Created {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, name, labels, user_data: _ } = self;
        f.debug_struct("Created")
            .field("id", id)
            .field("name", name)
            .field("labels", labels)
            .finish_non_exhaustive()
    }
}

impl From<&Server> for Created {
    fn from(server: &Server) -> Self {
        let Server { id, name, labels, user_data, .. } = server.clone();
        Self { id, name, labels, user_data }
    }
}

/// One server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Never reused.
    pub id: u64,
    /// Whose it is.
    pub project: Project,
    /// Unique within the project.
    pub name: String,
    /// Labels as of now.
    pub labels: Labels,
    /// When it was created.
    pub created: Timestamp,
    /// As of the last call.
    pub status: Status,
    /// Delete protection.
    pub protected: bool,
    /// Locked by the scenario, besides the actions that lock it.
    pub held: bool,
    /// Name of the server type.
    pub server_type: String,
    /// Id of the image.
    pub image: u64,
    /// Name of the location.
    pub location: String,
    /// As given at creation.
    pub user_data: Option<String>,
    /// Its public addresses.
    pub public: Public,
    /// Ids of its firewalls.
    pub firewalls: Vec<u64>,
    /// Ids of its private networks.
    pub networks: Vec<u64>,
    /// When it stops being listed.
    pub(crate) vanishes: Option<Timestamp>,
}

impl Server {
    /// What a create call makes, before its actions have ended.
    pub(crate) fn ordered(order: Order, id: u64, project: Project, now: Timestamp) -> Self {
        let Order {
            name, server_type, image, location, labels, user_data, public, firewalls, networks, ..
        } = order;
        Self {
            id,
            project,
            name,
            labels,
            created: now,
            status: Status::Initializing,
            protected: false,
            held: false,
            server_type,
            image,
            location,
            user_data,
            public,
            firewalls,
            networks,
            vanishes: None,
        }
    }
}
