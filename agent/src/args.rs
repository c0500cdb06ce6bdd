//! The command line, as typed. Meaning and fall-backs are [`crate::config`]'s.
//!
//! Options are texts here on purpose: a value that makes no sense must not keep `run` from arming.

use std::{collections::BTreeSet, ffi::OsString};

use clap::{
    Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    builder::Resettable,
    error::{ContextKind, ContextValue},
};

/// Deletes its own server when its deadline passes.
#[derive(Debug, Parser)]
#[command(name = "curfew-agent", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Arm, and stay: the service.
    Run(Options),
    /// The backstop's one look: fire if due. Meant for a timer, each minute.
    ///
    /// Exit codes: 0 not due, 3 the agent has never armed this machine. If it is due it does not return.
    Check(Options),
    /// Delete this server now.
    Fire {
        /// Confirms that this very machine is to be deleted. There is no way back.
        #[arg(long)]
        yes_delete_this_machine: bool,
        /// The rest.
        #[command(flatten)]
        options: Options,
    },
    /// Say, for a person on this machine, which clock fires when, and why it is or is not armed.
    ///
    /// Exit codes: 0 armed, 1 not armed, 2 the agent has not armed this machine in this boot.
    Status(Options),
    /// Say whether this machine could delete itself, as far as that needs no cluster: its lifetime runs, it knows which
    /// server it is, and its token may delete that one. Meant for whatever must not start before.
    ///
    /// Exit codes: 0 ready, 1 not ready, 2 the agent has said nothing in this boot.
    Ready {
        /// Do not come back before it is so. Says why it waits, and again when the reason changes.
        #[arg(long)]
        wait: bool,
        /// The rest.
        #[command(flatten)]
        options: Options,
    },
    /// Check an image or machine before it is used.
    ///
    /// Every check is made and printed. Exit codes, of the first that failed: 10 the agent is not a program, 11 it is not
    /// static, 12 it is for another processor, 13 an option or a file it names makes no sense, 14 curfew-agent.service is
    /// not installed and enabled, or masked, 15 the same of curfew-backstop.timer, 16 the image has a machine-id or lacks
    /// the empty file, 17 it carries a ledger, 18 an ssh host key, 19 the identity of an overlay network (Tailscale,
    /// NetBird, ZeroTier, Nebula, WireGuard), 20 a bootstrap that failed. From 16 on only an image is checked.
    Verify {
        /// Root directory of the image. Links in it are followed inside it.
        #[arg(long, default_value = "/", value_name = "DIR")]
        root: std::path::PathBuf,
        /// What is at the root is an image to be taken, and not a machine in use. Of any root but `/` it is assumed.
        #[arg(long)]
        image: bool,
        /// The rest.
        #[command(flatten)]
        options: Options,
    },
    /// Print the version.
    Version,
}

/// Options, each also as an environment variable.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// Address of the provider's API, with its version: where to delete [default: Hetzner's public one].
    #[arg(long, env = "HCLOUD_ENDPOINT", value_name = "URL")]
    pub endpoint: Option<String>,
    /// File with the provider's token, read again at each use [default: `HCLOUD_TOKEN` if that is set, else
    /// /etc/curfew/token].
    #[arg(long, env = "CURFEW_TOKEN_FILE", value_name = "PATH")]
    pub token_file: Option<String>,
    /// Certificate authorities of the provider's API, beside the public ones (PEM).
    #[arg(long, env = "CURFEW_PROVIDER_CA", value_name = "PATH")]
    pub provider_ca: Option<String>,
    /// Address of the metadata service [default: the link-local one].
    #[arg(long, env = "CURFEW_METADATA", value_name = "URL")]
    pub metadata: Option<String>,
    /// Where the firmware's tables are [default: /sys/class/dmi/id].
    #[arg(long, env = "CURFEW_DMI", value_name = "DIR")]
    pub dmi: Option<String>,
    /// The kubelet's kubeconfig. Without it the places of kubeadm, k3s and RKE2 are tried.
    #[arg(long, env = "CURFEW_KUBECONFIG", value_name = "PATH")]
    pub kubeconfig: Option<String>,
    /// Name of this machine's Node. Without it the credential tells.
    #[arg(long, env = "CURFEW_NODE_NAME", value_name = "NAME")]
    pub node_name: Option<String>,
    /// How long this server may live at most, whatever anybody says (5m to 400 days) [default: 24h].
    #[arg(long, env = "CURFEW_MAX_LIFETIME", value_name = "DURATION")]
    pub max_lifetime: Option<String>,
    /// How often to write the heartbeat (1s to 5m) [default: 30s].
    #[arg(long, env = "CURFEW_HEARTBEAT", value_name = "DURATION")]
    pub heartbeat: Option<String>,
    /// How often to prove the token (1s to 24h) [default: 1h].
    #[arg(long, env = "CURFEW_PROBE", value_name = "DURATION")]
    pub probe: Option<String>,
    /// For how long a first arming without a ledger acts upon no deadline (at most 10m) [default: 10m].
    #[arg(long, env = "CURFEW_FIRST_HOLD", value_name = "DURATION")]
    pub first_hold: Option<String>,
    /// Where the live ledger is kept [default: /run/curfew].
    #[arg(long, env = "CURFEW_RUN_DIR", value_name = "DIR")]
    pub run_dir: Option<String>,
    /// Where the ledger is kept over reboots [default: /var/lib/curfew].
    #[arg(long, env = "CURFEW_STATE_DIR", value_name = "DIR")]
    pub state_dir: Option<String>,
    /// Arm everything and delete nothing; never counts as armed. The lifetime runs on meanwhile.
    #[arg(long, env = "CURFEW_OBSERVE", value_name = "yes|no", num_args = 0..=1, require_equals = true,
          default_missing_value = "yes")]
    pub observe: Option<String>,
}

