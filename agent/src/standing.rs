//! Who this machine is, and whether its token may delete it: found out, kept fresh, never taken for granted.
//!
//! Owns when the provider is asked, and what is made of its answers: at start, then hourly. Until a probe has succeeded
//! the machine shows as unarmed, hours before it matters.

use std::time::Duration;

use curfew_contract::{Authority, Identity, Note};
use tokio::sync::watch;

use crate::{
    backoff::Backoff,
    clocks,
    fuse::{FuseHandle, Tell},
    journal,
    ledger::Machine,
    prober::{ProbeError, Probed, Prober},
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

const FIRST_DELAY: Duration = Duration::from_secs(5);
const LONGEST_DELAY: Duration = Duration::from_mins(5);
/// How much rarer probes are while the project's rate limit is nearly used up: as rare as they can be without a proof
/// becoming too old.
const STRETCH: f64 = 1.8;
/// Two calls and a retry, in milliseconds.
const PROBE_MAY_TAKE: i64 = 60_000;
