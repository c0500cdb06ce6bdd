//! A provider's configuration, parsed.
//!
//! All or nothing: what cannot be kept leaves the last one that could be in force, so that machines are given back
//! with the credential that rented them.

use curfew_contract::Watchdog;
use curfew_provider::{ImageId, ImageRef};
use jiff::SignedDuration;

use crate::crd::{ImageSpec, NodeCredentialSpec, ProviderConfigSpec, TokenRef, UserDataRef};

use super::{Problem, length, watchdog};

/// An account, and what machines are made of there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// The controller's own.
    pub(crate) credential: SecretKey,
    /// Another address of the API.
    pub(crate) endpoint: Option<String>,
    /// What machines boot from.
    pub(crate) image: ImageRef,
    /// Names, of each of the three.
    pub(crate) ssh_keys: Vec<String>,
    pub(crate) firewalls: Vec<String>,
    pub(crate) networks: Vec<String>,
    pub(crate) public_ipv4: bool,
    pub(crate) public_ipv6: bool,
    pub(crate) user_data: SecretKey,
    /// With which a machine deletes itself.
    pub(crate) node_credential: Option<NodeCredential>,
    /// For leases that have none of their own.
    pub(crate) watchdog: Watchdog,
    /// Of any machine, from the acceptance of its lease.
    pub(crate) max_lifetime: SignedDuration,
}

/// A key of a Secret in the controller's own namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SecretKey {
    pub(crate) name: String,
    pub(crate) key: String,
}

/// How a machine comes by the credential that deletes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeCredential {
    /// It needs nothing from us.
    OnImage,
    /// In its user-data.
    Secret(SecretKey),
}

impl Config {
    /// Reads a spec, or says what cannot be kept.
    pub(crate) fn read(spec: &ProviderConfigSpec) -> Result<Self, String> {
        Self::parse(spec).map_err(|problem| problem.to_string())
    }

    fn parse(spec: &ProviderConfigSpec) -> Result<Self, Problem> {
        let hetzner = &spec.hetzner;
        Ok(Self {
            credential: (&hetzner.credentials_secret_ref).into(),
            endpoint: hetzner.endpoint.clone(),
            image: image(&hetzner.image)?,
            ssh_keys: hetzner.ssh_keys.clone(),
            firewalls: hetzner.firewalls.clone(),
            networks: hetzner.networks.clone(),
            public_ipv4: hetzner.public_ipv4,
            public_ipv6: hetzner.public_ipv6,
            user_data: (&spec.user_data_secret_ref).into(),
            node_credential: spec.node_credential.as_ref().map(node_credential).transpose()?,
            watchdog: watchdog(&spec.watchdog.policy, "what was read before is")?,
            max_lifetime: length("watchdog.maxLifetime", &spec.watchdog.max_lifetime, LIFETIME)?,
        })
    }
}

impl From<&TokenRef> for SecretKey {
    fn from(spec: &TokenRef) -> Self {
        Self { name: spec.name.clone(), key: spec.key.clone() }
    }
}

impl From<&UserDataRef> for SecretKey {
    fn from(spec: &UserDataRef) -> Self {
        Self { name: spec.name.clone(), key: spec.key.clone() }
    }
}

fn image(spec: &ImageSpec) -> Result<ImageRef, Problem> {
    match (&spec.name, spec.id, &spec.selector) {
        (Some(name), None, None) => Ok(ImageRef::Name(name.clone())),
        (None, None, Some(selector)) => Ok(ImageRef::Selector(selector.clone())),
        (None, Some(id), None) => {
            let number = u64::try_from(id).ok().and_then(|id| ImageId::try_from(id).ok());
            number.map(ImageRef::Id).ok_or(Problem::NotInRange("hetzner.image.id", id, 1..=LAST_ID))
        }
        _ => Err(Problem::NotOne("hetzner.image", "name, id and selector")),
    }
}

fn node_credential(spec: &NodeCredentialSpec) -> Result<NodeCredential, Problem> {
    match (&spec.secret_ref, spec.on_image) {
        (Some(secret), None) => Ok(NodeCredential::Secret(secret.into())),
        (None, Some(true)) => Ok(NodeCredential::OnImage),
        _ => Err(Problem::NotOne("nodeCredential", "secretRef and onImage: true")),
    }
}

/// The end that an agent still acts upon is 400 days away.
const LIFETIME: std::ops::RangeInclusive<SignedDuration> =
    SignedDuration::from_mins(5)..=SignedDuration::from_hours(400 * 24);
/// The last number that JSON carries everywhere.
const LAST_ID: i64 = (1 << 53) - 1;
