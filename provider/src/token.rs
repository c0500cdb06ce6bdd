//! The credential as a value that cannot be shown.
//!
//! A [`Token`] has no `Display`, its `Debug` says nothing, and it leaves only as an HTTP header.

use std::fmt;

/// A bearer token.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Why a text cannot be a token. Never holds the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Nothing but white space.
    #[error("the token is empty")]
    Empty,
    /// It could not be sent as a header.
    #[error("the token holds white space, control characters or non-ASCII characters")]
    NotAHeader,
}

impl Token {
    /// Takes the text of a file or variable; white space around it is dropped.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.is_empty() {
            Err(TokenError::Empty)
        } else if text.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(TokenError::NotAHeader)
        }
    }

    /// The value of the `Authorization` header. Mark it sensitive in the transport.
    #[must_use]
    pub fn authorization(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown() {
        let token = Token::new(" s3cr3t\n").unwrap();
        assert!(!format!("{token:?}").contains("s3cr3t"));
        assert_eq!(token.authorization(), "Bearer s3cr3t");
    }

    #[test]
    fn what_could_not_be_sent_is_refused_without_being_repeated() {
        for text in ["", " \n", "a b", "a\nb", "a\u{1}", "tökén"] {
            let error = Token::new(text).unwrap_err().to_string();
            assert!(text.trim().is_empty() || !error.contains(text), "{error}");
        }
    }
}
