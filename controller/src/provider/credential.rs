//! From a Secret to the account that is used.
//!
//! A new token takes the old one's place only once it has proven itself. Every failure here leaves the old account
//! in force, so that machines are given back; the person is told by the condition `Ready`.

use std::{path::Path, sync::Arc};

use curfew_contract::label;
use curfew_provider::{Token, hetzner};
use tracing::info;

use super::{plan::Subject, status};
use crate::{
    apply::Cluster,
    clock::uptime,
    cloud::{Account, CallError, Endpoint, Plain, Urgency},
    observe::{Checked, Fault, Listed},
    shared::Shared,
};

/// What a Secret that was read means.
enum Taken {
    /// The account is its account.
    Already,
    /// It replaces what there was, and listed these.
    Replaces(Arc<Account>, Option<Listed>),
}

/// Reads the Secret and notes what came of it.
pub(super) async fn take(shared: &Shared, cluster: &Cluster, subject: &Subject, authorities: Option<&Path>) {
    let found = read(cluster, subject, authorities).await;
    let mut replaced = false;
    shared.with(|world, reading| {
        let Some(provider) = world.providers.get_mut(&subject.name).filter(|p| p.uid == subject.uid) else {
            return;
        };
        let found = found.map(|taken| {
            if let Taken::Replaces(account, listed) = taken {
                info!(provider = subject.name, host = account.host(), "credential taken");
                provider.account = Some(account);
                provider.servers = listed.or_else(|| provider.servers.take());
                provider.checks.forget();
                replaced = true;
            }
        });
        let certain = found.is_ok().then_some(reading.up);
        let checked = Checked { at: reading.up, generation: subject.generation, found, certain };
        provider.checks.credential = Some(checked);
    });
    if replaced {
        shared.ring();
    }
}

async fn read(cluster: &Cluster, subject: &Subject, authorities: Option<&Path>) -> Result<Taken, Fault> {
    let secret = &subject.config.credential;
    let at = format!("key {:?} of Secret {}/{}", secret.key, cluster.namespace, secret.name);
    let text = cluster.secret(secret).await.map_err(|error| {
        let message = error.line();
        if error.is_certain() { status::unusable(message) } else { Fault::Undecided(message) }
    })?;
    let token = Token::new(text.reveal()).map_err(|error| status::unusable(format!("{at}: {error}")))?;
    let endpoint = subject.config.endpoint.as_deref().unwrap_or(hetzner::ENDPOINT);
    let endpoint =
        Endpoint::read(endpoint, Plain::AsNamed).map_err(|error| status::invalid(&error.to_string()))?;
    if subject.account.as_ref().is_some_and(|known| known.is_of(&endpoint, &token)) {
        return Ok(Taken::Already);
    }
    let account = Account::hetzner(endpoint, token, authorities)
        .map_err(|error| Fault::Undecided(CallError::from(error).line()))?;
    let account = Arc::new(account);
    let Some(known) = &subject.account else { return Ok(Taken::Replaces(account, None)) };
    let listed = prove(&account, subject).await.map_err(|fault| match fault {
        Fault::Certain { reason, message } => {
            let stands = if known.denied().is_some() { "" } else { "; the token read before is used on" };
            Fault::Certain { reason, message: format!("{at}: {message}{stands}") }
        }
        undecided @ Fault::Undecided(_) => undecided,
    })?;
    Ok(Taken::Replaces(account, listed))
}

/// A token that is refused, or that is of another project, must not take the place of one that was good: to the
/// latter every server of ours would look gone, and bill on.
async fn prove(account: &Account, subject: &Subject) -> Result<Option<Listed>, Fault> {
    let Some(cluster) = &subject.cluster else {
        return Err(Fault::Undecided("it is not known yet which cluster this is".into()));
    };
    let at = uptime();
    let servers = account
        .list((label::CLUSTER, cluster), Urgency::Work)
        .await
        .map_err(|error| status::refused(&error))?;
    if !subject.is_at_home(&servers) {
        return Err(status::another_project(subject.servers.len().max(subject.rented.len())));
    }
    Ok(Some(Listed { servers, at }))
}
