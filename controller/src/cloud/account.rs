//! The typed calls: the only place in the controller where a request to a provider is built and sent.

use std::{collections::BTreeMap, fmt, path::Path, sync::Arc};

use curfew_provider::{Answer, Caller, Driver, Outcome, Request, Server, ServerId, Token, hetzner::Hetzner};

use super::{CallError, Endpoint, TransportError, Urgency, gate::Gate, transport::Transport};

/// One credential of one provider. Shared: budget and breaker are everyone's.
pub(crate) struct Account {
    driver: Arc<dyn Driver>,
    token: Token,
    transport: Transport,
    gate: Gate,
}

impl Account {
    /// An account at Hetzner. `authorities`: a PEM file of certificate authorities beside the public ones.
    pub(crate) fn hetzner(
        endpoint: Endpoint,
        token: Token,
        authorities: Option<&Path>,
    ) -> Result<Self, TransportError> {
        let driver = Arc::new(Hetzner::new(endpoint.as_str()));
        Ok(Self { driver, token, transport: Transport::new(endpoint, authorities)?, gate: Gate::default() })
    }

    /// How the provider names things.
    pub(crate) fn driver(&self) -> &dyn Driver {
        &*self.driver
    }

    /// Host and port, for people.
    pub(crate) fn host(&self) -> String {
        self.transport.host()
    }

    /// Whether it is the account of this credential at this endpoint.
    pub(crate) fn is_of(&self, endpoint: &Endpoint, token: &Token) -> bool {
        self.transport.endpoint() == endpoint && self.token == *token
    }

    /// Every server that carries `label = value`, page by page. A server may be missing that was there all the
    /// while, since deletions meanwhile move the others up: only [`Account::read`] proves absence.
    pub(crate) async fn list(
        &self,
        label: (&str, &str),
        urgency: Urgency,
    ) -> Result<BTreeMap<ServerId, Server>, CallError> {
        let mut servers = BTreeMap::new();
        let mut next = Some(1);
        while let Some(page) = next {
            let answer = self.call(&self.driver.list(label, page, &self.token), urgency).await?;
            let listing = self.driver.listing(&answer).map_err(CallError::Refused)?;
            servers.extend(listing.servers.into_iter().map(|server| (server.id, server)));
            next = listing.next_page;
            if next.is_some_and(|next| next <= page || next > MOST_PAGES) {
                return Err(CallError::Refused(Outcome::Retry { after: None }));
            }
        }
        Ok(servers)
    }

    /// One server. [`CallError::is_gone`] is the proof that it is gone, if its id is known from this account.
    pub(crate) async fn read(&self, id: ServerId, urgency: Urgency) -> Result<Server, CallError> {
        let answer = self.call(&self.driver.read(id, &self.token), urgency).await?;
        self.driver.server(&answer, Caller::Another).map_err(CallError::Refused)
    }

    /// Deletes a server. There is no way back. Nothing but a later [`Account::read`] proves that it is gone.
    pub(crate) async fn delete(&self, id: ServerId) -> Result<Outcome, CallError> {
        let answer = self.call(&self.driver.delete(id, &self.token), Urgency::Deletion).await?;
        Ok(self.driver.deleted(&answer, Caller::Another))
    }

    /// Lifts whatever protects a server from deletion.
    pub(crate) async fn lift_protection(&self, id: ServerId) -> Result<Outcome, CallError> {
        let request = self.driver.lift_protection(id, &self.token);
        let answer = self.call(&request, Urgency::Deletion).await?;
        Ok(self.driver.deleted(&answer, Caller::Another))
    }

    async fn call(&self, request: &Request, urgency: Urgency) -> Result<Answer, CallError> {
        let ticket = self.gate.enter(urgency)?;
        match self.transport.send(request).await {
            Ok(answer) => {
                ticket.answered(&answer);
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
