//! What was found out about a provider's account, and when. Nothing of it outlives the process: after a restart
//! everything is looked at again.

use jiff::Timestamp;

use crate::clock::Uptime;

/// The last look at each thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Checks {
    /// The Secret, and whether its token may take the account's place.
    pub(crate) credential: Option<Checked>,
    /// Whether the Secrets are there that a machine is made with.
    pub(crate) secrets: Option<Checked>,
    /// Image, keys, firewalls and networks.
    pub(crate) references: Option<Checked>,
    /// Whether the token may delete.
    pub(crate) authority: Option<Checked>,
    /// What is on sale.
    pub(crate) catalogue: Option<Checked>,
    /// When the catalogue that is known was fetched.
    pub(crate) catalogue_at: Option<Timestamp>,
    /// The servers of this cluster.
    pub(crate) servers: Option<Checked>,
}

/// One look.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checked {
    /// When it ended.
    pub(crate) at: Uptime,
    /// The configuration it was for.
    pub(crate) generation: i64,
    /// What came of it.
    pub(crate) found: Result<(), Fault>,
    /// When something certain was found last.
    pub(crate) certain: Option<Uptime>,
}

/// What is not well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing is decided: an outage, or the call was held back.
    Undecided(String),
    /// It is so until somebody does what the message says.
    Certain {
        /// Of the condition.
        reason: &'static str,
        /// What, and what to do.
        message: String,
    },
}

impl Checks {
    /// Another credential, or another endpoint: everything but the credential itself must be looked at again.
    pub(crate) fn forget(&mut self) {
        let Self { credential: _, secrets: _, references, authority, catalogue, catalogue_at: _, servers } =
            self;
        (*references, *authority, *catalogue, *servers) = (None, None, None, None);
    }
}
