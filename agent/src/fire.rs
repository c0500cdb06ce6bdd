//! Deleting this machine's own server: for as long as the process lives, until the machine is gone.
//!
//! Only the machine's disappearance is success; no answer of the provider is. Each attempt has its own runtime, client,
//! look-up and connection, so that nothing an earlier one broke can break the next. Nothing is deleted but the server
//! this machine is, by id, and only if it consented at least once.

use std::{thread, time::Duration};

use curfew_contract::Cause;
use curfew_provider::{Caller, Outcome, Request};

use crate::{
    backoff::Backoff,
    credential::CredentialError,
    identity::{self, Claim, Unproven},
    journal,
    ledger::Machine,
    net::{HttpError, Options, Transport},
    prober::{ProbeError, Prober},
};

/// All that is needed to fire, gathered while everything still works.
#[derive(Clone)]
pub struct Weapon {
    /// Who this machine is, re-asked for each attempt: a memory image resumed on another server must not delete its
    /// original. Dates of certificates are clamped: a wrong clock must not save the machine.
    pub prober: Prober,
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
    Claim(#[source] ProbeError),
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
    /// Try again soon: another action runs, lifting a protection among them.
    WhenUnlocked,
    /// Try again after the next, longer delay.
    BackOff,
}

impl Weapon {
    /// Deletes this machine. `turn` is called after each attempt with what it came to, and every two seconds in between.
    pub fn fire(&self, cause: Cause, machine: &Machine, turn: &mut dyn FnMut(Option<Outcome>)) -> ! {
        tracing::warn!(?cause, server = machine.server, "firing: this machine deletes itself");
        let mut backoff = Backoff::new(FIRST_DELAY, LONGEST_DELAY);
        let mut locked = Backoff::new(FIRST_LOCKED_DELAY, LONGEST_LOCKED_DELAY);
        let (mut accepted, mut doubted) = (false, false);
        let mut round = 0_u64;
        loop {
            round += 1;
            let result = self.attempt(machine, doubted);
            report(&result, round, accepted);
            accepted |= matches!(result, Ok(Outcome::Accepted));
            doubted = !doubted && result.as_ref().is_ok_and(|outcome| outcome.denies());
            turn(result.as_ref().ok().copied().filter(|_| !accepted));
            let delay = match next(&result) {
                Next::After(delay) => delay,
                Next::WhenUnlocked => locked.next_delay(),
                Next::BackOff => backoff.next_delay(),
            };
            rest(delay, turn);
        }
    }

    /// One attempt in a runtime of its own. At most five calls, each bounded by [`CALL`], whatever hangs.
    fn attempt(&self, machine: &Machine, doubted: bool) -> Result<Outcome, Misfire> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Misfire::Runtime)?;
        let outcome = runtime.block_on(self.delete(machine, doubted));
        runtime.shutdown_background();
        outcome
    }

    async fn delete(&self, machine: &Machine, doubted: bool) -> Result<Outcome, Misfire> {
        let driver = self.prober.driver.as_ref();
        let token = self.prober.credential.for_firing(doubted)?;
        let fallback = machine.provider_address.into_iter().collect();
        let transport = Transport::new(&Options { fallback, ..self.prober.transport.clone() })?;
        let (claim, consented) = self.aim(machine).await?;
        let id = claim.server();
        if !consented {
            let answer = transport.send(&driver.read(id, &token), CALL).await?;
            let server = driver.server(&answer, Caller::TheServerItself).map_err(Misfire::Record)?;
            claim.prove(&server, &identity::own_addresses())?;
        }
        let delete = driver.delete(id, &token);
        let outcome = self.ask(&transport, &delete).await?;
        if outcome != Outcome::Protected {
            return Ok(outcome);
        }
        match self.ask(&transport, &driver.lift_protection(id, &token)).await? {
            Outcome::Accepted => self.ask(&transport, &delete).await,
            refused => Ok(refused),
        }
    }

    async fn ask(&self, transport: &Transport, request: &Request) -> Result<Outcome, Misfire> {
        let answer = transport.send(request, CALL).await?;
        Ok(self.prober.driver.deleted(&answer, Caller::TheServerItself))
    }

    /// The firmware's word counts over what was learnt earlier; consent was given by one server and not by another.
    async fn aim(&self, machine: &Machine) -> Result<(Claim, bool), Misfire> {
        let driver = self.prober.driver.as_ref();
        let proven = machine.server.as_deref().and_then(|server| driver.server_id(server));
        let proven = proven.filter(|_| machine.consented);
        match (self.prober.dmi.server(driver), proven) {
            (Some(firmware), proven) => Ok((Claim::Firmware(firmware), proven == Some(firmware))),
            (None, Some(proven)) => Ok((Claim::Metadata(proven), true)),
            (None, None) => Ok((self.prober.claim().await.map_err(Misfire::Claim)?, false)),
        }
    }
}

/// What an attempt's result calls for.
fn next(result: &Result<Outcome, Misfire>) -> Next {
    match result {
        Ok(Outcome::Locked | Outcome::Protected) => Next::WhenUnlocked,
        Err(Misfire::Refused(Unproven::NoConsent(_))) => Next::After(REFUSED_DELAY),
        // After a boot or a resume the network comes later than we do. Nobody was asked, so nobody is spared by waiting.
        Err(Misfire::Http(error)) if error.is_unreachable() => Next::After(FIRST_DELAY),
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

fn rest(mut left: Duration, turn: &mut dyn FnMut(Option<Outcome>)) {
    while !left.is_zero() {
        let slice = left.min(TURN);
        thread::sleep(slice);
        left -= slice;
        turn(None);
    }
}

const FIRST_DELAY: Duration = Duration::from_secs(5);
const LONGEST_DELAY: Duration = Duration::from_mins(1);
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// Locks mostly last for seconds, but an image being taken locks for minutes, and each try costs the project a call.
const FIRST_LOCKED_DELAY: Duration = Duration::from_secs(3);
/// With one call, still within ten seconds of the unlocking.
const LONGEST_LOCKED_DELAY: Duration = Duration::from_secs(8);
/// A server that did not consent will not be deleted; somebody may label it.
const REFUSED_DELAY: Duration = Duration::from_mins(10);
/// One call, from look-up to the last byte.
const CALL: Duration = Duration::from_secs(10);
const TURN: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use curfew_provider::{Method, Token};

    use super::*;
    use crate::net::{
        Dates, Proxies,
        testing::{NOW, best_time},
    };

    async fn refusal_of(address: &str) -> Result<Outcome, Misfire> {
        let transport = Transport::new(&Options {
            authorities: None,
            proxies: Proxies::none(),
            fallback: Vec::new(),
            dates: Dates::Strict,
            best_time: best_time(NOW),
            dates_ignored: Arc::default(),
        });
        let url = format!("https://{address}/v1/servers/42");
        let delete = Request { method: Method::Delete, url, body: None, token: Token::new("t").unwrap() };
        let answer = transport.unwrap().send(&delete, CALL).await;
        Err(answer.unwrap_err().into())
    }

    #[tokio::test]
    async fn without_a_network_no_delay_grows() {
        // TCP to a broadcast address is refused as everything is without a route.
        assert_eq!(next(&refusal_of("127.255.255.255:9").await), Next::After(FIRST_DELAY));
        assert_eq!(next(&refusal_of("127.0.0.1:9").await), Next::BackOff, "somebody was asked");
    }
}
