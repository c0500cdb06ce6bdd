//! A server as every provider has it.

use std::{collections::BTreeMap, fmt, str::FromStr};

use jiff::Timestamp;

/// A server's id: never reused by its provider, unlike its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(u64);

/// A text that is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an id: a whole number from 1 to 2^53-1")]
pub struct NotAnId(String);

/// What is known of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its id.
    pub id: ServerId,
    /// Its name, for people and for the write probe only.
    pub name: String,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its public IPv4 address, if it has one.
    pub public_ipv4: Option<String>,
    /// Its private IPv4 addresses.
    pub private_ipv4: Vec<String>,
    /// Deletion must first be unlocked.
    pub protected: bool,
    /// The size, by name; empty where the provider does not say.
    pub size: String,
    /// The region, by name; empty where the provider does not say.
    pub region: String,
    /// What it is doing.
    pub status: ServerStatus,
    /// What may outlive it.
    pub attached: Attached,
}

/// What a server is doing. Nothing is decided by it that an action or a Node could tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerStatus {
    /// Being created.
    Initializing,
    /// Booting.
    Starting,
    /// On.
    Running,
    /// Going off.
    Stopping,
    /// Off. Says nothing about its bill.
    Off,
    /// Being deleted.
    Deleting,
    /// Anything else.
    #[default]
    Other,
}

/// What is attached to a server, by id. Looked up again after its deletion, to name what was left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// Volumes.
    pub volumes: Vec<u64>,
    /// Addresses that move.
    pub floating_ips: Vec<u64>,
    /// Public addresses; those made with the server go with it.
    pub primary_ips: Vec<u64>,
    /// Load balancers that have it as a target.
    pub load_balancers: Vec<u64>,
}

/// One page of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The servers.
    pub servers: Vec<Server>,
    /// The number of the next page, if there is one.
    pub next_page: Option<u32>,
}

impl ServerId {
    /// The id as a number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for ServerId {
    type Error = NotAnId;

    fn try_from(id: u64) -> Result<Self, NotAnId> {
        id_in_range(id).map(Self)
    }
}

pub(crate) fn id_in_range(id: u64) -> Result<u64, NotAnId> {
    if (1..1 << 53).contains(&id) { Ok(id) } else { Err(NotAnId(id.to_string())) }
}

impl FromStr for ServerId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let refuse = || NotAnId(text.chars().take(24).collect());
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(refuse());
        }
        text.parse::<u64>().map_err(|_| refuse())?.try_into()
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_number_is_an_id() {
        assert_eq!("42".parse::<ServerId>().map(ServerId::number), Ok(42));
        for text in
            ["", "0", "-1", "+1", "4 2", " 42", "web-1", "9007199254740992", "99999999999999999999", "٤"]
        {
            assert!(text.parse::<ServerId>().is_err(), "{text}");
        }
    }
}
