//! Who this machine is, and whether its token may delete it: found out, kept fresh, never taken for granted.
//!
//! Owns the conversation with the provider while nothing is being deleted: a read and a write that changes nothing, at
//! start and then hourly. Deletes nothing. Until both have succeeded the machine shows as unarmed, hours before it
//! matters.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use curfew_contract::{Authority, Identity, Note};
use curfew_provider::{Answer, Caller, Driver, Outcome, Server, Token};
use tokio::sync::watch;

use crate::{
    backoff::Backoff,
    clocks,
    credential::{Credential, CredentialError},
    fuse::{FuseHandle, Tell},
    identity::{self, Claim, Dmi, Unproven},
    journal,
    ledger::Machine,
    net::{HttpError, Options, Transport},
    time::{Boot, Span},
};

/// What is known, for heartbeat and status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The server this machine says it is, as a providerID.
    pub server: Option<String>,
    /// Whether that is proven, and the server consented.
    pub identity: Identity,
    /// What the last probe that was answered found.
    pub authority: Authority,
    /// When a probe last succeeded.
    pub verified: Option<Boot>,
    /// What a person should know.
    pub notes: Vec<Note>,
}

/// Why a probe came to no result.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No token.
    #[error("the provider cannot be asked without a token")]
    Credential(#[from] CredentialError),
    /// No answer.
    #[error("the provider did not answer the probe")]
    Http(#[from] HttpError),
    /// Not this machine, or it may not be deleted.
    #[error("this machine is not armed")]
    Unproven(#[from] Unproven),
    /// A refusal, or an answer that decides nothing.
    #[error("the provider did not show this server's record")]
    Outcome(#[from] Outcome),
    /// It is this machine, and it consented; but the write that changes nothing was refused.
    #[error("the probe was not allowed")]
    Write(#[source] Outcome),
}

/// What a successful probe tells.
#[derive(Clone, Debug)]
pub struct Probed {
    /// The server, by the provider's record.
    pub server: Server,
    /// Its create call was ours.
    pub rented_by_us: bool,
    /// Under a quarter of the project's rate limit is left.
    pub budget_is_low: bool,
    /// Where the provider answered, for a day when the name service does not.
    pub address: Option<SocketAddr>,
}

/// Asks the provider.
#[derive(Clone)]
pub struct Prober {
    /// The provider's language.
    pub driver: Arc<dyn Driver>,
    /// The token.
    pub credential: Arc<Credential>,
    /// The firmware.
    pub dmi: Dmi,
    /// Address of the metadata service.
    pub metadata: String,
    /// How to connect.
    pub transport: Options,
}

impl Prober {
    /// What this machine says of itself.
    pub async fn claim(&self) -> Result<Claim, ProbeError> {
        let firmware = self.dmi.server(self.driver.as_ref());
        let url = format!("{}{}", self.metadata.trim_end_matches('/'), self.driver.metadata_path());
        let metadata = Transport::new(&self.transport)?.metadata(&url, METADATA).await.ok().flatten();
        Ok(Claim::weigh(firmware, metadata.and_then(|id| self.driver.whoami_metadata(&id)))?)
    }

    /// Reads the server's record and writes its own name over itself: two calls.
    pub async fn probe(&self, claim: Claim) -> Result<Probed, ProbeError> {
        let token = self.credential.read()?;
        let transport = Transport::new(&self.transport)?;
        if let Some(fault) = transport.authorities_fault() {
            tracing::warn!(
                error = journal::chain(fault),
                "the provider's additional authorities are not in force"
            );
        }
        let answer = transport.send(&self.driver.read(claim.server(), &token), CALL).await?;
        let server = self.driver.server(&answer, Caller::TheServerItself)?;
        let consent = claim.prove(&server, &identity::own_addresses())?;
        let written = self.write(&transport, &server, &token).await?;
        self.credential.found_good(token);
        let budget_is_low = written.budget().is_some_and(curfew_provider::RateBudget::is_low);
        let address = transport.last_address();
        Ok(Probed { server, rented_by_us: consent.rented_by_us, budget_is_low, address })
    }

    async fn write(
        &self,
        transport: &Transport,
        server: &Server,
        token: &Token,
    ) -> Result<Answer, ProbeError> {
        let answer = transport.send(&self.driver.probe_write(server, token), CALL).await?;
        self.driver.server(&answer, Caller::TheServerItself).map_err(ProbeError::Write)?;
        Ok(answer)
    }
}

impl ProbeError {
    /// What a probe without result says of the credential. `None`: nothing; what was known stands until it is too old.
    #[must_use]
    pub const fn authority(&self) -> Option<Authority> {
        match self {
            Self::Outcome(outcome) | Self::Write(outcome) if outcome.denies() => Some(Authority::Denied),
            Self::Credential(_) => Some(Authority::Denied),
            _ => None,
        }
    }
}

impl Standing {
    /// The authority at `now`: a success older than two probe intervals proves nothing any more.
    #[must_use]
    pub fn authority_at(&self, now: Boot, probe_every: Span) -> Authority {
        let fresh =
            |at: Boot| now.since(at).millis() <= probe_every.millis().saturating_mul(2) + PROBE_MAY_TAKE;
        match self.authority {
            Authority::Verified if !self.verified.is_some_and(fresh) => Authority::Unverified,
            authority => authority,
        }
    }

    /// Takes a probe's result into account.
    #[must_use]
    pub fn after(self, result: &Result<Probed, ProbeError>, now: Boot) -> Self {
        match result {
            Ok(probed) => Self {
                identity: Identity::Proven,
                authority: Authority::Verified,
                verified: Some(now),
                notes: if probed.server.protected { vec![Note::Protected] } else { vec![] },
                ..self
            },
            Err(ProbeError::Unproven(unproven)) => {
                Self { identity: Identity::Unproven, notes: vec![unproven.note()], ..self }
            }
            Err(error) => {
                let notes = match error {
                    ProbeError::Credential(_) => vec![Note::CredentialUnreadable],
                    _ => self.notes,
                };
                let identity =
                    if matches!(error, ProbeError::Write(_)) { Identity::Proven } else { self.identity };
                Self { identity, authority: error.authority().unwrap_or(self.authority), notes, ..self }
            }
        }
    }
}

/// Keeps the standing fresh, for ever.
pub async fn keep(
    prober: &Prober,
    every: Span,
    machine: Machine,
    fuse: &FuseHandle,
    standing: &watch::Sender<Standing>,
) {
    let mut machine = machine;
    loop {
        let mut backoff = Backoff::new(FIRST_DELAY, LONGEST_DELAY.min(every.wait()));
        let budget_is_low = loop {
            let result = look(prober, &mut machine, fuse, standing).await;
            let now = clocks::read().boot;
            standing.send_modify(|s| *s = std::mem::take(s).after(&result, now));
            match result {
                Ok(found) => break found.budget_is_low,
                Err(error) => tracing::error!(
                    error = journal::chain(&error),
                    "this machine cannot be deleted by itself yet"
                ),
            }
            tokio::time::sleep(backoff.next_delay()).await;
        };
        let stretch = if budget_is_low { STRETCH } else { 1.0 };
        tokio::time::sleep(every.wait().mul_f64(stretch + 0.1 * fastrand::f64())).await;
    }
}

async fn look(
    prober: &Prober,
    machine: &mut Machine,
    fuse: &FuseHandle,
    standing: &watch::Sender<Standing>,
) -> Result<Probed, ProbeError> {
    let claim = prober.claim().await?;
    let server = prober.driver.provider_id(claim.server());
    standing.send_if_modified(|s| s.server.replace(server.clone()).as_ref() != Some(&server));
    let found = prober.probe(claim).await?;
    let proven = Machine {
        product_uuid: machine.product_uuid.clone(),
        server: Some(server.clone()),
        consented: true,
        provider_address: found.address.or(machine.provider_address),
    };
    if *machine != proven {
        tracing::info!(%server, name = found.server.name, "armed: this server consented and the token may delete it");
        *machine = proven.clone();
        fuse.tell(Tell::Machine(proven));
    }
    if let (true, Some(created)) = (found.rented_by_us, found.server.created) {
        fuse.tell(Tell::Created(created.into()));
    }
    Ok(found)
}

/// One call to the provider.
const CALL: Duration = Duration::from_secs(10);
/// One call to the metadata service, which is link-local: an answer takes milliseconds, or there is none.
const METADATA: Duration = Duration::from_secs(2);
const FIRST_DELAY: Duration = Duration::from_secs(5);
const LONGEST_DELAY: Duration = Duration::from_mins(5);
/// How much rarer probes are while the project's rate limit is nearly used up: as rare as they can be without a proof
/// becoming too old.
const STRETCH: f64 = 1.8;
/// Two calls and a retry, in milliseconds.
const PROBE_MAY_TAKE: i64 = 60_000;
