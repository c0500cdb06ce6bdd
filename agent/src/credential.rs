//! The provider's token: read from its own path at each use, so that a rotated token needs no restart.
//!
//! It never appears in a log, an event, an annotation, an error or an argument list.

use std::{
    env, fs, io,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use curfew_provider::{Token, TokenError};

/// Where the token comes from, and the last good one that came from there.
#[derive(Debug)]
pub struct Credential {
    source: Source,
    last_good: Mutex<Option<Token>>,
}

/// Where the token comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file, mode 0600.
    File(PathBuf),
    /// An environment variable: for a person's hand and for tests. Other processes of root can read it.
    Variable(&'static str),
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The file cannot be read.
    #[error("cannot read the token file {path}: put the provider's token there, mode 0600")]
    File {
        /// The file.
        path: String,
        /// What failed.
        #[source]
        source: io::Error,
    },
    /// The variable is not set.
    #[error("neither a token file is given nor is {0} set")]
    Variable(&'static str),
    /// What is there is no token.
    #[error("what {place} holds cannot be a token")]
    Token {
        /// File or variable.
        place: String,
        /// Why.
        #[source]
        source: TokenError,
    },
}

impl Credential {
    /// A credential that has not been read yet.
    #[must_use]
    pub const fn new(source: Source) -> Self {
        Self { source, last_good: Mutex::new(None) }
    }

    /// Reads the token as it is now.
    pub fn read(&self) -> Result<Token, CredentialError> {
        let (text, place) = match &self.source {
            Source::File(path) => {
                let place = path.display().to_string();
                let text = fs::read_to_string(path)
                    .map_err(|source| CredentialError::File { path: place.clone(), source })?;
                (text, place)
            }
            Source::Variable(name) => {
                (env::var(name).map_err(|_| CredentialError::Variable(name))?, (*name).to_owned())
            }
        };
        Token::new(&text).map_err(|source| CredentialError::Token { place, source })
    }

    /// Remembers a token that a probe found good: a token file that is lost later must not keep the machine alive.
    pub fn found_good(&self, token: Token) {
        *self.last_good.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
    }

    /// The token as it is now, or the last good one where it cannot be read.
    pub fn read_or_last_good(&self) -> Result<Token, CredentialError> {
        self.read().or_else(|error| {
            self.last_good.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_token_file_does_not_keep_a_machine_alive() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let credential = Credential::new(Source::File(path.clone()));
        assert!(credential.read_or_last_good().is_err());
        fs::write(&path, "first\n").unwrap();
        credential.found_good(credential.read().unwrap());
        fs::write(&path, "second").unwrap();
        assert_eq!(credential.read_or_last_good().unwrap(), Token::new("second").unwrap());
        fs::remove_file(&path).unwrap();
        assert_eq!(credential.read_or_last_good().unwrap(), Token::new("first").unwrap());
    }
}
