//! Asks a provider for what is due, and notes the answer. An answer of an account that is no longer the one that is
//! used is dropped.

use std::{collections::BTreeMap, sync::Arc};

use curfew_contract::label;
use curfew_provider::{Architecture, Catalogue, ImageId, ImageRef, Named, ServerStatus};

use super::{
    plan::{Look, Subject},
    status,
};
use crate::{
    clock::uptime,
    cloud::{Account, CallError, Urgency},
    observe::{Checked, Fault, Listed, Provider, References},
    shared::Shared,
    terms::Config,
};

/// What was learnt.
enum Learnt {
    References(References),
    Authority,
    Catalogue(Catalogue),
    Servers(Listed),
}

/// Asks, and notes what came of it.
pub(super) async fn look(shared: &Shared, subject: &Subject, what: Look) {
    let Some(account) = &subject.account else { return };
    let found = ask(account, subject, what).await;
    shared.change(|world, reading| {
        let Some(provider) = world.providers.get_mut(&subject.name).filter(|p| p.uid == subject.uid) else {
            return;
        };
        if !provider.account.as_ref().is_some_and(|known| Arc::ptr_eq(known, account)) {
            return;
        }
        let undecided = matches!(found, Err(Fault::Undecided(_)));
        let found = found.map(|learnt| note(provider, learnt, reading.now));
        let slot = match what {
            Look::References => &mut provider.checks.references,
            Look::Authority => &mut provider.checks.authority,
            Look::Catalogue => &mut provider.checks.catalogue,
            Look::Servers => &mut provider.checks.servers,
        };
        let before = slot.as_ref().and_then(|checked| checked.certain);
        let certain = if undecided { before } else { Some(reading.up) };
        *slot = Some(Checked { at: reading.up, generation: subject.generation, found, certain });
    });
}

fn note(provider: &mut Provider, learnt: Learnt, now: Option<jiff::Timestamp>) {
    match learnt {
        Learnt::References(references) => provider.references = Some(Arc::new(references)),
        Learnt::Authority => {}
        Learnt::Catalogue(catalogue) => {
            provider.catalogue = Some(Arc::new(catalogue));
            provider.checks.catalogue_at = now;
        }
        Learnt::Servers(listed) => provider.servers = Some(listed),
    }
}

async fn ask(account: &Account, subject: &Subject, what: Look) -> Result<Learnt, Fault> {
    match what {
        Look::References => references(account, subject).await.map(Learnt::References),
        Look::Authority => {
            let going = |status| matches!(status, ServerStatus::Deleting | ServerStatus::Initializing);
            let own = subject.servers.values().find(|server| !going(server.status));
            account.probe(own).await.map(|()| Learnt::Authority).map_err(|error| status::refused(&error))
        }
        Look::Catalogue => {
            account.catalogue().await.map(Learnt::Catalogue).map_err(|error| status::refused(&error))
        }
        Look::Servers => {
            let cluster = subject.cluster.as_deref().unwrap_or_default();
            let at = uptime();
            let servers = account.list((label::CLUSTER, cluster), Urgency::Look).await;
            servers
                .map(|servers| Learnt::Servers(Listed { servers, at }))
                .map_err(|error| status::refused(&error))
        }
    }
}

/// Looks everything up, and says all that is missing at once.
async fn references(account: &Account, subject: &Subject) -> Result<References, Fault> {
    let config = &subject.config;
    let failed = |error: CallError| status::refused(&error);
    let mut missing = Vec::new();
    let images = images(account, &config.image).await.map_err(failed)?;
    if images.is_empty() {
        missing.push(format!("no image {}", name_of(&config.image)));
    }
    let mut ids =
        BTreeMap::from([(Named::SshKey, vec![]), (Named::Firewall, vec![]), (Named::Network, vec![])]);
    for (kind, name) in names(config) {
        match account.find(kind, name, Urgency::Look).await.map_err(failed)? {
            Some(id) => ids.entry(kind).or_default().push(id),
            None => missing.push(format!("no {} {name:?}", word(kind))),
        }
    }
    if !missing.is_empty() {
        return Err(status::missing(&missing));
    }
    let mut ids = |kind| ids.remove(&kind).unwrap_or_default();
    let (firewalls, networks) = (ids(Named::Firewall), ids(Named::Network));
    Ok(References { generation: subject.generation, images, firewalls, networks })
}

async fn images(account: &Account, wanted: &ImageRef) -> Result<BTreeMap<Architecture, ImageId>, CallError> {
    let mut images = BTreeMap::new();
    for architecture in [Architecture::Amd64, Architecture::Arm64] {
        let found = account.image(wanted, architecture, Urgency::Look).await?;
        images.extend(found.map(|image| (architecture, image.id)));
    }
    Ok(images)
}

fn names(config: &Config) -> impl Iterator<Item = (Named, &String)> {
    let kinds = [
        (Named::SshKey, &config.ssh_keys),
        (Named::Firewall, &config.firewalls),
        (Named::Network, &config.networks),
    ];
    kinds.into_iter().flat_map(|(kind, names)| names.iter().map(move |name| (kind, name)))
}

const fn word(kind: Named) -> &'static str {
    match kind {
        Named::Firewall => "firewall",
        Named::Network => "network",
        Named::SshKey => "SSH key",
    }
}

fn name_of(image: &ImageRef) -> String {
    match image {
        ImageRef::Id(id) => format!("with the id {id}"),
        ImageRef::Name(name) => format!("{name:?}"),
        ImageRef::Selector(selector) => format!("that carries the labels {selector:?}"),
    }
}
