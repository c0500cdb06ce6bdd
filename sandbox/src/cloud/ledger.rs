//! The cloud's own record of every call: the clock and the witness of every scenario.
//!
//! Holds no token and no body.

use std::fmt;
use std::net::SocketAddr;

use jiff::Timestamp;

use super::token::Caller;

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When the call had been read, by the wall clock of this machine.
    pub at: Timestamp,
    /// Upper case.
    pub method: String,
    /// Path with query, as sent.
    pub path: String,
    /// Whose token it carried.
    pub caller: Caller,
    /// The status answered, or that would have been, had [`Entry::delivered`] been true.
    pub status: u16,
    /// `error.code` of a refusal that has one.
    pub code: Option<&'static str>,
    /// Whether an answer was meant to be sent at all: false for a reset or a silence.
    pub delivered: bool,
    /// Where the call came from.
    pub peer: SocketAddr,
    /// The `User-Agent` header.
    pub user_agent: Option<String>,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, method, path, caller, status, .. } = self;
        write!(f, "{at:.3} {method} {path} [{caller}] {status}")?;
        if let Some(code) = self.code {
            write!(f, " {code}")?;
        }
        if self.delivered { Ok(()) } else { f.write_str(" (never answered)") }
    }
}
