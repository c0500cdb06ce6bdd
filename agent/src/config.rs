//! The command line, as used: every value has a meaning, and what had none has fallen back and is reported.
//!
//! Which way it fails: a machine whose flags are wrong is armed with the built-in values, and says so in every
//! heartbeat. An agent that refused to start would be an unlimited bill.

use std::path::{Path, PathBuf};

use curfew_contract::duration;
use curfew_provider::hetzner;

use crate::{
    args::{Complaint, Options},
    credential::Source,
    ledger::{LONGEST_LIFETIME, SHORTEST_LIFETIME},
    time::Span,
};

/// What the agent works with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Address of the provider's API.
    pub endpoint: String,
    /// Where the token comes from.
    pub token: Source,
    /// Additional certificate authorities for the provider.
    pub provider_ca: Option<PathBuf>,
    /// Address of the metadata service.
    pub metadata: String,
    /// The firmware's tables.
    pub dmi: PathBuf,
    /// The kubelet's kubeconfig: the first of these that is there.
    pub kubeconfigs: Vec<PathBuf>,
    /// The Node's name, if given.
    pub node_name: Option<String>,
    /// The lifetime, if one was given that makes sense. Without one a first arming takes [`BUILT_IN_LIFETIME`], and a
    /// ledger's stands: a typing error, or an option that only the agent's unit has, must not end a machine that lives.
    pub max_lifetime: Option<Span>,
    /// Time between heartbeats.
    pub heartbeat: Span,
    /// Time between probes of the token.
    pub probe: Span,
    /// A first arming's hold.
    pub first_hold: Span,
    /// The live ledger.
    pub run_dir: PathBuf,
    /// The ledger's copy.
    pub state_dir: PathBuf,
    /// Delete nothing.
    pub observe: bool,
}

impl Config {
    /// Takes what makes sense, and complains of the rest.
    #[must_use]
    pub fn from_options(options: &Options) -> (Self, Vec<Complaint>) {
        let mut complaints = Vec::new();
        let mut given = |name: &str, text: &Option<String>, (least, most): (Span, Span), else_: &str| {
            let complain = |why| complaints.push(format!("--{name}: {why}; {else_} is in force"));
            text.as_ref().and_then(|text| bounded(text, least, most).map_err(complain).ok())
        };
        let max_lifetime = given(
            "max-lifetime",
            &options.max_lifetime,
            (SHORTEST_LIFETIME, LONGEST_LIFETIME),
            &format!("the ledger's, or {BUILT_IN_LIFETIME},"),
        );
        let mut span = |name: &str, text: &Option<String>, within: (Span, Span), built_in: Span| {
            given(name, text, within, &built_in.to_string()).unwrap_or(built_in)
        };
        let heartbeat = span("heartbeat", &options.heartbeat, (SECOND, minutes(5)), Span::from_secs(30));
        let probe = span("probe", &options.probe, (SECOND, hours(24)), hours(1));
        let first_hold = span("first-hold", &options.first_hold, (Span::ZERO, minutes(10)), minutes(10));
        let mut url = |name: &str, given: &Option<String>, built_in: &str| match given {
            Some(url) if url.starts_with("https://") || url.starts_with("http://") => url.clone(),
            None => built_in.to_owned(),
            Some(_) => {
                complaints.push(format!("--{name}: not an http(s) address; {built_in} is in force"));
                built_in.to_owned()
            }
        };
        let endpoint = url("endpoint", &options.endpoint, hetzner::ENDPOINT);
        let metadata = url("metadata", &options.metadata, hetzner::METADATA);
        let path =
            |given: &Option<String>, built_in: &str| PathBuf::from(given.as_deref().unwrap_or(built_in));
        let config = Self {
            endpoint,
            metadata,
            token: token(options, &mut complaints),
            provider_ca: options.provider_ca.as_ref().map(PathBuf::from),
            dmi: path(&options.dmi, "/sys/class/dmi/id"),
            kubeconfigs: match &options.kubeconfig {
                Some(path) => vec![path.into()],
                None => KUBECONFIGS.map(PathBuf::from).to_vec(),
            },
            node_name: options.node_name.clone(),
            max_lifetime,
            heartbeat,
            probe,
            first_hold: first_hold.min(max_lifetime.unwrap_or(BUILT_IN_LIFETIME)),
            run_dir: path(&options.run_dir, "/run/curfew"),
            state_dir: path(&options.state_dir, "/var/lib/curfew"),
            observe: options.observe.as_deref().is_some_and(is_yes),
        };
        (config, complaints)
    }

