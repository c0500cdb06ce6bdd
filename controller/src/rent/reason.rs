//! Why a machine is given back, or never came, as `status.instances[].releasing` says it. Pure.

use curfew_provider::NotCreated;

/// Why. Final for its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The lease has ended.
    Ended,
    /// The lease was deleted.
    Deleted,
    /// `replicas` was lowered.
    Surplus,
    /// The order can never be carried out.
    OrderInvalid,
    /// None to be had.
    OutOfStock,
    /// The project may have no more.
    QuotaReached,
    /// Somebody else's server has its name.
    NameTaken,
    /// The creation ended in an error.
    CreationFailed,
    /// It was not created in time.
    LaunchTimeout,
    /// Its Node was not Ready in time.
    RegistrationTimeout,
    /// It is gone, and nobody here asked for it.
    Gone,
}

impl Reason {
    /// As written.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "LeaseEnded",
            Self::Deleted => "LeaseDeleted",
            Self::Surplus => "Surplus",
            Self::OrderInvalid => "OrderInvalid",
            Self::OutOfStock => "OutOfStock",
            Self::QuotaReached => "QuotaReached",
            Self::NameTaken => "NameTaken",
            Self::CreationFailed => "CreationFailed",
            Self::LaunchTimeout => "LaunchTimeout",
            Self::RegistrationTimeout => "RegistrationTimeout",
            Self::Gone => "Gone",
        }
    }

    /// Whether a lease that gives it back for this reason got less than it asked for.
    pub(crate) fn is_loss(written: &str) -> bool {
        ![Self::Ended, Self::Deleted, Self::Surplus].iter().any(|wanted| wanted.as_str() == written)
    }

    /// Why there never will be a machine, where the provider has judged the order.
    pub(crate) const fn of(not: &NotCreated) -> Option<Self> {
        match not {
            NotCreated::OutOfStock => Some(Self::OutOfStock),
            NotCreated::Quota(_) => Some(Self::QuotaReached),
            NotCreated::Invalid { .. } => Some(Self::OrderInvalid),
            NotCreated::NameTaken | NotCreated::Refused(_) => None,
        }
    }
}
