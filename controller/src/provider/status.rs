//! What is said about a provider: its conditions, in words that a person can act on. Pure.

use curfew_provider::Outcome;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::{
    clock::{Reading, Uptime},
    cloud::CallError,
    crd::{CatalogueStatus, ProviderConfigStatus},
    observe::{Checked, Fault, Provider, Swept, World},
};

/// The status, if it is not what stands.
pub(super) fn of(provider: &Provider, world: &World, reading: Reading) -> Option<ProviderConfigStatus> {
    let now = reading.now?;
    let said = [
        (READY, ready(provider, world, reading.up)),
        (CAN_DELETE, can_delete(provider)),
        (CATALOGUE, catalogue(provider, now)),
    ];
    // Until it has swept once, what stands from before is said.
    let swept = provider.swept.as_ref().map(|swept| (SWEEP, sweep(swept)));
    let mut status = provider.status.clone();
    for (type_, said) in said.into_iter().chain(swept) {
        let condition = said.since(type_, provider, now);
        // Conditions of others are theirs.
        match status.conditions.iter_mut().find(|known| known.type_ == type_) {
            Some(known) => *known = condition,
            None => status.conditions.push(condition),
        }
    }
    if let Some((catalogue, at)) = provider.catalogue.as_ref().zip(provider.checks.catalogue_at) {
        status.catalogue = Some(CatalogueStatus {
            currency: catalogue.currency.clone(),
            sizes: i32::try_from(catalogue.sizes.len()).unwrap_or(i32::MAX),
            regions: catalogue.regions.clone(),
            fetched_at: Some(whole(at)),
        });
    }
    if let Some(listed) = &provider.servers {
        status.servers = Some(i32::try_from(listed.servers.len()).unwrap_or(i32::MAX));
    }
    (status != provider.status).then_some(status)
}

/// When it will change although nothing happens.
pub(super) fn changes_at(provider: &Provider, reading: Reading) -> Option<Uptime> {
    let stale = provider.checks.catalogue_at.and_then(|at| reading.uptime_at(at.checked_add(STALE).ok()?));
    let silent =
        provider.checks.servers.as_ref().and_then(|checked| checked.certain).map(|at| at.after(SILENT));
    [stale, silent].into_iter().flatten().filter(|at| *at > reading.up).min()
}

/// Whether the credential works and everything exists that the configuration names.
fn ready(provider: &Provider, world: &World, up: Uptime) -> Said {
    if provider.deleting.is_some() {
        let tenants: Vec<_> = world.tenants(provider).map(|lease| lease.name.as_str()).collect();
        return Said::no(
            "Deleting",
            match tenants.as_slice() {
                [] => "it is being deleted".into(),
                some => format!("its deletion waits for what these leases rented: {}", some.join(", ")),
            },
        );
    }
    let checks = &provider.checks;
    let stands = if provider.account.is_some() { "; what was read before is used on" } else { "" };
    if let Some(broken) = &provider.broken {
        return Said::no("InvalidConfig", format!("{broken}{stands}"));
    }
    if let Some(Checked { found: Err(Fault::Certain { reason, message }), .. }) = &checks.credential {
        return Said::no(reason, format!("{message}{}", if of_token(reason) { "" } else { stands }));
    }
    if provider.account.is_none() {
        return match &checks.credential {
            Some(Checked { found: Err(Fault::Undecided(why)), .. }) => {
                Said::no("CredentialUnread", why.clone())
            }
            _ => Said::checking(provider, READY, "its credential has not been read yet"),
        };
    }
    if world.cluster.is_none() {
        let why = "it is not known yet which cluster this is: namespace kube-system has not been read";
        return Said::checking(provider, READY, why);
    }
    for checked in [&checks.secrets, &checks.servers, &checks.references] {
        match checked {
            None => return Said::checking(provider, READY, "not everything has been looked at yet"),
            Some(Checked { found: Err(Fault::Certain { reason, message }), .. }) => {
                return Said::no(reason, message.clone());
            }
            Some(Checked { found: Err(Fault::Undecided(why)), certain, .. })
                if certain.is_none_or(|at| up.since(at) >= SILENT) =>
            {
                return Said::no("Unreachable", why.clone());
            }
            Some(_) => {}
        }
    }
    Said::yes("Ready", "the credential works, and all that is named exists")
}

fn can_delete(provider: &Provider) -> Said {
    match provider.checks.authority.as_ref().map(|checked| (&checked.found, checked.certain)) {
        None if provider.account.is_none() && provider.checks.credential.is_some() => {
            Said::unknown("NoCredential", "there is no credential to try")
        }
        None => Said::checking(provider, CAN_DELETE, "it has not been tried yet"),
        Some((Ok(()), _)) => Said::yes("Proven", "a harmless write was accepted"),
        Some((Err(Fault::Certain { reason, message }), _)) => Said::no(reason, message.clone()),
        // What was proven stands: an outage takes no right away.
        Some((Err(Fault::Undecided(_)), Some(_))) => Said::checking(provider, CAN_DELETE, ""),
        Some((Err(Fault::Undecided(why)), None)) => Said::unknown("Undecided", why),
    }
}

