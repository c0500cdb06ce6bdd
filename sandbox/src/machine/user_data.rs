//! The stand-in for cloud-init: the one text that a rented machine is given, and how it is read. Holds no other secret
//! than the text's own, and shows none.

use std::collections::BTreeMap;

/// A template of user-data, to be kept in the Secret that a `ProviderConfig` names: the controller puts each machine's
/// own values in the place of the three words between the `@`. A real machine takes one of `curfew-controller
/// cloud-init --for-leases` instead.
pub const TEMPLATE: &str = r#"#cloud-config
curfew:
  lease: "@CURFEW_LEASE@"
  lifetime: "@CURFEW_LIFETIME@"
  token: "@CURFEW_TOKEN@"
"#;

/// What a machine learns from its user-data.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct UserData {
    /// Name of the lease, for the Node's label.
    pub(super) lease: String,
    /// `--max-lifetime`.
    pub(super) lifetime: String,
    /// The node credential.
    pub(super) token: String,
}

impl UserData {
    /// `None`: it is not of [`TEMPLATE`], or a placeholder was left in it.
    pub(super) fn read(text: &str) -> Option<Self> {
        let pairs = text.lines().filter_map(|line| line.trim().split_once(": "));
        let values: BTreeMap<&str, &str> = pairs.map(|(key, value)| (key, value.trim_matches('"'))).collect();
        let filled = |key: &str| {
            values.get(key).filter(|value| !value.is_empty() && !value.contains('@')).map(|&v| v.to_owned())
        };
        Some(Self { lease: filled("lease")?, lifetime: filled("lifetime")?, token: filled("token")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> String {
        let values = [("LEASE", "burst"), ("LIFETIME", "86400s"), ("TOKEN", "secret")];
        values
            .into_iter()
            .fold(TEMPLATE.to_owned(), |text, (word, value)| text.replace(&format!("@CURFEW_{word}@"), value))
    }

    #[test]
    fn a_filled_template_is_read() {
        let read = UserData::read(&filled()).unwrap();
        assert_eq!((&*read.lease, &*read.lifetime, &*read.token), ("burst", "86400s", "secret"));
    }

    #[test]
    fn a_template_that_was_not_filled_boots_nothing() {
        assert!(UserData::read(TEMPLATE).is_none());
        assert!(UserData::read(&filled().replace("secret", "@CURFEW_TOKEN@")).is_none());
        assert!(UserData::read("#cloud-config\nhostname: burst\n").is_none());
    }
}
