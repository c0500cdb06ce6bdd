//! The typed calls: the only place in the controller where a request to a provider is built and sent.

mod renting;
mod shelf;

use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use curfew_provider::{
    ActionId, Answer, Caller, Capabilities, Outcome, Rental, Request, Server, ServerId, Token,
    hetzner::Hetzner,
};
use jiff::Timestamp;

use super::{CallError, Endpoint, TransportError, Urgency, gate::Gate, transport::Transport};
use crate::clock::{Uptime, http_date};

/// One credential of one provider. Shared: budget and breaker are everyone's.
pub(crate) struct Account {
    driver: Arc<dyn Rental>,
    token: Token,
    transport: Transport,
    gate: Gate,
    date: Mutex<Option<Timestamp>>,
}

impl Account {
    /// An account at Hetzner. `authorities`: a PEM file of certificate authorities beside the public ones.
    pub(crate) fn hetzner(
        endpoint: Endpoint,
        token: Token,
        authorities: Option<&Path>,
    ) -> Result<Self, TransportError> {
        let driver = Arc::new(Hetzner::new(endpoint.as_str()));
        let (transport, gate) = (Transport::new(endpoint, authorities)?, Gate::default());
        Ok(Self { driver, token, transport, gate, date: Mutex::default() })
    }

    /// How the provider names things.
    pub(crate) fn driver(&self) -> &dyn Rental {
        &*self.driver
    }

    /// What the provider can do.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.driver.capabilities()
    }

    /// Host and port, for people.
    pub(crate) fn host(&self) -> String {
        self.transport.host()
    }

    /// What the provider's own clock said in its last answer, cut to the second.
    pub(crate) fn date(&self) -> Option<Timestamp> {
        *self.date.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is the account of this credential at this endpoint.
    pub(crate) fn is_of(&self, endpoint: &Endpoint, token: &Token) -> bool {
        self.transport.endpoint() == endpoint && self.token == *token
    }

    /// When the provider refused the credential last, whoever asked.
    pub(crate) fn denied(&self) -> Option<Uptime> {
        self.gate.denied()
    }

    /// Every server that carries `label = value`, page by page. A server may be missing that was there all the
    /// while, since deletions meanwhile move the others up: only [`Account::read`] proves absence.
    pub(crate) async fn list(
        &self,
        label: (&str, &str),
        urgency: Urgency,
    ) -> Result<BTreeMap<ServerId, Server>, CallError> {
        let request = |page| self.driver.list(label, page, &self.token);
        let read = |answer: &Answer| self.driver.listing(answer).map(|page| (page.servers, page.next_page));
        let servers = self.pages(urgency, request, read).await?;
        Ok(servers.into_iter().map(|server| (server.id, server)).collect())
    }

    /// One server. [`CallError::is_gone`] is the proof that it is gone, if its id is known from this account.
    pub(crate) async fn read(&self, id: ServerId, urgency: Urgency) -> Result<Server, CallError> {
        let answer = self.call(&self.driver.read(id, &self.token), urgency).await?;
        self.driver.server(&answer, Caller::Another).map_err(CallError::Refused)
    }

    /// Deletes a server. There is no way back. Nothing but a later [`Account::read`] proves that it is gone.
    pub(crate) async fn delete(&self, id: ServerId) -> Result<(Outcome, Option<ActionId>), CallError> {
        let answer = self.call(&self.driver.delete(id, &self.token), Urgency::Deletion).await?;
        Ok(self.driver.deletion(&answer))
    }

    /// Lifts whatever protects a server from deletion.
    pub(crate) async fn lift_protection(&self, id: ServerId) -> Result<Outcome, CallError> {
        let request = self.driver.lift_protection(id, &self.token);
        let answer = self.call(&request, Urgency::Deletion).await?;
        Ok(self.driver.deleted(&answer, Caller::Another))
    }

    /// Whether the credential may delete, found out without deleting: it writes the name of `own` over itself, a
    /// server of ours, or else deletes one that cannot exist. An error that [`CallError::denies`] is a no; any other
    /// says nothing.
    pub(crate) async fn probe(&self, own: Option<&Server>) -> Result<(), CallError> {
        if let Some(own) = own {
            let request = self.driver.probe_write(own, &self.token);
            let answer = self.call(&request, Urgency::Look).await?;
            match self.driver.server(&answer, Caller::Another) {
                // Gone since it was listed.
                Err(Outcome::Gone) => {}
                written => return written.map(drop).map_err(CallError::Refused),
            }
        }
        let nobody = ServerId::try_from(NEVER_ISSUED).map_err(|_| CallError::NO_SENSE)?;
        let answer = self.call(&self.driver.delete(nobody, &self.token), Urgency::Look).await?;
        match self.driver.deleted(&answer, Caller::Another) {
            Outcome::Gone | Outcome::Accepted => Ok(()),
            refused => Err(CallError::Refused(refused)),
        }
    }

    /// Every page of a list.
    async fn pages<T>(
        &self,
        urgency: Urgency,
        request: impl Fn(u32) -> Request,
        read: impl Fn(&Answer) -> Result<(Vec<T>, Option<u32>), Outcome>,
    ) -> Result<Vec<T>, CallError> {
        let (mut all, mut next) = (Vec::new(), Some(1));
        while let Some(page) = next {
            let answer = self.call(&request(page), urgency).await?;
            let (items, following) = read(&answer).map_err(CallError::Refused)?;
            all.extend(items);
            if following.is_some_and(|following| following <= page || following > MOST_PAGES) {
                return Err(CallError::NO_SENSE);
            }
            next = following;
        }
        Ok(all)
    }

    async fn call(&self, request: &Request, urgency: Urgency) -> Result<Answer, CallError> {
        let ticket = self.gate.enter(urgency)?;
        match self.transport.send(request).await {
            Ok(answer) => {
                ticket.answered(&answer, self.driver.deleted(&answer, Caller::Another).denies());
                if let Some(date) = answer.date().and_then(http_date) {
                    *self.date.lock().unwrap_or_else(PoisonError::into_inner) = Some(date);
                }
                Ok(answer)
            }
            Err(error) => {
                ticket.failed();
                Err(error.into())
            }
        }
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("host", &self.host()).finish_non_exhaustive()
    }
}

/// More servers than any project may hold; a list without an end is not taken into memory.
const MOST_PAGES: u32 = 400;
/// The largest id there can be, 2^53-1.
const NEVER_ISSUED: u64 = (1 << 53) - 1;

#[cfg(test)]
mod tests;
