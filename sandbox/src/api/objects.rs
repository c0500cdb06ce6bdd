//! Objects of any kind, on either server, as an administrator has them.

use hyper::Method;
use serde_json::{Value, json};

use super::{Api, ApiError};

/// Group, version, plural. The core group is empty.
pub type Kind = (&'static str, &'static str, &'static str);

/// Nodes.
pub const NODES: Kind = ("", "v1", "nodes");
/// Secrets.
pub const SECRETS: Kind = ("", "v1", "secrets");
/// Namespaces.
pub const NAMESPACES: Kind = ("", "v1", "namespaces");
/// `CapacityLease`s.
pub const LEASES: Kind = ("curfew.dev", "v1alpha1", "capacityleases");
/// `ProviderConfig`s.
pub const PROVIDERS: Kind = ("curfew.dev", "v1alpha1", "providerconfigs");

impl Api {
    /// Creates an object. `namespace` is empty for what has none.
    pub async fn create(&self, kind: Kind, namespace: &str, object: &Value) -> Result<(), ApiError> {
        match self {
            Self::Loopback(cluster) => drop(cluster.create(kind, namespace, object)?),
            Self::Real(real) => {
                real.create_served(&path(kind, namespace, ""), object).await?;
            }
        }
        Ok(())
    }

    /// An object as it is now; null if there is none.
    pub async fn object(&self, kind: Kind, namespace: &str, name: &str) -> Result<Value, ApiError> {
        Ok(match self {
            Self::Loopback(cluster) => cluster.object(&storage(kind), namespace, name).unwrap_or_default(),
            Self::Real(real) => {
                match real.ask(Method::GET, &path(kind, namespace, name), "", &Value::Null).await {
                    Err(error) if error.is_missing() => Value::Null,
                    found => found?,
                }
            }
        })
    }

    /// All objects of a kind.
    pub async fn objects(&self, kind: Kind) -> Result<Vec<Value>, ApiError> {
        Ok(match self {
            Self::Loopback(cluster) => cluster.objects(&storage(kind)),
            Self::Real(real) => {
                let mut list = real.ask(Method::GET, &path(kind, "", ""), "", &Value::Null).await?;
                serde_json::from_value(list["items"].take()).unwrap_or_default()
            }
        })
    }

    /// Applies a merge patch.
    pub async fn patch(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<(), ApiError> {
        match self {
            Self::Loopback(cluster) => drop(cluster.merge_patch(kind, namespace, name, patch)?),
            Self::Real(real) => {
                let media = "application/merge-patch+json";
                real.ask(Method::PATCH, &path(kind, namespace, name), media, patch).await?;
            }
        }
        Ok(())
    }

    /// Deletes an object, which stays while it has finalizers.
    pub async fn delete(&self, kind: Kind, namespace: &str, name: &str) -> Result<(), ApiError> {
        match self {
            Self::Loopback(cluster) => drop(cluster.delete(kind, namespace, name)?),
            Self::Real(real) => {
                real.ask(Method::DELETE, &path(kind, namespace, name), "", &Value::Null).await?;
            }
        }
        Ok(())
    }

    /// Removes an object, if it is there, with its finalizers: nobody is left who would act upon them.
    pub(super) async fn remove(&self, kind: Kind, namespace: &str, name: &str) -> Result<(), ApiError> {
        if self.object(kind, namespace, name).await?.is_null() {
            return Ok(());
        }
        self.patch(kind, namespace, name, &json!({"metadata": {"finalizers": null}})).await?;
        // One that was on its way out is gone with its last finalizer.
        if self.object(kind, namespace, name).await?.is_null() {
            return Ok(());
        }
        self.delete(kind, namespace, name).await
    }
}

fn path((group, version, plural): Kind, namespace: &str, name: &str) -> String {
    let root = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
    let within = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
    format!("{root}/{version}{within}/{plural}/{name}").trim_end_matches('/').to_owned()
}

fn storage((group, _, plural): Kind) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}
