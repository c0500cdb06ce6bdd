//! A `ProviderConfig` for tests.

use kube::core::DeserializeGuard;
use serde_json::json;

use crate::observe::Provider;

/// One that names an image and a Secret.
pub(crate) fn provider(name: &str) -> Provider {
    let object = json!({
        "apiVersion": "curfew.dev/v1alpha1", "kind": "ProviderConfig",
        "metadata": { "name": name, "uid": format!("uid-{name}"), "generation": 3, "resourceVersion": "7" },
        "spec": {
            "hetzner": { "credentialsSecretRef": { "name": name }, "image": { "name": "debian-13" } },
            "userDataSecretRef": { "name": name }
        }
    });
    let provider = Provider::read(serde_json::from_value::<DeserializeGuard<_>>(object).unwrap(), None);
    assert_eq!(provider.broken, None);
    provider
}