    /// The kubeconfig that is there now, if any.
    #[must_use]
    pub fn kubeconfig(&self) -> Option<&Path> {
        self.kubeconfigs.iter().map(PathBuf::as_path).find(|path| path.exists())
    }
}

/// The token's file if one is named, else the variable if it is set, else the usual file. Beside a file, the copy that
/// systemd makes of it where the unit says so: systemd.exec(5), "Credentials".
fn token(options: &Options, complaints: &mut Vec<Complaint>) -> Source {
    let path = options.token_file.as_ref().filter(|path| path.starts_with('/'));
    if options.token_file.is_some() && path.is_none() {
        // It may be the token itself, so it is not repeated.
        complaints
            .push("--token-file: not an absolute path; what is used without the option is in force".into());
    }
    let copy = std::env::var_os("CREDENTIALS_DIRECTORY").map(|dir| Path::new(&dir).join(CREDENTIAL));
    match path {
        Some(path) => Source::File { path: path.into(), copy },
        None if std::env::var_os(TOKEN_VARIABLE).is_some() => Source::Variable(TOKEN_VARIABLE),
        None => Source::File { path: TOKEN_FILE.into(), copy },
    }
}

/// Observing deletes nothing, so a word that is neither yes nor no means yes: it was written to be careful.
fn is_yes(text: &str) -> bool {
    !matches!(text.trim().to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
}

fn bounded(text: &str, least: Span, most: Span) -> Result<Span, String> {
    let span = duration::parse(text).map_err(|error| error.to_string())?;
    let span = Span::from_millis(i64::try_from(span.as_millis()).unwrap_or(i64::MAX));
    if span < least || span > most {
        Err(format!("{span} is not within {least} and {most}"))
    } else {
        Ok(span)
    }
}

const fn minutes(n: i64) -> Span {
    Span::from_secs(n * 60)
}

const fn hours(n: i64) -> Span {
    Span::from_secs(n * 3600)
}

/// The lifetime of a machine whose flags say nothing, or nonsense.
pub const BUILT_IN_LIFETIME: Span = hours(24);

const SECOND: Span = Span::from_secs(1);
const TOKEN_FILE: &str = "/etc/curfew/token";
/// Name of the token among systemd's credentials.
const CREDENTIAL: &str = "curfew.token";
const TOKEN_VARIABLE: &str = "HCLOUD_TOKEN";
/// kubeadm, k3s, RKE2.
const KUBECONFIGS: [&str; 3] = [
    "/etc/kubernetes/kubelet.conf",
    "/var/lib/rancher/k3s/agent/kubelet.kubeconfig",
    "/var/lib/rancher/rke2/agent/kubelet.kubeconfig",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_falls_back_to_the_built_in_value_and_is_reported() {
        for text in ["", "never", "0s", "-5m", "99999h", "5", "1e3h"] {
            let options = Options { max_lifetime: Some(text.into()), ..Options::default() };
            let (config, complaints) = Config::from_options(&options);
            assert_eq!(config.max_lifetime, None, "{text}");
            assert!(complaints.len() == 1 && complaints[0].contains("--max-lifetime"), "{complaints:?}");
        }
    }

    #[test]
    fn a_token_in_the_place_of_its_files_path_is_never_repeated() {
        let options = Options { token_file: Some("s3cr3t".into()), ..Options::default() };
        let (config, complaints) = Config::from_options(&options);
        assert!(complaints.len() == 1 && !format!("{config:?} {complaints:?}").contains("s3cr3t"));
    }

    #[test]
    fn one_wrong_flag_does_not_touch_the_others() {
        let options = Options {
            max_lifetime: Some("2h".into()),
            heartbeat: Some("soon".into()),
            endpoint: Some("api.example".into()),
            ..Options::default()
        };
        let (config, complaints) = Config::from_options(&options);
        assert_eq!(config.max_lifetime, Some(hours(2)));
        assert_eq!(config.endpoint, hetzner::ENDPOINT);
        assert_eq!(complaints.len(), 2);
    }
}
