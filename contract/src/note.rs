//! The heartbeat's notes: single words on the wire, sentences for people.

use serde::{Deserialize, Serialize};

/// What a person should know about the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Note {
    /// A provider answered 404 for our own server while it was being deleted: the token is of another project.
    AliveButNotFound,
    /// The server belongs to a cluster-autoscaler: it will not be deleted, and never counts as armed.
    Autoscaled,
    /// The machine's bootstrap has failed for good; a file on the machine says where.
    BootstrapFailed,
    /// A step of the cluster's clock is being confirmed before it counts.
    ClusterTimeStepping,
    /// A flag was wrong; its built-in value is in force.
    ConfigInvalid,
    /// The credential's file cannot be read.
    CredentialUnreadable,
    /// The deadline first came when it was already past: firing waits 60 s for a replacement.
    DeadlineInThePast,
    /// `curfew.dev/deadline-for` names another server.
    DeadlineForAnotherServer,
    /// The deadline is more than 400 days away.
    DeadlineTooFar,
    /// The deadline is before 2020.
    DeadlineTooEarly,
    /// The deadline is not a time.
    DeadlineUnparsable,
    /// The annotation was there and is gone; the last good deadline stands.
    DeadlineVanished,
    /// First arming without a ledger: nothing is fired yet.
    FirstArming,
    /// `curfew.dev/grace` is not a duration, negative, or longer than 12 h: no work is moved away in time.
    GraceRefused,
    /// DMI, metadata and the provider's record contradict each other.
    IdentityConflict,
    /// Neither DMI nor metadata says which server this is.
    IdentityUnknown,
    /// The ledger was written by another machine (a clone) and is not used.
    LedgerAlien,
    /// The ledger was torn; the other generation, or none, is used.
    LedgerTorn,
    /// The ledger cannot be written: a reboot would forget the deadline.
    LedgerUnwritable,
    /// Memory could not be locked.
    MemoryNotLocked,
    /// The server does not carry `curfew.dev/managed-by=curfew`: it did not consent to be deleted.
    NotManaged,
    /// Everything runs and nothing will be deleted.
    ObserveOnly,
    /// Delete protection is on; it is lifted when firing.
    Protected,
    /// A certificate was outside its dates and was accepted, since nothing else was wrong with it.
    TlsDatesIgnored,
    /// A note of a newer agent.
    #[serde(other)]
    Unknown,
}

impl Note {
    /// The note for a person.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::AliveButNotFound => {
                "the provider did not know this server while it was being deleted: is the token of another project?"
            }
            Self::Autoscaled => "the server belongs to a cluster-autoscaler: it will not be deleted",
            Self::BootstrapFailed => {
                "the machine's bootstrap has failed: `curfew-agent status` there says where, and what to do"
            }
            Self::ClusterTimeStepping => {
                "the cluster's clock has stepped; the step counts once it has been confirmed for a minute"
            }
            Self::ConfigInvalid => "an option is wrong and not in force; the agent's log names it",
            Self::CredentialUnreadable => "there is no token that can be read",
            Self::DeadlineInThePast => {
                "the deadline was already past when it first came; firing waits a minute for a replacement"
            }
            Self::DeadlineForAnotherServer => {
                "the deadline on the Node is meant for another server; the last good one stands"
            }
            Self::DeadlineTooFar => {
                "the deadline on the Node is more than 400 days away; the last good one stands"
            }
            Self::DeadlineTooEarly => "the deadline on the Node is before 2020; the last good one stands",
            Self::DeadlineUnparsable => "the deadline on the Node is not a time; the last good one stands",
            Self::DeadlineVanished => "the deadline on the Node is gone; the last good one stands",
            Self::FirstArming => "first arming: no deadline is acted upon for ten minutes",
            Self::GraceRefused => {
                "the grace on the Node makes no sense: work is not moved away before the machine goes"
            }
            Self::IdentityConflict => {
                "firmware, metadata service and provider contradict each other about which server this is"
            }
            Self::IdentityUnknown => "neither firmware nor metadata service says which server this is",
            Self::LedgerAlien => {
                "the ledger on the disk is another machine's: this one is a clone, and started afresh"
            }
            Self::LedgerTorn => "a ledger could not be read; another generation, or none, was used",
            Self::LedgerUnwritable => "the ledger cannot be written: a reboot would forget the deadline",
            Self::MemoryNotLocked => "memory could not be locked",
            Self::NotManaged => {
                "the server is not labelled curfew.dev/managed-by=curfew: it will not be deleted"
            }
            Self::ObserveOnly => "the agent only observes: nothing will be deleted",
            Self::Protected => "the server is protected from deletion; that is lifted when the time comes",
            Self::TlsDatesIgnored => {
                "a certificate was accepted outside its dates: nothing else was wrong with it"
            }
            Self::Unknown => "a note of a newer agent",
        }
    }
}
