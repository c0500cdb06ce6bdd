//! The command line of a machine's agent and backstop. Holds values only.

use std::{collections::BTreeMap, path::Path, time::Duration};

use super::Spec;
use crate::cloud::Cloud;

/// What every program on the machine is told.
pub(super) struct Options<'a> {
    pub(super) spec: &'a Spec,
    pub(super) cloud: &'a Cloud,
    /// The server's.
    pub(super) id: u64,
    pub(super) dir: &'a Path,
    pub(super) kubeconfig: &'a Path,
    /// Where the credential does not tell.
    pub(super) node: Option<String>,
}

impl Options<'_> {
    /// As arguments. `who`: whose token.
    pub(super) fn of(&self, who: &str) -> Vec<String> {
        let path = |part: &str| self.dir.join(part).display().to_string();
        let seconds = |span: Duration| format!("{}s", span.as_secs());
        let mut pairs = BTreeMap::from([
            ("--endpoint", self.cloud.endpoint()),
            ("--metadata", self.cloud.metadata_endpoint(self.id)),
            ("--token-file", path(who)),
            ("--dmi", path("dmi")),
            ("--kubeconfig", self.kubeconfig.display().to_string()),
            ("--run-dir", path("run")),
            ("--state-dir", path("state")),
            ("--max-lifetime", "24h".into()),
            ("--first-hold", "0s".into()),
            ("--heartbeat", seconds(self.spec.heartbeat)),
            ("--probe", seconds(self.spec.probe)),
        ]);
        pairs.extend(self.node.clone().map(|node| ("--node-name", node)));
        pairs.extend(self.spec.options.clone());
        let pairs = pairs.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
        pairs.chain(self.spec.arguments.clone()).collect()
    }
}
