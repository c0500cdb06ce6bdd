//! What a lease that rents refers to, as a person types it: Secrets in the controller's namespace, and a
//! `ProviderConfig`; and how its lease is read.

use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::{Api, ApiError, LEASES, NAMESPACES, PROVIDERS, SECRETS};

/// Where the controller finds its Secrets, here: `--namespace`.
pub const NAMESPACE: &str = "curfew";

impl Api {
    /// A Secret of the controller's namespace, which is created with the first.
    pub async fn add_secret(&self, name: &str, entries: &[(&str, &str)]) -> Result<(), ApiError> {
        if self.object(NAMESPACES, "", NAMESPACE).await?.is_null() {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
            self.create(NAMESPACES, "", &namespace).await?;
        }
        let data = entries.iter().map(|(key, text)| {
            ((*key).to_owned(), serde_json::to_value(ByteString((*text).into())).unwrap_or_default())
        });
        let data: serde_json::Map<String, Value> = data.collect();
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data});
        self.create(SECRETS, NAMESPACE, &secret).await
    }

    /// A `ProviderConfig`.
    pub async fn add_provider_config(&self, name: &str, spec: &Value) -> Result<(), ApiError> {
        let object = json!({
            "apiVersion": "curfew.dev/v1alpha1", "kind": "ProviderConfig", "metadata": {"name": name}, "spec": spec,
        });
        self.create(PROVIDERS, "", &object).await
    }

    /// A `CapacityLease`.
    pub async fn add_lease(&self, name: &str, spec: &Value) -> Result<(), ApiError> {
        let object = json!({
            "apiVersion": "curfew.dev/v1alpha1", "kind": "CapacityLease", "metadata": {"name": name}, "spec": spec,
        });
        self.create(LEASES, "", &object).await
    }

    /// A lease as it is now; null if there is none.
    pub async fn lease(&self, name: &str) -> Result<Value, ApiError> {
        self.object(LEASES, "", name).await
    }

    /// When a lease ends, as its status says.
    pub async fn expiry(&self, lease: &str) -> Result<Option<Timestamp>, ApiError> {
        let lease = self.lease(lease).await?;
        Ok(lease["status"]["expiresAt"].as_str().and_then(|text| text.parse().ok()))
    }
}
