//! A provider's configuration as last read.

use jiff::Timestamp;
use kube::{Resource, core::DeserializeGuard};

use crate::{
    crd::{ProviderConfig, ProviderConfigStatus},
    terms::Config,
};

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
        }
    }
}
