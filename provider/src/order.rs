//! An order for one server, what came of it, and how its actions fare.

use std::{collections::BTreeMap, fmt};

use crate::{ImageId, NotAnId, Outcome, Server, server::id_in_range};

/// An order. Whoever places it has made its name unique: that, and nothing else, makes a second try harmless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// A host name, unique in the project.
    pub name: String,
    /// The size, by name.
    pub size: String,
    /// The region, by name.
    pub region: String,
    /// The image.
    pub image: ImageId,
    /// Keys that may log in, by name or id.
    pub ssh_keys: Vec<String>,
    /// Firewalls, in force from the first packet.
    pub firewalls: Vec<u64>,
    /// Private networks.
    pub networks: Vec<u64>,
    /// With a public IPv4 address, billed apart.
    pub public_ipv4: bool,
    /// With a public IPv6 network. Without either it needs another way out, or it cannot delete itself.
    pub public_ipv6: bool,
    /// Labels: whose it is, and how long.
    pub labels: BTreeMap<String, String>,
    /// Handed to cloud-init.
    pub user_data: Option<UserData>,
}

/// A user-data document. It carries credentials, so its `Debug` shows its length only.
#[derive(Clone, PartialEq, Eq)]
pub struct UserData(String);

impl UserData {
    /// What a provider takes at most, in bytes.
    pub const LIMIT: usize = 32 * 1024;

    /// Takes a document as it is.
    #[must_use]
    pub const fn new(document: String) -> Self {
        Self(document)
    }

    /// The document. It leaves in a create call and nowhere else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for UserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserData({} bytes)", self.0.len())
    }
}

/// An action's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionId(u64);

impl ActionId {
    /// The id as a number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for ActionId {
    type Error = NotAnId;

    fn try_from(id: u64) -> Result<Self, NotAnId> {
        id_in_range(id).map(Self)
    }
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A server that exists from now on, and costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// As it was at that moment.
    pub server: Server,
    /// What still runs on it. The first is the creation itself: if that fails the server may exist all the same, and
    /// must be deleted.
    pub actions: Vec<ActionId>,
}

/// Why there is no server, as far as anybody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCreated {
    /// A server of that name exists: perhaps our own, of a call whose answer was lost. Look it up by name.
    #[error("a server of that name exists already")]
    NameTaken,
    /// None to be had of that size in that region now.
    #[error("the provider has no such server to give now; try another size or region, or later")]
    OutOfStock,
    /// The project may have no more. The provider's words.
    #[error("the project's limit is reached: {0}; delete something, or ask the provider for more")]
    Quota(String),
    /// The order can never be carried out as it is.
    #[error("the provider refuses {field:?} of the order: {message}")]
    Invalid {
        /// The field, as the provider spells it; empty where it does not say.
        field: String,
        /// The provider's words.
        message: String,
    },
    /// The order was not judged. After [`Outcome::Retry`] the server **may exist**: look it up by name before
    /// anything else.
    #[error(transparent)]
    Refused(Outcome),
}

/// How an action fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It runs.
    Running,
    /// It ended well.
    Done,
    /// It ended in an error. What it was about may exist all the same.
    Failed {
        /// The provider's code. Free-form.
        code: String,
        /// The provider's words.
        message: String,
    },
}
