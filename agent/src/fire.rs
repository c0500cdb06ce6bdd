//! Deleting this machine's own server: for as long as the process lives, until the machine is gone.
//!
//! Only the machine's disappearance is success; no answer of the provider is. Each attempt has its own runtime, client,
//! look-up and connection, so that nothing an earlier one broke can break the next. Nothing is deleted but the server
//! this machine is, by id, and only if it consented at least once.

use std::{sync::Arc, thread, time::Duration};

use curfew_contract::{Cause, label::Consent};
use curfew_provider::{Caller, Driver, Outcome, Request, ServerId};

use crate::{
    backoff::Backoff,
    credential::{Credential, CredentialError},
    identity::{Dmi, Unproven},
    journal,
    ledger::Machine,
    net::{HttpError, Options, Transport},
};

/// All that is needed to fire, gathered while everything still works.
#[derive(Clone)]
pub struct Weapon {
    /// The provider's language.
    pub driver: Arc<dyn Driver>,
    /// The token, re-read for each attempt.
    pub credential: Arc<Credential>,
    /// The firmware, re-read for each attempt: a memory image resumed on another server must not delete its original.
    pub dmi: Dmi,
    /// How to connect. Dates are clamped: a wrong clock must not save the machine.
    pub transport: Options,
    /// Do everything but delete.
    pub observe: bool,
}

/// Why an attempt came to no answer.
#[derive(Debug, thiserror::Error)]
enum Misfire {
    #[error("cannot read the credential")]
    Credential(#[from] CredentialError),
    #[error("the provider did not answer")]
    Http(#[from] HttpError),
    #[error("which server this is, is not known")]
    Unknown,
    #[error("this server will not be deleted")]
    Refused(#[from] Unproven),
    #[error("the provider's record of this server cannot be read")]
    Record(#[source] Outcome),
    #[error("no runtime can be built")]
    Runtime(#[source] std::io::Error),
}

/// What to do after an attempt. Pure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Try again after this long.
    After(Duration),
    /// Try again after the next, longer delay.
    BackOff,
}

impl Weapon {
    /// Whether this weapon deletes nothing.
    #[must_use]
    pub const fn observes_only(&self) -> bool {
        self.observe
    }

    /// Deletes this machine. `turn` is called at least every two seconds.
    pub fn fire(&self, cause: Cause, machine: &Machine, turn: &mut dyn FnMut()) -> ! {
        tracing::warn!(?cause, server = machine.server, "firing: this machine deletes itself");
        let mut backoff = Backoff::new(FIRST_DELAY, LONGEST_DELAY);
        let mut accepted = false;
        let mut round = 0_u64;
        loop {
            round += 1;
            let result = self.attempt(machine);
            report(&result, round, accepted);
            accepted |= matches!(result, Ok(Outcome::Accepted));
            let delay = match next(&result) {
                Next::After(delay) => delay,
                Next::BackOff => backoff.next_delay(),
            };
            rest(delay, turn);
        }
    }

    /// One attempt in a runtime of its own. Bounded by [`ATTEMPT`], whatever hangs.
    fn attempt(&self, machine: &Machine) -> Result<Outcome, Misfire> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Misfire::Runtime)?;
        let outcome = runtime.block_on(self.delete(machine));
        // A look-up that hangs in the C library would otherwise hold the next attempt up.
        runtime.shutdown_background();
        outcome
    }

    async fn delete(&self, machine: &Machine) -> Result<Outcome, Misfire> {
        let token = self.credential.read_or_last_good()?;
        let transport = Transport::new(&self.transport)?;
        let (id, consented) = self.aim(machine)?;
        if !consented {
            let answer = transport.send(&self.driver.read(id, &token), ATTEMPT).await?;
            let server = self.driver.server(&answer, Caller::TheServerItself).map_err(Misfire::Record)?;
            Consent::read(&server.labels).map_err(Unproven::from)?;
        }
        let delete = self.driver.delete(id, &token);
        let outcome = self.ask(&transport, &delete).await?;
        if outcome != Outcome::Protected {
            return Ok(outcome);
        }
        match self.ask(&transport, &self.driver.lift_protection(id, &token)).await? {
            Outcome::Accepted => self.ask(&transport, &delete).await,
            refused => Ok(refused),
        }
    }

    async fn ask(&self, transport: &Transport, request: &Request) -> Result<Outcome, Misfire> {
        let answer = transport.send(request, ATTEMPT).await?;
        Ok(self.driver.deleted(&answer, Caller::TheServerItself))
    }

    /// The firmware's word counts over what was learnt earlier; consent was given by one server and not by another.
    fn aim(&self, machine: &Machine) -> Result<(ServerId, bool), Misfire> {
        let armed = machine.server.as_deref().and_then(|server| self.driver.server_id(server));
        match (self.dmi.server(self.driver.as_ref()), armed) {
            (Some(firmware), armed) => Ok((firmware, machine.consented && armed == Some(firmware))),
            (None, Some(armed)) => Ok((armed, machine.consented)),
            (None, None) => Err(Misfire::Unknown),
        }
    }
}

/// What an attempt's result calls for.
fn next(result: &Result<Outcome, Misfire>) -> Next {
    match result {
        Ok(Outcome::Locked | Outcome::Protected) => Next::After(LOCKED_DELAY),
        Ok(Outcome::Retry { after: Some(asked) }) => {
            Next::After((*asked).clamp(SHORTEST_WAIT, LONGEST_DELAY))
        }
        _ => Next::BackOff,
    }
}

/// One line an attempt. What needs a person is an error.
fn report(result: &Result<Outcome, Misfire>, round: u64, accepted: bool) {
    match result {
        Ok(Outcome::Accepted) => tracing::info!(round, "the provider accepted the deletion"),
        Ok(Outcome::WrongProject) if accepted => {
            tracing::info!(round, "the provider no longer lists this server; waiting for the end");
        }
        Ok(outcome) if outcome.denies() => {
            tracing::error!(round, %outcome, "the provider refuses the deletion: give the machine a working token");
        }
        Ok(outcome) => tracing::warn!(round, %outcome, "not deleted yet"),
        Err(error) => {
            tracing::error!(round, error = journal::chain(error), "the attempt to delete failed");
        }
    }
}

fn rest(mut left: Duration, turn: &mut dyn FnMut()) {
    turn();
    while !left.is_zero() {
        let slice = left.min(TURN);
        thread::sleep(slice);
        left -= slice;
        turn();
    }
}

const FIRST_DELAY: Duration = Duration::from_secs(5);
const LONGEST_DELAY: Duration = Duration::from_mins(1);
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// Locks last as long as the action that holds them, lifting a protection among them: seconds, mostly.
const LOCKED_DELAY: Duration = Duration::from_secs(3);
/// One call, from look-up to the last byte.
const ATTEMPT: Duration = Duration::from_secs(10);
const TURN: Duration = Duration::from_secs(2);
