//! Asking the provider whether this machine may delete itself: a read, and a write that changes nothing. Deletes nothing,
//! and decides nothing about when it is asked.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use curfew_contract::Authority;
use curfew_provider::{Answer, Caller, Driver, Outcome, Server, Token};

use crate::{
    credential::{Credential, CredentialError},
    identity::{self, Claim, Dmi, Unproven},
    journal,
    net::{HttpError, Options, Transport},
};

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

/// One call to the provider.
const CALL: Duration = Duration::from_secs(10);
/// One call to the metadata service, which is link-local: an answer takes milliseconds, or there is none.
const METADATA: Duration = Duration::from_secs(2);
