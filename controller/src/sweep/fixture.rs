//! Servers and leases for the sweep's tests.

use std::collections::BTreeMap;

use curfew_contract::label;
use curfew_provider::{Attached, Server, ServerId, ServerStatus};

use super::plan::Leases;
use crate::{
    fixture::{NOW, lease, secs},
    observe::Lease,
};

pub(crate) const CLUSTER: &str = "6f0c";

/// A server of [`CLUSTER`] created at [`NOW`], of the lease `lease`, whose deadline is `until` seconds later.
pub(crate) fn server(id: u64, lease: &str, until: i64) -> Server {
    let at = (NOW + secs(until)).as_second().to_string();
    let uid = format!("uid-{lease}");
    labelled(
        id,
        &[
            (label::MANAGED_BY, label::CURFEW),
            (label::CLUSTER, CLUSTER),
            (label::LEASE, lease),
            (label::LEASE_UID, &uid),
            (label::EXPIRES_AT, &at),
        ],
    )
}

/// A server with these labels and no others.
pub(crate) fn labelled(id: u64, labels: &[(&str, &str)]) -> Server {
    Server {
        id: ServerId::try_from(id).unwrap(),
        name: format!("s-{id}"),
        created: Some(NOW),
        labels: labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        public_ipv4: None,
        private_ipv4: Vec::new(),
        protected: false,
        size: "cpx22".into(),
        region: "fsn1".into(),
        status: ServerStatus::Running,
        attached: Attached::default(),
    }
}

/// Living leases.
pub(crate) fn leases(names: &[&str]) -> Leases {
    names.iter().map(|name| by_uid(lease(name, "1h", |_| {}))).collect::<BTreeMap<_, _>>()
}

/// A lease that has been released.
pub(crate) fn released(name: &str) -> Leases {
    [by_uid(lease(name, "1h", |object| object["status"]["releasedAt"] = NOW.to_string().into()))].into()
}

fn by_uid(lease: Lease) -> (String, Lease) {
    (lease.uid.clone(), lease)
}
