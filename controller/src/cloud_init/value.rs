//! The values of a document, parsed once: what has one of these types can be written into a script or a unit as it is.
//!
//! Never holds a value that a shell, systemd or YAML would read differently from a person.

use std::{fmt, net::Ipv4Addr, str::FromStr};

use curfew_contract::label;

use super::{error::Refused, placeholder};

/// SHA-256 of a file, as 64 hexadecimal digits in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sha256(String);

/// An address of a file, `https://…` or `http://…`. Without user name and password: it is logged by its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url(String);

/// An absolute path on the machine, without `.` and `..`, of printable ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(String);

/// Permissions of a file, for example `0600`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(u16);

/// A label of a Node, `key=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label(String);

/// A taint of a Node, `key[=value]:Effect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint(String);

/// One more argument of the kubelet, without the leading dashes: `name=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletArg(String);

/// An option of the agent, `CURFEW_…=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOption {
    /// `CURFEW_…` or `HCLOUD_ENDPOINT`.
    pub name: String,
    /// Printable ASCII that systemd takes without quotes.
    pub value: String,
}

/// An IPv4 network, for example `10.0.0.0/16`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network(String);

/// Bytes of a file. Never shown: they may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Content(pub Vec<u8>);

impl Url {
    /// Whether nobody on the way can read what it answers: TLS, or a private or loopback address.
    #[must_use]
    pub fn is_private(&self) -> bool {
        let Some(rest) = self.0.strip_prefix("http://") else { return true };
        let host = rest.split(['/', ':', '?', '#']).next().unwrap_or_default();
        host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_private() || ip.is_loopback())
    }
}

impl Label {
    /// The one by which the controller knows the Nodes of the machines it rents.
    pub(super) fn of_lease() -> Self {
        Self(format!("{}={}", label::LEASE, placeholder::LEASE))
    }
}

impl Mode {
    /// Readable by root only.
    pub const SECRET: Self = Self(0o600);
    /// Readable by everybody.
    pub const PUBLIC: Self = Self(0o644);
}

impl FromStr for Sha256 {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let text = text.trim().to_ascii_lowercase();
        let is_digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        refuse_unless(is_digest, &text, "a SHA-256", "64 hexadecimal digits, as sha256sum prints them")?;
        Ok(Self(text))
    }
}

impl FromStr for Url {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or_default();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(':');
        let host = if host.is_empty() { authority } else { host };
        let is_host =
            !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b));
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !br#""'\`<>{}|^"#.contains(&byte));
        // The address may be a secret itself, so it is not repeated.
        refuse_unless(
            is_host && is_plain,
            "what was given",
            "an address",
            "https://host/path, without a password",
        )?;
        Ok(Self(text.into()))
    }
}

impl Path {
    /// Whether `ProtectHome=` and `InaccessiblePaths=` of the units keep it from them (`systemd/curfew-agent.service`).
    pub(super) fn is_hidden_from_services(&self) -> bool {
        let is_below = |dir: &&str| {
            self.0.strip_prefix(*dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        ["/home", "/root", "/run/user", "/tmp", "/var/tmp"].iter().any(is_below)
    }
}

impl FromStr for Path {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let sane = text.strip_prefix('/').is_some_and(|rest| {
            !rest.is_empty() && rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
        });
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !br#""'\`$%|&;*?"#.contains(&byte));
        refuse_unless(sane && plain, text, "a path", "/etc/name, absolute, without spaces, quotes or ..")?;
        Ok(Self(text.into()))
    }
}

impl FromStr for Mode {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let mode = u16::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
        mode.map(Self).ok_or_else(|| Refused::of(text, "a mode", "three or four octal digits, like 0644"))
    }
}

impl FromStr for Label {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let good = text.split_once('=').is_some_and(|(key, value)| is_key(key) && is_label_value(value));
        refuse_unless(good, text, "a label", "key=value, as Kubernetes takes it")?;
        Ok(Self(text.into()))
    }
}

impl FromStr for Taint {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let good = text.rsplit_once(':').is_some_and(|(what, effect)| {
            let (key, value) = what.split_once('=').unwrap_or((what, ""));
            is_key(key)
                && is_label_value(value)
                && matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute")
        });
        refuse_unless(good, text, "a taint", "key=value:NoSchedule, PreferNoSchedule or NoExecute")?;
        Ok(Self(text.into()))
    }
}

impl FromStr for KubeletArg {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let good = text.split_once('=').is_some_and(|(name, value)| {
            let is_name = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            !name.is_empty() && !name.starts_with('-') && is_name && is_unquoted(value)
        });
        refuse_unless(good, text, "an argument of the kubelet", "max-pods=50, without quotes and spaces")?;
        Ok(Self(text.into()))
    }
}

impl FromStr for AgentOption {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let is_name = name.strip_prefix("CURFEW_").is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        }) || name == "HCLOUD_ENDPOINT";
        // The value may be a secret that does not belong here, so only the name is repeated.
        refuse_unless(
            is_name && is_unquoted(value),
            name,
            "an option of the agent",
            "CURFEW_MAX_LIFETIME=8h",
        )?;
        Ok(Self { name: name.into(), value: value.into() })
    }
}

impl FromStr for Network {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let good = text.split_once('/').is_some_and(|(address, bits)| {
            address.parse::<Ipv4Addr>().is_ok() && bits.parse::<u8>().is_ok_and(|bits| bits <= 32)
        });
        refuse_unless(good, text, "a network", "10.0.0.0/16")?;
        Ok(Self(text.into()))
    }
}

/// A name with an optional DNS prefix, as the keys of labels and taints are.
fn is_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let is_dns = |prefix: &str| {
        prefix.len() <= 253 && prefix.split('.').all(|part| is_label_value(part) && !part.is_empty())
    };
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_dns)
}

fn is_label_value(text: &str) -> bool {
    let is_edge = |byte: Option<u8>| byte.is_none_or(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && is_edge(text.bytes().next())
        && is_edge(text.bytes().last())
}

fn is_unquoted(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !br#""'\`$%#;"#.contains(&byte))
}

fn refuse_unless(good: bool, given: &str, what: &'static str, like: &'static str) -> Result<(), Refused> {
    if good { Ok(()) } else { Err(Refused::of(given, what, like)) }
}

macro_rules! shown_as_given {
    ($($name:ident),*) => {
        $(impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        })*
    };
}
shown_as_given!(Sha256, Url, Path, Label, Taint, KubeletArg, Network);

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:o}", self.0)
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({} bytes)", self.0.len())
    }
}
