//! Labels on a server at the provider: whose it is, and whether it consented to be deleted.
//!
//! Nothing of curfew ever deletes a server for which [`Consent::read`] has not said yes at least once.

use std::collections::BTreeMap;

/// Says that curfew may delete this server. Value: [`CURFEW`].
///
/// * Written by: whoever rents the machine, in the create call (the controller; for an adopted machine Terraform
///   or a person: that is its consent).
/// * Read by: agent, controller, sweeper.
pub const MANAGED_BY: &str = "curfew.dev/managed-by";

/// The value of [`MANAGED_BY`].
pub const CURFEW: &str = "curfew";

/// UID of the cluster's `kube-system` namespace. Two clusters in one project never touch each other's servers.
pub const CLUSTER: &str = "curfew.dev/cluster";

/// Name of the `CapacityLease`. Written in the create call.
pub const LEASE: &str = "curfew.dev/lease";

/// UID of the `CapacityLease`. Its presence says that the create call was ours.
pub const LEASE_UID: &str = "curfew.dev/lease-uid";

/// Which of the lease's machines this is: a number from 0. Written in the create call, and part of the server's name,
/// so that a create call whose answer was lost is found again and never repeated.
pub const SLOT: &str = "curfew.dev/slot";

/// UNIX seconds (Hetzner label values cannot hold RFC 3339). Follows every extension of the lease.
pub const EXPIRES_AT: &str = "curfew.dev/expires-at";

/// The label by which the Hetzner cluster-autoscaler finds its own servers.
/// Source: cluster-autoscaler, cloudprovider/hetzner.
pub const HETZNER_AUTOSCALER: &str = "hcloud/node-group";

/// A server that may be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consent {
    /// The create call was curfew's own, so the server's creation time bounds its lifetime too.
    pub rented_by_us: bool,
}

/// Why a server must not be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoConsent {
    /// It does not carry `curfew.dev/managed-by=curfew`.
    #[error("the server does not carry the label {MANAGED_BY}={CURFEW}")]
    NotManaged,
    /// A cluster-autoscaler would replace it at once by another that bills.
    #[error("the server belongs to a cluster-autoscaler (label {HETZNER_AUTOSCALER})")]
    Autoscaled,
}

impl Consent {
    /// Reads a server's labels.
    pub fn read(labels: &BTreeMap<String, String>) -> Result<Self, NoConsent> {
        if labels.get(MANAGED_BY).map(String::as_str) != Some(CURFEW) {
            Err(NoConsent::NotManaged)
        } else if labels.contains_key(HETZNER_AUTOSCALER) {
            Err(NoConsent::Autoscaled)
        } else {
            Ok(Self { rented_by_us: labels.contains_key(LEASE_UID) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
    }

    #[test]
    fn only_a_server_that_says_so_may_be_deleted() {
        assert_eq!(Consent::read(&labels(&[])), Err(NoConsent::NotManaged));
        assert_eq!(Consent::read(&labels(&[(MANAGED_BY, "terraform")])), Err(NoConsent::NotManaged));
        assert_eq!(Consent::read(&labels(&[(MANAGED_BY, CURFEW)])), Ok(Consent { rented_by_us: false }));
        let ours = labels(&[(MANAGED_BY, CURFEW), (LEASE_UID, "8c5f")]);
        assert_eq!(Consent::read(&ours), Ok(Consent { rented_by_us: true }));
    }

    #[test]
    fn an_autoscalers_server_is_never_ours() {
        let both = labels(&[(MANAGED_BY, CURFEW), (HETZNER_AUTOSCALER, "pool")]);
        assert_eq!(Consent::read(&both), Err(NoConsent::Autoscaled));
    }

    #[test]
    fn the_labels_are_spelled_as_promised() {
        assert_eq!(
            [MANAGED_BY, CURFEW, CLUSTER, LEASE, LEASE_UID, SLOT, EXPIRES_AT, HETZNER_AUTOSCALER],
            [
                "curfew.dev/managed-by",
                "curfew",
                "curfew.dev/cluster",
                "curfew.dev/lease",
                "curfew.dev/lease-uid",
                "curfew.dev/slot",
                "curfew.dev/expires-at",
                "hcloud/node-group"
            ]
        );
    }
}
