//! Looks whether the Secrets are there that a machine is made with, and whether the template can be filled. What is in them
//! is read again when a machine is rented.

use crate::{
    apply::Cluster,
    observe::{Checked, Fault},
    rent::template_fault,
    shared::Shared,
    terms::{NodeCredential, SecretKey},
};

use super::{plan::Subject, status};

/// Looks, and notes what came of it.
pub(super) async fn look(shared: &Shared, cluster: &Cluster, subject: &Subject) {
    let found = missing(cluster, subject).await;
    shared.with(|world, reading| {
        let provider = world.providers.get_mut(&subject.name).filter(|known| known.uid == subject.uid);
        if let Some(provider) = provider {
            let certain = found.is_ok().then_some(reading.up);
            let checked = Checked { at: reading.up, generation: subject.generation, found, certain };
            provider.checks.secrets = Some(checked);
        }
    });
}

/// Says all that is missing at once.
async fn missing(cluster: &Cluster, subject: &Subject) -> Result<(), Fault> {
    let (mut missing, mut unfit) = (Vec::new(), None);
    for at in named(subject) {
        match cluster.secret(at).await {
            Ok(secret) if *at == subject.config.user_data => {
                unfit = template_fault(secret.reveal(), &subject.config);
            }
            Ok(_) => {}
            Err(error) if error.is_certain() => missing.push(error.line()),
            Err(error) => return Err(Fault::Undecided(error.line())),
        }
    }
    match unfit {
        _ if !missing.is_empty() => Err(status::secrets_missing(missing.join("; "))),
        Some(why) => Err(status::template_unfit(why)),
        None => Ok(()),
    }
}

fn named(subject: &Subject) -> impl Iterator<Item = &SecretKey> {
    let config = &subject.config;
    let token = config.node_credential.as_ref().and_then(|credential| match credential {
        NodeCredential::OnImage => None,
        NodeCredential::Secret(at) => Some(at),
    });
    std::iter::once(&config.user_data).chain(token)
}