/// What was not taken, in words for a person. Never holds the value of a secret: no secret is an option.
pub type Complaint = String;

/// The options of `run` and `check` as far as they make sense, and what did not. One that does not exist or lacks its
/// value is left out, and only that one: it must not disarm the others.
#[must_use]
pub fn lenient(args: &[OsString]) -> (Options, Vec<Complaint>) {
    let mut args = args.to_vec();
    let (readable, mut complaints) = readable();
    loop {
        let parsed = readable.clone().try_get_matches_from(&args);
        match parsed.and_then(|matches| Cli::from_arg_matches(&matches)).map(|cli| cli.command) {
            Ok(Command::Run(options) | Command::Check(options)) => return (options, complaints),
            Ok(_) => return (Options::default(), complaints),
            Err(error) => {
                complaints.push(error.to_string().lines().next().unwrap_or_default().to_owned());
                if args.len() <= 2 {
                    return (Options::default(), complaints);
                }
                args.remove(culprit(&error, &args));
            }
        }
    }
}

/// The command line without the environment variables that are not text, and a complaint of each of them.
fn readable() -> (clap::Command, Vec<Complaint>) {
    let garbled =
        |arg: &Arg| arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.to_str().is_none());
    let mut complaints = BTreeSet::new();
    let command = Cli::command().mut_subcommands(|command| {
        command.mut_args(|arg| {
            if !garbled(&arg) {
                return arg;
            }
            complaints.insert(format!("the environment variable of --{} is not text", arg.get_id()));
            arg.env(Resettable::Reset)
        })
    });
    (command, complaints.into_iter().collect())
}

/// Which argument an error is about: the one it names, or else the last, so that parsing always comes to an end.
fn culprit(error: &clap::Error, args: &[OsString]) -> usize {
    let named = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(name)) => name.split([' ', '=']).next().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    // Of `-1s`, which was meant for a value, only `-1` is named.
    let is_short = named.len() == 2 && named.starts_with('-') && named != "--";
    let is_it = |arg: &OsString| {
        let arg = arg.to_str().unwrap_or_default();
        arg.split('=').next() == Some(named.as_str())
            || is_short && arg.starts_with(&named) && !arg.starts_with("--")
    };
    let last = args.len() - 1;
    // Of an option that is given twice, the later one is too many.
    args.iter().rposition(is_it).filter(|at| *at >= 2).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> (Options, usize) {
        let args: Vec<OsString> = line.split(' ').map(Into::into).collect();
        let (options, complaints) = lenient(&args);
        (options, complaints.len())
    }

    #[test]
    fn one_wrong_option_disarms_no_other() {
        for (line, wrong) in [
            ("curfew-agent run --max-lifetime 1h --observe", 0),
            ("curfew-agent run --bogus --max-lifetime 1h --observe", 1),
            ("curfew-agent run --bogus=3 --max-lifetime 1h --observe", 1),
            ("curfew-agent run stray --max-lifetime 1h --observe", 1),
            ("curfew-agent run --max-lifetime 1h --observe --heartbeat", 1),
            ("curfew-agent run --max-lifetime 1h --observe -x -y --token", 3),
            ("curfew-agent run --probe -1s --max-lifetime 1h --observe", 2),
            ("curfew-agent check --bogus --max-lifetime 1h --observe=yes", 1),
            ("curfew-agent run --max-lifetime 1h --max-lifetime 2h --observe", 2),
        ] {
            let (options, complaints) = parse(line);
            assert_eq!(options.max_lifetime.as_deref(), Some("1h"), "{line}");
            assert_eq!(options.observe.as_deref(), Some("yes"), "{line}");
            assert_eq!(complaints, wrong, "{line}");
        }
    }
}
