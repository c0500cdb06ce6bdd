//! Writes what is said about a provider, and tells it as events.

use tracing::{info, warn};

use crate::{
    apply::{Cluster, Failure},
    crd::ProviderConfigStatus,
    event::{self, Events},
    observe::Provider,
    shared::Shared,
};

/// Writes the status. Returns whether it was written.
pub(super) async fn status(
    shared: &Shared,
    cluster: &Cluster,
    events: &Events,
    provider: &Provider,
    status: &ProviderConfigStatus,
) -> bool {
    if !written(provider, &cluster.write_provider_status(provider, status).await) {
        return false;
    }
    for condition in event::changed(&provider.status.conditions, &status.conditions) {
        let (name, kind) = (provider.name.as_str(), condition.type_.as_str());
        let (status, reason, message) = (&*condition.status, &*condition.reason, &*condition.message);
        if status == "False" {
            warn!(provider = name, condition = kind, status, reason, message, "provider");
        } else {
            info!(provider = name, condition = kind, status, reason, message, "provider");
        }
    }
    for notice in event::of_provider(provider, status) {
        events.publish(notice);
    }
    // Until the watch brings it back, what was written is what stands.
    shared.with(|world, _| {
        if let Some(known) = world.providers.get_mut(&provider.name).filter(|known| known.uid == provider.uid)
        {
            known.status = status.clone();
        }
    });
    true
}

/// Sets our finalizer, or takes it off.
pub(super) async fn hold(cluster: &Cluster, provider: &Provider, hold: bool) -> bool {
    let done = written(provider, &cluster.hold_provider(provider, hold).await);
    if done {
        info!(provider = provider.name, held = hold, "finalizer written");
    }
    done
}

fn written(provider: &Provider, result: &Result<(), Failure>) -> bool {
    if let Err(failure) = result
        && !failure.is_conflict()
        && !failure.is_gone()
    {
        warn!(provider = provider.name, error = failure.line(), "not published; it will be tried again");
    }
    result.is_ok()
}
