//! What a template for leases leaves open, for the controller to fill in when it rents a machine.

/// Name of the lease.
pub(crate) const LEASE: &str = "@CURFEW_LEASE@";
/// How long the machine may live at most.
pub(crate) const LIFETIME: &str = "@CURFEW_LIFETIME@";
/// The credential with which the machine deletes itself.
pub(crate) const TOKEN: &str = "@CURFEW_TOKEN@";
/// What all of them begin with.
pub(crate) const ANY: &str = "@CURFEW_";
