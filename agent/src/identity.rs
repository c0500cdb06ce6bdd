//! Which server this machine is. By id, never by name: names are changed and reused.
//!
//! The firmware's word (DMI) comes first: it needs no network, and a copied disk does not carry it. The metadata
//! service counts only where the firmware is silent, and is believed only if the address in the provider's record of that
//! server is on one of this machine's own interfaces: metadata may be another machine's, answered through a bridge. When in doubt, the machine is unproven and is
//! shown so; it fails towards a bill that somebody is told of, never towards deleting another machine.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
};

use curfew_contract::{
    Note,
    label::{Consent, NoConsent},
};
use curfew_provider::{Driver, Server, ServerId};

/// The firmware's tables as files: `/sys/class/dmi/id`.
#[derive(Clone, Debug)]
pub struct Dmi(pub PathBuf);

/// What the machine says of itself, and who says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The firmware.
    Firmware(ServerId),
    /// The metadata service only.
    Metadata(ServerId),
}

/// Why a machine does not know who it is, or may not be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// Firmware and metadata name different servers.
    #[error("the firmware says this is server {firmware}, the metadata service says {metadata}")]
    Conflict {
        /// By the firmware.
        firmware: ServerId,
        /// By the metadata service.
        metadata: ServerId,
    },
    /// Neither knows.
    #[error("neither the firmware nor the metadata service says which server this is")]
    Nameless,
    /// The provider's record has an address that no interface of this machine has.
    #[error(
        "the provider's server has another public address than this machine: is metadata answered by a proxy?"
    )]
    AnotherAddress,
    /// The provider answered with the record of another server.
    #[error("the provider answered with another server's record")]
    AnotherRecord,
    /// The server did not consent.
    #[error(transparent)]
    NoConsent(#[from] NoConsent),
}

impl Dmi {
    /// The server by the firmware's word.
    #[must_use]
    pub fn server(&self, driver: &dyn Driver) -> Option<ServerId> {
        driver.whoami(&self.entry("sys_vendor")?, &self.entry("product_serial")?)
    }

    /// The machine's UUID, by which a clone is told from its original.
    #[must_use]
    pub fn product_uuid(&self) -> Option<String> {
        self.entry("product_uuid").map(|uuid| uuid.trim().to_lowercase()).filter(|uuid| !uuid.is_empty())
    }

    fn entry(&self, name: &str) -> Option<String> {
        fs::read_to_string(Path::new(&self.0).join(name)).ok()
    }
}

impl Claim {
    /// Weighs the two sources.
    pub fn weigh(firmware: Option<ServerId>, metadata: Option<ServerId>) -> Result<Self, Unproven> {
        match (firmware, metadata) {
            (Some(firmware), Some(metadata)) if firmware != metadata => {
                Err(Unproven::Conflict { firmware, metadata })
            }
            (Some(id), _) => Ok(Self::Firmware(id)),
            (None, Some(id)) => Ok(Self::Metadata(id)),
            (None, None) => Err(Unproven::Nameless),
        }
    }

    /// The server claimed.
    #[must_use]
    pub const fn server(self) -> ServerId {
        match self {
            Self::Firmware(id) | Self::Metadata(id) => id,
        }
    }

    /// Holds the claim against the provider's record. `own` are the addresses of this machine's interfaces.
    pub fn prove(self, server: &Server, own: &[IpAddr]) -> Result<Consent, Unproven> {
        let here =
            || server.public_ipv4.as_ref().is_some_and(|record| own.iter().any(|a| a.to_string() == *record));
        if server.id != self.server() {
            return Err(Unproven::AnotherRecord);
        }
        match self {
            Self::Metadata(_) if !here() => Err(Unproven::AnotherAddress),
            _ => Ok(Consent::read(&server.labels)?),
        }
    }
}

/// The addresses of this machine's interfaces; none where the kernel does not tell, which proves nothing.
#[must_use]
pub fn own_addresses() -> Vec<IpAddr> {
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    interfaces.filter_map(|interface| Some(interface.address?.as_sockaddr_in()?.ip().into())).collect()
}

impl Unproven {
    /// What the heartbeat says of it.
    #[must_use]
    pub const fn note(self) -> Note {
        match self {
            Self::NoConsent(NoConsent::NotManaged) => Note::NotManaged,
            Self::NoConsent(NoConsent::Autoscaled) => Note::Autoscaled,
            Self::Nameless => Note::IdentityUnknown,
            Self::Conflict { .. } | Self::AnotherAddress | Self::AnotherRecord => Note::IdentityConflict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use curfew_contract::label::{CURFEW, MANAGED_BY};

    fn id(n: u64) -> ServerId {
        n.try_into().unwrap()
    }

    fn server(address: &str) -> Server {
        Server {
            id: id(42),
            name: "any".into(),
            created: None,
            labels: [(MANAGED_BY.to_owned(), CURFEW.to_owned())].into(),
            public_ipv4: Some(address.into()),
            private_ipv4: Vec::new(),
            protected: false,
            size: String::new(),
            region: String::new(),
            status: curfew_provider::ServerStatus::Running,
            attached: curfew_provider::Attached::default(),
        }
    }

    #[test]
    fn firmware_and_metadata_must_not_contradict() {
        assert_eq!(Claim::weigh(Some(id(42)), None), Ok(Claim::Firmware(id(42))));
        assert_eq!(Claim::weigh(Some(id(42)), Some(id(42))), Ok(Claim::Firmware(id(42))));
        assert_eq!(Claim::weigh(None, Some(id(42))), Ok(Claim::Metadata(id(42))));
        assert!(Claim::weigh(Some(id(42)), Some(id(43))).is_err());
        assert!(Claim::weigh(None, None).is_err());
    }

    #[test]
    fn metadata_alone_is_believed_only_with_the_address_to_match() {
        let claim = Claim::Metadata(id(42));
        let own = |text: &str| [text.parse().unwrap()];
        assert!(claim.prove(&server("203.0.113.7"), &own("203.0.113.7")).is_ok());
        assert_eq!(claim.prove(&server("203.0.113.7"), &own("203.0.113.8")), Err(Unproven::AnotherAddress));
        assert_eq!(claim.prove(&server("203.0.113.7"), &[]), Err(Unproven::AnotherAddress));
        assert!(Claim::Firmware(id(42)).prove(&server("203.0.113.7"), &[]).is_ok());
        assert_eq!(Claim::Firmware(id(43)).prove(&server("203.0.113.7"), &[]), Err(Unproven::AnotherRecord));
    }

    #[test]
    fn a_server_that_did_not_consent_is_never_proven() {
        let server = Server { labels: [].into(), ..server("203.0.113.7") };
        let refused = Claim::Firmware(id(42)).prove(&server, &[]).unwrap_err();
        assert_eq!(refused.note(), Note::NotManaged);
    }
}
