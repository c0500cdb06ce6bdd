//! The provider's token: read from its own path at each use, so that a rotated token needs no restart.
//!
//! Where the service manager was told to pass a copy along (`LoadCredential=`), that counts while the file holds no token:
//! the file is as new as its last write, the copy as old as the process.
//!
//! It never appears in a log, an event, an annotation, an error or an argument list.

use std::{
    env, io,
    path::{Path, PathBuf},
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
    File {
        /// The file.
        path: PathBuf,
        /// The service manager's copy, which counts while the file holds no token.
        copy: Option<PathBuf>,
    },
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
        match &self.source {
            Source::File { path, .. } => file(path).or_else(|fault| self.copy().ok_or(fault)),
            Source::Variable(name) => {
                let text = env::var(name).map_err(|_| CredentialError::Variable(name))?;
                token(&text, name)
            }
        }
    }

    fn copy(&self) -> Option<Token> {
        match &self.source {
            Source::File { copy: Some(copy), .. } => file(copy).ok(),
            _ => None,
        }
    }

    /// Remembers a token that a probe found good: a token file that is lost later must not keep the machine alive.
    pub fn found_good(&self, token: Token) {
        *self.last_good.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
    }

    /// The token to fire with: as it is now, or the last good one where it cannot be read. `doubted`: the provider has
    /// just refused the one that is there, so the last good one is tried in its place, or the copy.
    pub fn for_firing(&self, doubted: bool) -> Result<Token, CredentialError> {
        let last_good = self.last_good.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let other = if doubted { last_good.clone().or_else(|| self.copy()) } else { None };
        match (self.read(), last_good) {
            (Ok(token), _) if doubted => Ok(other.unwrap_or(token)),
            (Ok(token), _) | (Err(_), Some(token)) => Ok(token),
            (Err(error), None) => Err(error),
        }
    }
}

fn file(path: &Path) -> Result<Token, CredentialError> {
    let place = path.display().to_string();
    let text =
        patience::read(path).map_err(|source| CredentialError::File { path: place.clone(), source })?;
    token(&String::from_utf8_lossy(&text), &place)
}

fn token(text: &str, place: &str) -> Result<Token, CredentialError> {
    Token::new(text).map_err(|source| CredentialError::Token { place: place.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_token_file_that_is_lost_or_overwritten_does_not_keep_a_machine_alive() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let credential = Credential::new(Source::File { path: path.clone(), copy: None });
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

    #[test]
    fn the_file_wins_over_the_service_managers_copy_and_the_copy_over_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (path, copy) = (dir.path().join("token"), dir.path().join("copy"));
        let credential = Credential::new(Source::File { path: path.clone(), copy: Some(copy.clone()) });
        let read = || credential.read().ok();
        fs::write(&copy, "").unwrap();
        assert!(
            credential.read().unwrap_err().to_string().contains("/token:"),
            "the file is the one to mend"
        );
        fs::write(&copy, "copied").unwrap();
        assert_eq!(read(), Token::new("copied").ok());
        fs::write(&path, "").unwrap();
        assert_eq!(read(), Token::new("copied").ok(), "an empty file holds no token");
        fs::write(&path, "rotated").unwrap();
        assert_eq!(read(), Token::new("rotated").ok());
        assert_eq!(credential.for_firing(false).ok(), Token::new("rotated").ok());
        assert_eq!(credential.for_firing(true).ok(), Token::new("copied").ok(), "the file's was refused");
    }
}
