//! The provider's token: read from its own path at each use, so that a rotated token needs no restart.
//!
//! It never appears in a log, an event, an annotation, an error or an argument list.

use std::{
    env, io,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use curfew_provider::{Token, TokenError};

use crate::patience;

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

    /// Reads the token as it is now. A disk that hangs counts as one that cannot be read.
    pub fn read(&self) -> Result<Token, CredentialError> {
        let (text, place) = match &self.source {
            Source::File(path) => {
                let place = path.display().to_string();
                let text = patience::read(path)
                    .map_err(|source| CredentialError::File { path: place.clone(), source })?;
                (String::from_utf8_lossy(&text).into_owned(), place)
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

    /// The token to fire with: as it is now, or the last good one where it cannot be read. `doubted`: the provider has
    /// just refused the one that is there, so the last good one is tried in its place.
    pub fn for_firing(&self, doubted: bool) -> Result<Token, CredentialError> {
        let last_good = self.last_good.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match (self.read(), last_good) {
            (Ok(_), Some(last_good)) if doubted => Ok(last_good),
            (Ok(token), _) | (Err(_), Some(token)) => Ok(token),
            (Err(error), None) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_token_file_that_is_lost_or_overwritten_does_not_keep_a_machine_alive() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let credential = Credential::new(Source::File(path.clone()));
        assert!(credential.for_firing(false).is_err());
        fs::write(&path, "first\n").unwrap();
        credential.found_good(credential.read().unwrap());
        fs::write(&path, "second").unwrap();
        assert_eq!(credential.for_firing(false).unwrap(), Token::new("second").unwrap());
        assert_eq!(
            credential.for_firing(true).unwrap(),
            Token::new("first").unwrap(),
            "the second was refused"
        );
        fs::write(&path, "").unwrap();
        assert_eq!(credential.for_firing(false).unwrap(), Token::new("first").unwrap());
        fs::remove_file(&path).unwrap();
        assert_eq!(credential.for_firing(false).unwrap(), Token::new("first").unwrap());
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(credential.for_firing(false).unwrap(), Token::new("first").unwrap(), "a disk that hangs");
    }
}
