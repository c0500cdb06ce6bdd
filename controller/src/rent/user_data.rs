//! The user-data of a machine: the `ProviderConfig`'s template with the machine's own values in it.
//!
//! Holds a credential: shown nowhere. A document that is not whole orders no machine: it would bill and never join.

use curfew_contract::duration;
use curfew_provider::UserData;

use crate::{
    apply::Cluster,
    observe::Lease,
    terms::{Config, NodeCredential},
};

/// Reads the template and the node credential, and fills the one with the other.
pub(super) async fn read(cluster: &Cluster, config: &Config, lease: &Lease) -> Result<UserData, String> {
    let template = cluster.secret(&config.user_data).await.map_err(|error| error.line())?;
    let token = match &config.node_credential {
        Some(NodeCredential::Secret(at)) => Some(cluster.secret(at).await.map_err(|error| error.line())?),
        Some(NodeCredential::OnImage) | None => None,
    };
    let lifetime = duration::format(config.max_lifetime);
    let token = token.as_ref().map(|token| token.reveal().trim());
    fill(template.reveal(), &lease.name, &lifetime, token)
}

fn fill(template: &str, lease: &str, lifetime: &str, token: Option<&str>) -> Result<UserData, String> {
    let mut document = template.replace(LEASE, lease).replace(LIFETIME, lifetime);
    if let Some(token) = token {
        document = document.replace(TOKEN, token);
    }
    if let Some(word) = [LEASE, LIFETIME, TOKEN].into_iter().find(|word| document.contains(word)) {
        return Err(format!("nothing is known to put in the place of {word} in the user-data"));
    }
    if document.len() > UserData::LIMIT {
        let (is, most) = (document.len(), UserData::LIMIT);
        return Err(format!("the user-data is {is} bytes long; the provider takes {most}"));
    }
    Ok(UserData::new(document))
}

const LEASE: &str = "@CURFEW_LEASE@";
const LIFETIME: &str = "@CURFEW_LIFETIME@";
const TOKEN: &str = "@CURFEW_TOKEN@";