fn catalogue(provider: &Provider, now: Timestamp) -> Said {
    let checked = provider.checks.catalogue.as_ref();
    let fault = checked.and_then(|checked| checked.found.as_ref().err()).map(Fault::words);
    match (&provider.catalogue, provider.checks.catalogue_at) {
        (Some(catalogue), Some(at)) if now.duration_since(at) < STALE => {
            let (sizes, regions) = (catalogue.sizes.len(), catalogue.regions.len());
            Said::yes("Fetched", format!("{sizes} sizes in {regions} regions"))
        }
        (Some(_), Some(at)) => {
            let why = fault.unwrap_or("it was not fetched again");
            Said::no("Stale", format!("prices and stock are those of {}: {why}", whole(at).0))
        }
        _ => match fault {
            Some(why) => Said::no("NotFetched", why),
            None => Said::checking(provider, CATALOGUE, "it has not been fetched yet"),
        },
    }
}

fn sweep(swept: &Swept) -> Said {
    let Swept { goes_on, reason, message } = swept;
    if *goes_on { Said::yes(reason, message.clone()) } else { Said::no(reason, message.clone()) }
}

/// A call that brought nothing, as a fault.
pub(super) fn refused(error: &CallError) -> Fault {
    let certain = |reason, message: &str| Fault::Certain { reason, message: message.into() };
    match error {
        CallError::Refused(Outcome::ReadOnly) => certain(
            READ_ONLY,
            "the token may only read, so no machine could be given back: put a token with read and write access into the Secret",
        ),
        CallError::Refused(outcome) if outcome.denies() => certain(
            REFUSED,
            "the provider refuses the token, which is unknown or revoked: put a good one into the Secret",
        ),
        other => Fault::Undecided(other.line()),
    }
}

/// The Secret is there and of no use, or is not there.
pub(super) const fn unusable(message: String) -> Fault {
    Fault::Certain { reason: "CredentialMissing", message }
}

/// A machine could not be made.
pub(super) const fn secrets_missing(message: String) -> Fault {
    Fault::Certain { reason: "SecretMissing", message }
}

/// What a machine would be made with is not whole.
pub(super) const fn template_unfit(message: String) -> Fault {
    Fault::Certain { reason: "UserDataUnfit", message }
}

/// The configuration cannot be kept.
pub(super) fn invalid(message: &str) -> Fault {
    Fault::Certain { reason: "InvalidConfig", message: format!("spec.hetzner.endpoint: {message}") }
}

/// A token that sees none of our servers.
pub(super) fn another_project(servers: usize) -> Fault {
    let message = format!(
        "the token sees none of the {servers} servers of this cluster, so it is of another project: put one of the same project into the Secret; if they are all gone, restart the controller"
    );
    Fault::Certain { reason: ANOTHER_PROJECT, message }
}

/// What the configuration names and the provider does not have.
pub(super) fn missing(what: &[String]) -> Fault {
    let message = format!(
        "the provider has {}: correct the name, or create it in the project of the token",
        what.join(", ")
    );
    Fault::Certain { reason: "NotFound", message }
}

/// Whether the provider was asked to find this out.
pub(super) fn of_token(reason: &str) -> bool {
    [REFUSED, READ_ONLY, ANOTHER_PROJECT].contains(&reason)
}

impl Fault {
    fn words(&self) -> &str {
        match self {
            Self::Undecided(message) | Self::Certain { message, .. } => message,
        }
    }
}

/// A condition before it has a date.
struct Said {
    status: String,
    reason: String,
    message: String,
}

impl Said {
    fn new(status: &str, reason: &str, message: impl Into<String>) -> Self {
        Self { status: status.into(), reason: reason.into(), message: message.into() }
    }

    fn yes(reason: &str, message: impl Into<String>) -> Self {
        Self::new("True", reason, message)
    }

    fn no(reason: &str, message: impl Into<String>) -> Self {
        Self::new("False", reason, message)
    }

    fn unknown(reason: &str, message: impl Into<String>) -> Self {
        Self::new("Unknown", reason, message)
    }

    /// What stands from before, which a restart or an outage does not make untrue; `otherwise` if nothing does.
    fn checking(provider: &Provider, type_: &str, otherwise: &str) -> Self {
        let known = provider.status.conditions.iter().find(|known| known.type_ == type_);
        known.map_or_else(
            || Self::unknown("Checking", otherwise),
            |known| Self::new(&known.status, &known.reason, &*known.message),
        )
    }

    /// Dates it: a condition that holds on keeps its date.
    fn since(self, type_: &str, provider: &Provider, now: Timestamp) -> Condition {
        let Self { status, reason, message } = self;
        let known = provider.status.conditions.iter().find(|known| known.type_ == type_);
        let since =
            known.filter(|known| known.status == status).map(|known| known.last_transition_time.clone());
        Condition {
            type_: type_.into(),
            status,
            reason,
            message,
            observed_generation: Some(provider.generation),
            last_transition_time: since.unwrap_or_else(|| whole(now)),
        }
    }
}

/// `Time` is written in whole seconds; kept so from the start, what is read back equals what was written.
fn whole(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}

/// `Ready`: machines can be rented.
pub(crate) const READY: &str = "Ready";
/// `CanDelete`: machines can be given back.
pub(crate) const CAN_DELETE: &str = "CanDelete";
/// `Catalogue`: prices and stock are known.
pub(crate) const CATALOGUE: &str = "Catalogue";
/// `Sweep`: whatever outlived its lease is deleted.
pub(crate) const SWEEP: &str = "Sweep";

const REFUSED: &str = "CredentialRefused";
const READ_ONLY: &str = "CredentialReadOnly";
const ANOTHER_PROJECT: &str = "AnotherProject";

/// Prices change rarely and stock often; older than this, nothing should be chosen by them without saying so.
const STALE: SignedDuration = SignedDuration::from_hours(1);
/// A provider that has not answered for so long is said to be unreachable.
const SILENT: SignedDuration = SignedDuration::from_mins(3);

#[cfg(test)]
mod tests;
