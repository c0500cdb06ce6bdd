//! Calls that rent, and that say for how long.

use std::collections::BTreeMap;

use curfew_provider::{ActionId, Created, NotCreated, Order, Progress, Server, ServerId};

use super::Account;
use crate::cloud::{CallError, Urgency};

impl Account {
    /// Orders a server, which costs from then on. [`CallError::Held`]: nothing was sent. Any other [`CallError`], and
    /// [`NotCreated::Refused`]: the server may exist; ask [`Account::find_server`] before anything else.
    pub(crate) async fn create(&self, order: &Order) -> Result<Result<Created, NotCreated>, CallError> {
        let answer = self.call(&self.driver.create(order, &self.token), Urgency::Work).await?;
        Ok(self.driver.created(&answer))
    }

    /// The server of exactly this name. Whose it is, its labels must tell: names are reused.
    pub(crate) async fn find_server(&self, name: &str) -> Result<Option<Server>, CallError> {
        let answer = self.call(&self.driver.list_named(name, &self.token)?, Urgency::Work).await?;
        let listing = self.driver.listing(&answer).map_err(CallError::Refused)?;
        Ok(listing.servers.into_iter().find(|server| server.name == name))
    }

    /// How an action fares.
    pub(crate) async fn progress(&self, id: ActionId) -> Result<Progress, CallError> {
        let answer = self.call(&self.driver.action(id, &self.token), Urgency::Work).await?;
        self.driver.progress(&answer).map_err(CallError::Refused)
    }

    /// Sets these labels beside those that the server has, and reads them back. Labels are replaced whole at the
    /// provider, so they are read first: what another writer sets in between is lost.
    pub(crate) async fn relabel(
        &self,
        id: ServerId,
        set: &BTreeMap<String, String>,
    ) -> Result<Server, CallError> {
        let carries = |server: &Server| set.iter().all(|(key, value)| server.labels.get(key) == Some(value));
        let server = self.read(id, Urgency::Work).await?;
        if carries(&server) {
            return Ok(server);
        }
        let mut labels = server.labels;
        labels.extend(set.clone());
        let request = self.driver.relabel(id, &labels, &self.token);
        let answer = self.call(&request, Urgency::Work).await?;
        self.driver.server(&answer, curfew_provider::Caller::Another).map_err(CallError::Refused)?;
        let server = self.read(id, Urgency::Work).await?;
        if carries(&server) { Ok(server) } else { Err(CallError::NO_SENSE) }
    }
}
