//! The command line, as typed. Meaning and fall-backs are [`crate::config`]'s.
//!
//! Options are texts here on purpose: a value that makes no sense must not keep `run` from arming.

use clap::{Args, Parser, Subcommand};

/// Deletes its own server when its deadline passes.
#[derive(Debug, Parser)]
#[command(name = "curfew-agent", version, about, disable_version_flag = true)]
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
    Status(Options),
    /// Check an image or machine before it is used. Each failure has its own exit code.
    Verify {
        /// Root directory of the image.
        #[arg(long, default_value = "/", value_name = "DIR")]
        root: std::path::PathBuf,
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
    /// Address of the provider's API, with its version: where to delete.
    #[arg(long, env = "HCLOUD_ENDPOINT", value_name = "URL")]
    pub endpoint: Option<String>,
    /// File with the provider's token, read again at each use. Without it `HCLOUD_TOKEN` is used.
    #[arg(long, env = "CURFEW_TOKEN_FILE", value_name = "PATH")]
    pub token_file: Option<String>,
    /// Certificate authorities of the provider's API, beside the public ones (PEM).
    #[arg(long, env = "CURFEW_PROVIDER_CA", value_name = "PATH")]
    pub provider_ca: Option<String>,
    /// Address of the metadata service.
    #[arg(long, env = "CURFEW_METADATA", value_name = "URL")]
    pub metadata: Option<String>,
    /// Where the firmware's tables are.
    #[arg(long, env = "CURFEW_DMI", value_name = "DIR")]
    pub dmi: Option<String>,
    /// The kubelet's kubeconfig. Without it the places of kubeadm, k3s and RKE2 are tried.
    #[arg(long, env = "CURFEW_KUBECONFIG", value_name = "PATH")]
    pub kubeconfig: Option<String>,
    /// Name of this machine's Node. Without it the credential tells.
    #[arg(long, env = "CURFEW_NODE_NAME", value_name = "NAME")]
    pub node_name: Option<String>,
    /// How long this server may live at most, whatever anybody says (5m to 400 days).
    #[arg(long, env = "CURFEW_MAX_LIFETIME", value_name = "DURATION")]
    pub max_lifetime: Option<String>,
    /// How often to write the heartbeat (1s to 5m).
    #[arg(long, env = "CURFEW_HEARTBEAT", value_name = "DURATION")]
    pub heartbeat: Option<String>,
    /// How often to prove the token (1s to 24h).
    #[arg(long, env = "CURFEW_PROBE", value_name = "DURATION")]
    pub probe: Option<String>,
    /// For how long a first arming without a ledger acts upon no deadline (at most 10m).
    #[arg(long, env = "CURFEW_FIRST_HOLD", value_name = "DURATION")]
    pub first_hold: Option<String>,
    /// Where the live ledger is kept.
    #[arg(long, env = "CURFEW_RUN_DIR", value_name = "DIR")]
    pub run_dir: Option<String>,
    /// Where the ledger is kept over reboots.
    #[arg(long, env = "CURFEW_STATE_DIR", value_name = "DIR")]
    pub state_dir: Option<String>,
    /// Arm everything and delete nothing. Never counts as armed.
    #[arg(long, env = "CURFEW_OBSERVE")]
    pub observe: bool,
}
