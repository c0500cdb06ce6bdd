//! Reads Secrets: one by its name, in the controller's own namespace, never a list of them.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::{ByteString, api::core::v1 as core};
use kube::Api;

use super::{Cluster, Failure, within};
use crate::terms::SecretKey;

/// The text under a Secret's key. Shown nowhere.
pub(crate) struct SecretText(String);

/// Why there is none. Names the Secret and what to do; never holds its content.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    #[error(
        "Secret {namespace}/{name} does not exist: kubectl -n {namespace} create secret generic {name} --from-file={key}=FILE"
    )]
    Missing { namespace: String, name: String, key: String },
    #[error("Secret {namespace}/{name} has no key {key:?}; it has {present}")]
    NoKey { namespace: String, name: String, key: String, present: String },
    #[error("key {key:?} of Secret {namespace}/{name} is not text")]
    NotText { namespace: String, name: String, key: String },
    #[error("Secret {namespace}/{name} cannot be read")]
    Unreadable {
        namespace: String,
        name: String,
        #[source]
        failure: Failure,
    },
}

impl SecretText {
    /// The text.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(…)")
    }
}

impl SecretError {
    /// Whether it says anything about the Secret, or only that it could not be asked for.
    pub(crate) const fn is_certain(&self) -> bool {
        !matches!(self, Self::Unreadable { .. })
    }

    /// In one line, with its cause.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Unreadable { failure, .. } => format!("{self}: {}", failure.line()),
            _ => self.to_string(),
        }
    }
}

impl Cluster {
    /// Reads a key of a Secret in the controller's own namespace.
    pub(crate) async fn secret(&self, at: &SecretKey) -> Result<SecretText, SecretError> {
        let (namespace, SecretKey { name, key }) = (self.namespace.to_string(), at.clone());
        let secrets: Api<core::Secret> = Api::namespaced(self.client.clone(), &namespace);
        let data = match within("read the Secret", secrets.get(&name)).await {
            Ok(secret) => secret.data.unwrap_or_default(),
            Err(failure) if failure.is_gone() => return Err(SecretError::Missing { namespace, name, key }),
            Err(failure) => return Err(SecretError::Unreadable { namespace, name, failure }),
        };
        pick(data, namespace, name, key)
    }
}

fn pick(
    mut data: BTreeMap<String, ByteString>,
    namespace: String,
    name: String,
    key: String,
) -> Result<SecretText, SecretError> {
    let Some(ByteString(bytes)) = data.remove(&key) else {
        let present = data.into_keys().collect::<Vec<_>>().join(", ");
        let present = if present.is_empty() { "none".into() } else { present };
        return Err(SecretError::NoKey { namespace, name, key, present });
    };
    String::from_utf8(bytes).map(SecretText).map_err(|_| SecretError::NotText { namespace, name, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(key: &str) -> Result<SecretText, SecretError> {
        let data = [("token", &b"t0ken"[..]), ("binary", &[0xff, 0xfe])];
        let data = data.map(|(key, value)| (key.to_owned(), ByteString(value.into())));
        pick(data.into(), "curfew".into(), "hetzner".into(), key.into())
    }

    #[test]
    fn the_text_of_a_key_is_read_and_never_shown() {
        let text = read("token").unwrap();
        assert_eq!((text.reveal(), format!("{text:?}").as_str()), ("t0ken", "SecretText(…)"));
    }

    #[test]
    fn what_cannot_be_read_says_which_key_and_never_what_is_in_it() {
        let line = read("tokn").unwrap_err().line();
        assert_eq!(line, r#"Secret curfew/hetzner has no key "tokn"; it has binary, token"#);
        assert!(matches!(read("binary"), Err(SecretError::NotText { .. })));
    }
}
