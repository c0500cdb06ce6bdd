//! The end of a machine, by the cloud's ledger and the Node.

use std::time::Duration;

use jiff::Timestamp;

use crate::{
    api::{Api, ApiError},
    cloud::{Caller, Cloud, Entry},
};

/// The end of a machine, as the cloud saw it.
#[derive(Clone, Debug)]
pub struct Gone {
    /// When the DELETE was accepted.
    pub at: Timestamp,
    /// Whose token it carried.
    pub by: String,
    /// The deadline that was in force.
    pub deadline: Option<Timestamp>,
}

impl Gone {
    /// Waits for the end of a server, whose Node has this name. `None`: it still lives.
    pub async fn wait(
        cloud: &Cloud,
        api: &Api,
        server: u64,
        node: &str,
        within: Duration,
    ) -> Result<Option<Self>, ApiError> {
        let Some(at) = cloud.wait_gone(server, within).await else { return Ok(None) };
        let deadline = api.deadline(node).await?;
        let path = format!("/v1/servers/{server}");
        let deletes = |entry: &Entry| entry.method == "DELETE" && entry.path == path && entry.status < 300;
        let by = match cloud.ledger().into_iter().find(deletes).map(|entry| entry.caller) {
            Some(Caller::Known { holder, .. }) => holder,
            other => format!("{other:?}"),
        };
        Ok(Some(Self { at, by, deadline }))
    }

    /// Seconds from the deadline in force. Negative: too early.
    #[must_use]
    pub fn overshoot(&self) -> Option<f64> {
        self.deadline.map(|deadline| self.at.duration_since(deadline).as_secs_f64())
    }
}
