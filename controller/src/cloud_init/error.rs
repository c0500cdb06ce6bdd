//! Why there is no document. Never holds a secret.

use std::{io, path::PathBuf};

/// A value that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not {what}: write it like {like}")]
pub struct Refused {
    /// What was given, cut short; never a secret.
    pub given: String,
    /// What it was meant to be.
    pub what: &'static str,
    /// What would be right.
    pub like: &'static str,
}

impl Refused {
    pub(super) fn of(given: &str, what: &'static str, like: &'static str) -> Self {
        Self { given: given.chars().take(60).collect(), what, like }
    }
}

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Two options contradict, or one lacks another.
    #[error("{0}")]
    Contradiction(&'static str),
    /// A value makes no sense.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A local file cannot be read.
    #[error("cannot read {0}")]
    Unreadable(PathBuf, #[source] io::Error),
    /// A file of the machine that its units do not see.
    #[error(
        "{0} is hidden from the agent, whose unit sees neither /home, /root and /run/user nor /tmp and /var/tmp: \
         put it elsewhere, for example below /etc/curfew or /usr/local"
    )]
    Hidden(String),
    /// A one-time address that everybody on the way could read.
    #[error("a secret must not come over plain http, except from a private address: use https")]
    PlainSecret,
    /// Larger than a provider takes.
    #[error(
        "the document has {size} bytes, and {limit} is what fits; the largest parts are {largest}. \
         Put large files on the image, or behind an address"
    )]
    TooBig {
        /// Bytes it would have.
        size: usize,
        /// Bytes it may have.
        limit: usize,
        /// The largest of its parts, with their sizes.
        largest: String,
    },
}
