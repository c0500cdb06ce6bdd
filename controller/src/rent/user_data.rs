//! The user-data of a machine: the `ProviderConfig`'s template with the machine's own values in it.
//!
//! Holds a credential: shown nowhere, no part of it in any error. A document that is not whole orders no machine: it would
//! bill and never join.

use curfew_contract::duration;
use curfew_provider::{Token, TokenError, UserData};
use jiff::SignedDuration;

use crate::{
    apply::Cluster,
    cloud_init::placeholder::{ANY, LEASE, LIFETIME, TOKEN},
    observe::Lease,
    terms::{Config, NodeCredential},
};

/// Why a template cannot be filled.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Unfit {
    #[error("the node credential cannot be put into user-data: {0}")]
    Credential(TokenError),
    #[error("the lease's name has {0} characters and cannot be a label, which has at most {LABEL}")]
    LongName(usize),
    #[error(
        "the user-data asks for {TOKEN}, and the ProviderConfig has no nodeCredential.secretRef to put there"
    )]
    NoCredential,
    #[error(
        "the user-data has no {LEASE}, so no Node would ever be known as the machine's: give the Node the label \
         curfew.dev/lease={LEASE}, as `curfew-controller cloud-init --for-leases` does"
    )]
    NoLease,
    #[error("the user-data has {size} bytes, and the provider takes {limit}", limit = UserData::LIMIT)]
    TooBig { size: usize },
    #[error("the user-data asks for {ANY}…@ at byte {0}, which is none of {LEASE}, {LIFETIME} and {TOKEN}")]
    Unknown(usize),
}

/// Reads the template and the node credential, and fills the one with the other.
pub(super) async fn read(cluster: &Cluster, config: &Config, lease: &Lease) -> Result<UserData, String> {
    let template = cluster.secret(&config.user_data).await.map_err(|error| error.line())?;
    let token = match &config.node_credential {
        Some(NodeCredential::Secret(at)) => Some(cluster.secret(at).await.map_err(|error| error.line())?),
        Some(NodeCredential::OnImage) | None => None,
    };
    let token = token.as_ref().map(|token| token.reveal().trim());
    fill(template.reveal(), &lease.name, config.max_lifetime, token).map_err(|unfit| unfit.to_string())
}

/// What is wrong with a template, whichever lease it is filled for.
pub(crate) fn fault(template: &str, config: &Config) -> Option<String> {
    let token = matches!(config.node_credential, Some(NodeCredential::Secret(_))).then_some("token");
    fill(template, &"x".repeat(LABEL), config.max_lifetime, token).err().map(|unfit| unfit.to_string())
}

fn fill(
    template: &str,
    lease: &str,
    lifetime: SignedDuration,
    token: Option<&str>,
) -> Result<UserData, Unfit> {
    if !template.contains(LEASE) {
        return Err(Unfit::NoLease);
    }
    if lease.len() > LABEL {
        return Err(Unfit::LongName(lease.len()));
    }
    let mut document = template.replace(LEASE, lease).replace(LIFETIME, &duration::format(lifetime));
    if document.contains(TOKEN) {
        let token = token.ok_or(Unfit::NoCredential)?;
        // What a header cannot carry is no token, and a line break would end the file that it is put into.
        Token::new(token).map_err(Unfit::Credential)?;
        document = document.replace(TOKEN, token);
    }
    if let Some(at) = document.find(ANY) {
        return Err(Unfit::Unknown(at));
    }
    if document.len() > UserData::LIMIT {
        return Err(Unfit::TooBig { size: document.len() });
    }
    Ok(UserData::new(document))
}

/// Longest value of a label, of a Node as of a server.
const LABEL: usize = 63;

#[cfg(test)]
mod tests;
