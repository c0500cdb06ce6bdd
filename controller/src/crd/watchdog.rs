//! How far ahead deadlines are written: said by a lease, or for all leases of a provider.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::DURATION;

/// The rolling deadline of each machine is `now + renewInterval + slack`, never later than the lease's end.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.slack > self.renewInterval").message("slack must be longer than renewInterval, or one late renewal deletes a machine"))]
#[x_kube(validation = Rule::new("!has(self.grace) || (self.grace >= duration('0s') && self.grace + self.grace <= self.slack)").message("grace must not be negative, nor longer than half of slack"))]
pub struct WatchdogSpec {
    /// How often the deadline is moved ahead while the controller lives. At least 10 s. Without it: 1 m.
    #[serde(default = "one_minute")]
    #[schemars(extend("format" = "duration"), regex(pattern = DURATION), length(max = 32))]
    #[x_kube(validation = Rule::new("self >= duration('10s')").message("renewInterval must be at least 10s"))]
    pub renew_interval: String,

    /// How long an outage of the control plane may last: one that lasts longer deletes every machine of the
    /// lease. Longer than `renewInterval`, at most 24 h. Without it: 10 m.
    #[serde(default = "ten_minutes")]
    #[schemars(extend("format" = "duration"), regex(pattern = DURATION), length(max = 32))]
    #[x_kube(validation = Rule::new("self <= duration('24h')").message("slack must be at most 24h"))]
    pub slack: String,

    /// With less than this left, which means that renewals have stopped or the lease ends, a machine cordons its own
    /// Node and evicts its own pods. At most half of `slack`. Without it: 2 m, or half of `slack` where that is less.
    /// `0s`: it moves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "duration"), regex(pattern = DURATION), length(max = 32))]
    pub grace: Option<String>,
}

impl Default for WatchdogSpec {
    fn default() -> Self {
        Self { renew_interval: one_minute(), slack: ten_minutes(), grace: None }
    }
}

fn one_minute() -> String {
    "1m".into()
}

fn ten_minutes() -> String {
    "10m".into()
}
