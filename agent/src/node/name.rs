//! A Node's name, as a value that is safe in an address and in a selector.

use std::fmt;

/// The name of a Node: at most 253 of `a-z`, `0-9`, `-` and `.`, beginning and ending with a letter or digit
/// (RFC 1123, as Kubernetes requires of it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeName(String);

/// A text that is no Node's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a Node: lower-case letters, digits, '-' and '.', at most 253")]
pub struct NodeNameError(String);

impl NodeName {
    /// Takes a name as it is.
    pub fn new(name: &str) -> Result<Self, NodeNameError> {
        let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = name.as_bytes();
        let good = bytes.len() <= 253
            && bytes.iter().all(|b| alphanumeric(b) || matches!(b, b'-' | b'.'))
            && bytes.first().is_some_and(alphanumeric)
            && bytes.last().is_some_and(alphanumeric);
        if good { Ok(Self(name.to_owned())) } else { Err(NodeNameError(name.chars().take(80).collect())) }
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
