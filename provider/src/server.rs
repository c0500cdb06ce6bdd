//! A server as every provider has it.

use std::{collections::BTreeMap, fmt, str::FromStr};

use jiff::Timestamp;

/// A server's id: never reused by its provider, unlike its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(u64);

/// A text that is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a server id: a whole number from 1 to 2^53-1")]
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
    /// Deletion must first be unlocked.
    pub protected: bool,
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
        if (1..1 << 53).contains(&id) { Ok(Self(id)) } else { Err(NotAnId(id.to_string())) }
    }
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
