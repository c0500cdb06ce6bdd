//! A provider's configuration as last read.

use std::{collections::BTreeMap, sync::Arc};

use curfew_provider::{Architecture, Catalogue, ImageId, Server, ServerId};
use jiff::Timestamp;
use kube::{Resource, core::DeserializeGuard};

use crate::{
    clock::Uptime,
    cloud::Account,
    crd::{ProviderConfig, ProviderConfigStatus},
    terms::Config,
};

use super::Checks;

/// A `ProviderConfig`, and what is known of the account behind it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) resource_version: String,
    pub(crate) deleting: Option<Timestamp>,
    pub(crate) finalizers: Vec<String>,
    /// The last one that could be read.
    pub(crate) config: Option<Config>,
    /// Why the object cannot be read, or kept, now.
    pub(crate) broken: Option<String>,
    pub(crate) status: ProviderConfigStatus,
    /// The account. Once known it stands, even if its credential vanishes: teardown goes on.
    pub(crate) account: Option<Arc<Account>>,
    /// What can be rented there.
    pub(crate) catalogue: Option<Arc<Catalogue>>,
    /// The servers of this cluster.
    pub(crate) servers: Option<Listed>,
    /// What the names in the configuration mean.
    pub(crate) references: Option<Arc<References>>,
    pub(crate) checks: Checks,
    /// What the last sweep says.
    pub(crate) swept: Option<Swept>,
}

/// What the names in a configuration mean at the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct References {
    /// The configuration they are of.
    pub(crate) generation: i64,
    /// The newest image for each architecture that has one.
    pub(crate) images: BTreeMap<Architecture, ImageId>,
    pub(crate) firewalls: Vec<u64>,
    pub(crate) networks: Vec<u64>,
}

/// How the sweep fares, as the condition `Sweep` says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swept {
    /// Whether everything that should be gone is.
    pub(crate) goes_on: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Swept {
    /// A sweep that cannot do all that it should.
    pub(crate) fn frozen(reason: &'static str, message: impl Into<String>) -> Self {
        Self { goes_on: false, reason, message: message.into() }
    }
}

/// The servers of this cluster, as a provider listed them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listed {
    pub(crate) servers: BTreeMap<ServerId, Server>,
    /// When it was asked for.
    pub(crate) at: Uptime,
}

impl Provider {
    /// Reads an object. What cannot be read keeps the configuration and the status that were known.
    pub(crate) fn read(object: DeserializeGuard<ProviderConfig>, known: Option<&Self>) -> Self {
        let meta = object.meta().clone();
        let known = known.filter(|known| Some(&known.uid) == meta.uid.as_ref());
        let known = known.cloned().unwrap_or_default();
        let (config, status, broken) = match object.0 {
            Ok(object) => {
                let status = object.status.unwrap_or_default();
                match Config::read(&object.spec) {
                    Ok(config) => (Some(config), status, None),
                    Err(problem) => (known.config.clone(), status, Some(problem)),
                }
            }
            Err(invalid) => (known.config.clone(), known.status.clone(), Some(invalid.error)),
        };
        Self {
            name: meta.name.unwrap_or_default(),
            uid: meta.uid.unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            resource_version: meta.resource_version.unwrap_or_default(),
            deleting: meta.deletion_timestamp.map(|time| time.0),
            finalizers: meta.finalizers.unwrap_or_default(),
            config,
            broken,
            status,
            account: known.account,
            catalogue: known.catalogue,
            servers: known.servers,
            references: known.references,
            checks: known.checks,
            swept: known.swept,
        }
    }

    /// What the names in the configuration mean, once that is known of the present one.
    pub(crate) fn references(&self) -> Option<&References> {
        self.references.as_deref().filter(|known| known.generation == self.generation)
    }

    /// Whether its deletion waits for us. No machine is rented before: whoever could take the configuration away
    /// would take away the means to give the machine back.
    pub(crate) fn held(&self) -> bool {
        self.finalizers.iter().any(|finalizer| finalizer == IN_USE)
    }
}

/// Holds a configuration while a lease that rents with it has not been released.
pub(crate) const IN_USE: &str = "curfew.dev/in-use";
