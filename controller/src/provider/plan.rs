//! What is due for each provider, and when the next thing is. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use curfew_provider::{Server, ServerId};
use jiff::SignedDuration;

use super::status;
use crate::{
    clock::{Reading, Uptime},
    cloud::Account,
    crd::ProviderConfigStatus,
    observe::{Checked, Fault, Lease, Provider, World},
    pass::Plan,
    terms::Config,
};

/// One thing to do.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// Read the Secret, and make its token's account the one that is used.
    Credential(Box<Subject>),
    /// Look whether the Secrets of a machine are there.
    Secrets(Box<Subject>),
    /// Ask the provider.
    Look(Box<Subject>, Look),
    /// Write the status.
    Publish(Box<Provider>, Box<ProviderConfigStatus>),
    /// Set our finalizer, or take it off.
    Hold(Box<Provider>, bool),
}

/// What a provider is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// What the names in the configuration mean.
    References,
    /// Whether the token may delete.
    Authority,
    /// What is on sale.
    Catalogue,
    /// The servers of this cluster.
    Servers,
}

/// Of whom.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) generation: i64,
    pub(super) config: Config,
    pub(super) account: Option<Arc<Account>>,
    /// Which cluster this is.
    pub(super) cluster: Option<String>,
    /// The servers listed last.
    pub(super) servers: BTreeMap<ServerId, Server>,
    /// Those that leases rented since, or say that they have.
    pub(super) rented: BTreeSet<ServerId>,
}

impl Subject {
    /// Whether a list can be of the project that our servers are in: one of them is there, or we know of none.
    pub(super) fn is_at_home(&self, listed: &BTreeMap<ServerId, Server>) -> bool {
        let mut known = self.servers.keys().chain(&self.rented).peekable();
        known.peek().is_none() || known.any(|id| listed.contains_key(id))
    }
}

/// Between two looks: after one that found all well, one that found a fault, and one that found nothing out.
struct Rhythm {
    fresh: SignedDuration,
    amiss: SignedDuration,
    again: SignedDuration,
}

pub(super) fn plan(world: &World, reading: Reading) -> Plan<Job> {
    let mut plan = Plan::empty();
    if !world.providers_listed {
        return plan;
    }
    for provider in world.providers.values() {
        looks(provider, world, reading, &mut plan);
        let key = format!("write/{}", provider.name);
        if let Some(hold) = holding(provider, world) {
            plan.jobs.push((key, Job::Hold(Box::new(provider.clone()), hold)));
        } else if let Some(status) = status::of(provider, world, reading) {
            plan.jobs.push((key, Job::Publish(Box::new(provider.clone()), Box::new(status))));
        }
        plan.wake_at(status::changes_at(provider, reading));
    }
    plan
}

fn looks(provider: &Provider, world: &World, reading: Reading, plan: &mut Plan<Job>) {
    let Some(config) = &provider.config else { return };
    let subject = || {
        let servers = provider.servers.as_ref().map(|listed| listed.servers.clone()).unwrap_or_default();
        Box::new(Subject {
            name: provider.name.clone(),
            uid: provider.uid.clone(),
            generation: provider.generation,
            config: config.clone(),
            account: provider.account.clone(),
            cluster: world.cluster.clone(),
            servers,
            rented: world.rented(provider),
        })
    };
    let mut due = |at: Uptime, what: &str, job: &dyn Fn() -> Job| {
        if at <= reading.up {
            plan.jobs.push((format!("{what}/{}", provider.name), job()));
        } else {
            plan.wake_at(Some(at));
        }
    };
    due(credential_due(provider), "credential", &|| Job::Credential(subject()));
    let rhythm = Rhythm { fresh: SECRET_FRESH, amiss: SECRET_AGAIN, again: SECRET_AGAIN };
    let secrets = next(provider.checks.secrets.as_ref(), provider.generation, &rhythm);
    due(secrets, "secrets", &|| Job::Secrets(subject()));
    let Some(account) = &provider.account else { return };
    let checks = &provider.checks;
    for (what, look, checked) in [
        ("references", Look::References, &checks.references),
        ("authority", Look::Authority, &checks.authority),
        ("catalogue", Look::Catalogue, &checks.catalogue),
        ("servers", Look::Servers, &checks.servers),
    ] {
        let mut at = next(checked.as_ref(), provider.generation, &rhythm_of(look, provider));
        if look == Look::Servers {
            if world.cluster.is_none() {
                continue;
            }
            at = at.min(after_denial(checked.as_ref(), account).unwrap_or(at));
        }
        due(at, what, &|| Job::Look(subject(), look));
    }
}

