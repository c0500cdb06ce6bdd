//! A lease that rents, and everything that it needs besides itself.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    api::{Api, ApiError},
    cloud::{Access, Cloud, Project},
    machine::{AGENT, TEMPLATE},
};

/// Holder of the controller's token, in the cloud's ledger.
pub const CONTROLLER: &str = "controller";

/// The tokens that were issued for a `ProviderConfig`.
#[derive(Clone)]
pub struct Credentials {
    /// The controller's.
    pub controller: String,
    /// The one that every machine is given. In the ledger its holder is the agent.
    pub node: String,
}

impl Credentials {
    /// Issues both, and keeps them in two Secrets, `NAME` and `NAME-machine`, to which a `ProviderConfig` called `name`
    /// refers.
    pub async fn issue(name: &str, cloud: &Cloud, api: &Api) -> Result<Self, ApiError> {
        let token = |holder| cloud.issue_token(Project::OURS, Access::ReadWrite, holder);
        let issued = Self { controller: token(CONTROLLER), node: token(AGENT) };
        api.add_secret(name, &[("token", &issued.controller)]).await?;
        let machine = format!("{name}-machine");
        api.add_secret(&machine, &[("user-data", TEMPLATE), ("token", &issued.node)]).await?;
        api.add_provider_config(name, &provider(name, &cloud.endpoint())).await?;
        Ok(issued)
    }
}

/// The `ProviderConfig` that refers to these Secrets, as a person types it.
#[must_use]
pub fn provider(name: &str, endpoint: &str) -> Value {
    let machine = format!("{name}-machine");
    json!({
        "hetzner": {
            "endpoint": endpoint,
            "credentialsSecretRef": {"name": name},
            "image": {"name": "ubuntu-24.04"},
        },
        "userDataSecretRef": {"name": machine},
        "nodeCredential": {"secretRef": {"name": machine}},
    })
}

/// A lease that rents, as a person types it.
#[derive(Clone, Debug)]
pub struct Rental {
    /// Name of the `ProviderConfig`.
    pub provider: String,
    /// For how long.
    pub duration: Duration,
    /// How many machines.
    pub replicas: usize,
    /// `teardownGrace`: with so much left their work is moved.
    pub teardown_grace: Duration,
    /// `renewInterval` and `slack`.
    pub watchdog: (Duration, Duration),
}

impl Rental {
    /// One machine, with the shortest renewals there are.
    #[must_use]
    pub fn new(provider: &str, duration: Duration) -> Self {
        Self {
            provider: provider.into(),
            duration,
            replicas: 1,
            teardown_grace: Duration::from_secs(5),
            watchdog: (Duration::from_secs(10), Duration::from_secs(11)),
        }
    }

    /// The lease's `spec`.
    #[must_use]
    pub fn spec(&self) -> Value {
        let seconds = |span: Duration| format!("{}s", span.as_secs());
        json!({
            "duration": seconds(self.duration),
            "teardownGrace": seconds(self.teardown_grace),
            "watchdog": {"renewInterval": seconds(self.watchdog.0), "slack": seconds(self.watchdog.1)},
            "rent": {
                "providerRef": {"name": self.provider},
                "region": "fsn1", "size": "cpx22", "replicas": self.replicas,
            },
        })
    }
}
