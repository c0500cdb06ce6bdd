//! A lease as last read.

use std::collections::BTreeMap;

use curfew_provider::ServerId;
use jiff::Timestamp;
use kube::{Resource, core::DeserializeGuard};

use crate::{
    clock::Uptime,
    crd::{CapacityLease, CapacityLeaseStatus},
    release::Looked,
    rent::{Learnt, Removal},
    terms::Terms,
};

/// A lease as last read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lease {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) resource_version: String,
    pub(crate) deleting: Option<Timestamp>,
    pub(crate) finalizers: Vec<String>,
    /// The last terms that could be decoded.
    pub(crate) terms: Option<Terms>,
    /// Why the object cannot be decoded now.
    pub(crate) broken: Option<String>,
    pub(crate) status: CapacityLeaseStatus,
    /// When this controller last wrote its status.
    pub(crate) written: Option<Uptime>,
    /// What its machines left behind, as this controller found it.
    pub(crate) looked: Looked,
    /// What calls to the provider told of each slot, beside what the status says.
    pub(crate) learnt: BTreeMap<u32, Learnt>,
    /// How the deletion of servers fares that say they are this lease's, and that no slot owns.
    pub(crate) strays: BTreeMap<ServerId, Removal>,
}

impl Lease {
    /// Reads an object. What cannot be decoded keeps the terms and the status that were known.
    pub(crate) fn read(object: DeserializeGuard<CapacityLease>, known: Option<&Self>) -> Self {
        let meta = object.meta().clone();
        let known = known.filter(|known| Some(&known.uid) == meta.uid.as_ref());
        let known = known.cloned().unwrap_or_default();
        let (terms, status, broken) = match object.0 {
            Ok(lease) => (Some(Terms::read(&lease.spec)), lease.status.unwrap_or_default(), None),
            Err(invalid) => (known.terms, known.status, Some(invalid.error)),
        };
        Self {
            name: meta.name.unwrap_or_default(),
            uid: meta.uid.unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            resource_version: meta.resource_version.unwrap_or_default(),
            deleting: meta.deletion_timestamp.map(|time| time.0),
            finalizers: meta.finalizers.unwrap_or_default(),
            terms,
            broken,
            status,
            written: known.written,
            looked: known.looked,
            learnt: known.learnt,
            strays: known.strays,
        }
    }

    /// This reading of the lease, with what was known of it beside.
    pub(crate) fn knowing(self, known: &Self) -> Self {
        let Self { written, learnt, strays, .. } = known.clone();
        Self { written, learnt, strays, ..self }
    }

    /// Name of the `ProviderConfig` that it rents by.
    pub(crate) fn provider(&self) -> Option<&str> {
        Some(&self.terms.as_ref()?.rent()?.provider)
    }

    /// Whether deletion waits for us.
    pub(crate) fn finalized(&self) -> bool {
        self.finalizers.iter().any(|finalizer| finalizer == FINALIZER)
    }
}

/// Holds a lease that rents until its machines are gone, and one with `onRelease: Keep` until they have been told to
/// stay.
pub(crate) const FINALIZER: &str = "curfew.dev/release";