fn credential_due(provider: &Provider) -> Uptime {
    let checked = provider.checks.credential.as_ref();
    let amiss = match checked.map(|checked| &checked.found) {
        // Finding out costs the provider a call.
        Some(Err(Fault::Certain { reason, .. })) if status::of_token(reason) => TOKEN_AGAIN,
        _ => SECRET_AGAIN,
    };
    let rhythm = Rhythm { fresh: SECRET_FRESH, amiss, again: SECRET_AGAIN };
    let at = next(checked, provider.generation, &rhythm);
    let denied = provider.account.as_ref().and_then(|account| after_denial(checked, account));
    at.min(denied.unwrap_or(at))
}

/// Soon, if the provider refused the credential since this was looked at.
fn after_denial(checked: Option<&Checked>, account: &Account) -> Option<Uptime> {
    let checked = checked?;
    account.denied().filter(|denied| *denied > checked.at).map(|_| checked.at.after(AFTER_DENIAL))
}

fn next(checked: Option<&Checked>, generation: i64, rhythm: &Rhythm) -> Uptime {
    match checked.filter(|checked| checked.generation == generation) {
        None => Uptime::default(),
        Some(Checked { at, found: Ok(()), .. }) => at.after(rhythm.fresh),
        Some(Checked { at, found: Err(Fault::Undecided(_)), .. }) => at.after(rhythm.again),
        Some(Checked { at, found: Err(Fault::Certain { .. }), .. }) => at.after(rhythm.amiss),
    }
}

fn rhythm_of(look: Look, provider: &Provider) -> Rhythm {
    match look {
        Look::Servers => {
            let listed = provider.servers.as_ref().map_or(0, |listed| listed.servers.len());
            Rhythm { fresh: list_lasts(listed), amiss: AMISS, again: AGAIN }
        }
        // Without them nothing is rented, and a provider that is down is asked rarely by the breaker.
        Look::References | Look::Authority | Look::Catalogue => {
            Rhythm { fresh: FRESH, amiss: AMISS, again: AGAIN }
        }
    }
}

/// For how long a list of so many servers is fresh. A large project is listed less often, so that its list costs no more of
/// the rate limit than a small one's: what matters of a machine is read by its id.
pub(crate) fn list_lasts(servers: usize) -> SignedDuration {
    let pages = i32::try_from(servers / PAGE).unwrap_or(i32::MAX).saturating_add(1);
    SERVERS_FRESH.checked_mul(pages).unwrap_or(SERVERS_RAREST).min(SERVERS_RAREST)
}

/// Whether our finalizer must be set or taken off.
fn holding(provider: &Provider, world: &World) -> Option<bool> {
    if !world.leases_listed {
        return None;
    }
    let used = world.tenants(provider).next().is_some();
    // A finalizer cannot be added any more to what is being deleted.
    let possible = !used || provider.deleting.is_none();
    (provider.held() != used && possible).then_some(used)
}

impl World {
    /// The leases for which a provider's configuration must stay: those that rent with it and are not released. One
    /// whose terms cannot be read may be one of them.
    pub(crate) fn tenants<'w>(&'w self, provider: &'w Provider) -> impl Iterator<Item = &'w Lease> {
        self.leases.values().filter(|lease| {
            let rent = lease.terms.as_ref().and_then(|terms| terms.rent());
            let meant = rent.map_or_else(|| lease.rents(), |rent| rent.provider == provider.name);
            meant && lease.status.released_at.is_none()
        })
    }

    /// The servers that leases rent from it, as far as is known.
    fn rented(&self, provider: &Provider) -> BTreeSet<ServerId> {
        let slots = self.tenants(provider).flat_map(|lease| self.slots(lease));
        slots.filter(|slot| slot.absent().is_none()).filter_map(|slot| slot.id()).collect()
    }
}

const SECRET_FRESH: SignedDuration = SignedDuration::from_secs(30);
const SECRET_AGAIN: SignedDuration = SignedDuration::from_secs(5);
const TOKEN_AGAIN: SignedDuration = SignedDuration::from_secs(20);
const AFTER_DENIAL: SignedDuration = SignedDuration::from_secs(5);
const FRESH: SignedDuration = SignedDuration::from_mins(10);
const AMISS: SignedDuration = SignedDuration::from_secs(60);
const AGAIN: SignedDuration = SignedDuration::from_secs(10);
const SERVERS_FRESH: SignedDuration = SignedDuration::from_secs(60);
const SERVERS_RAREST: SignedDuration = SignedDuration::from_mins(15);
/// Servers on one page.
const PAGE: usize = 50;

#[cfg(test)]
mod tests;
