//! A sweeper that is no part of the cluster: it has a token of its own and knows of nothing else.

use std::{io, time::Duration};

use super::Stage;
use crate::{
    cloud::{Access, Project},
    process::Process,
};

/// Holder of the sweeper's token, in the cloud's ledger.
pub const SWEEPER: &str = "sweeper";

impl Stage {
    /// Starts one. It runs until what is returned is dropped.
    pub fn sweeper(&self, every: Duration, grace: Duration) -> io::Result<Process> {
        let mut command = self.site.programs.controller();
        let seconds = |span: Duration| format!("{}s", span.as_secs());
        command.args(["sweep", "--provider", "hetzner", "--endpoint", &self.cloud.endpoint()]);
        command.args(["--every", &seconds(every), "--grace", &seconds(grace)]);
        command.env("HCLOUD_TOKEN", self.cloud.issue_token(Project::OURS, Access::ReadWrite, SWEEPER));
        Process::start(command, &self.dir.path().join("sweeper.log"))
    }
}
