//! The command line, as typed.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

use crate::{cloud_init::CloudInitArgs, sweep::SweepArgs};

/// Writes deadlines to Nodes, and shows whether each machine will keep its own.
#[derive(Debug, Parser)]
#[command(name = "curfew-controller", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Keep the leases of a cluster until told to stop.
    Run(RunArgs),
    /// Print the `CustomResourceDefinition` as YAML.
    Crd,
    /// Print user-data for cloud-init that arms a machine before Kubernetes has it. Needs no cluster and no network.
    CloudInit(Box<CloudInitArgs>),
    /// Delete what outlived its deadline, from anywhere: needs the provider's token and no cluster.
    Sweep(Box<SweepArgs>),
    /// Print the version.
    Version,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, then the pod's own service account].
    #[arg(long, env = "CURFEW_KUBECONFIG", value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Where the Secrets are that a `ProviderConfig` names; none is read elsewhere [default: the namespace of the
    /// pod's own service account, else `curfew`].
    #[arg(long, env = "CURFEW_NAMESPACE", value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// Certificate authorities of the providers' APIs, beside the public ones (PEM).
    #[arg(long, env = "CURFEW_PROVIDER_CA", value_name = "FILE")]
    pub(crate) provider_ca: Option<PathBuf>,

    /// Where /livez and /readyz are served: ADDRESS:PORT, or "off".
    #[arg(
        long,
        env = "CURFEW_ADMIN_ADDRESS",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:9091",
        value_parser = admin_address
    )]
    pub(crate) admin_address: AdminAddress,

    /// What is logged, as `RUST_LOG` would say it: `info`, `curfew_controller=debug,kube=info`.
    #[arg(
        long,
        env = "CURFEW_LOG",
        value_name = "FILTER",
        default_value = "info,kube_client=off,kube_runtime=error"
    )]
    pub(crate) log: String,

    /// How it is logged.
    #[arg(long, env = "CURFEW_LOG_FORMAT", value_enum, default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// `None` is "off".
pub(crate) type AdminAddress = Option<SocketAddr>;

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// One line for people.
    Text,
    /// One JSON object a line.
    Json,
}

fn admin_address(text: &str) -> Result<AdminAddress, String> {
    if text == "off" {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| "write it like 127.0.0.1:9091, [::1]:9091 or off".into())
}
