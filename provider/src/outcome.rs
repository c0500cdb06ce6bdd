//! What an answer means to whoever wants a server gone.
//!
//! Nothing here is success but [`Outcome::Gone`], and a machine that is alive to read an answer is not gone.

use std::time::Duration;

/// Who asks. The same 404 means opposite things to the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Somebody else, who knows from an earlier answer that the id is of this project: 404 means gone.
    Another,
    /// The server itself. It is alive, so 404 means that the token is of another project.
    TheServerItself,
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Outcome {
    /// The provider took the order. The server may still be there for a while, or for ever: look.
    #[error("accepted")]
    Accepted,
    /// The token may not do this, or is unknown or revoked. Alarm, and keep trying: it may be replaced.
    #[error("the provider refuses the token")]
    Forbidden,
    /// The provider does not know the server (any more).
    #[error("the provider no longer lists the server")]
    Gone,
    /// Another action runs on the server. Try again in seconds.
    #[error("the server is locked by another action")]
    Locked,
    /// Delete protection is on. Lift it, then try again.
    #[error("the server is protected from deletion")]
    Protected,
    /// The token may only read. Alarm, and keep trying.
    #[error("the token may only read")]
    ReadOnly,
    /// Nothing is decided: rate limit, outage, conflict, or an answer that makes no sense.
    #[error("the provider could not answer")]
    Retry {
        /// How long the provider asks to wait, where it says so.
        after: Option<Duration>,
    },
    /// 404 for a server that is alive: the token is of another project. Alarm, and keep trying.
    #[error(
        "the provider does not know this server: it is just being deleted, or the token is of another project"
    )]
    WrongProject,
}

impl Outcome {
    /// The credential is at fault: time alone will not help, a person must.
    #[must_use]
    pub const fn denies(self) -> bool {
        matches!(self, Self::Forbidden | Self::ReadOnly | Self::WrongProject)
    }
}
