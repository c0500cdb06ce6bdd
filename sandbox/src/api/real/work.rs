//! Objects of one namespace on a real API server, of whatever kind and version it serves.

use hyper::{Method, Request, header::CONTENT_TYPE};
use serde_json::{Value, json};
use std::{io, time::Duration};
use tokio::time::sleep;

use super::{CONFLICT, Real, RealError};
use crate::api::work::NAMESPACE;

impl Real {
    /// Creates an object, unless there is one of this name.
    pub(in crate::api) async fn create(
        &self,
        api: &str,
        plural: &str,
        object: &Value,
    ) -> Result<(), RealError> {
        match self.ask(Method::POST, &path(api, plural, ""), "application/json", object).await {
            Err(error) if error.code() == Some(CONFLICT) => Ok(()),
            created => created.map(drop),
        }
    }

    /// Creates an object of a kind that is perhaps about to be served: that comes a moment after its definition.
    pub(in crate::api) async fn create_served(&self, path: &str, object: &Value) -> Result<(), RealError> {
        for _ in 0..SERVED_WITHIN {
            match self.ask(Method::POST, path, "application/json", object).await {
                Err(error) if error.is_missing() => sleep(Duration::from_millis(200)).await,
                created => return created.map(drop),
            }
        }
        self.ask(Method::POST, path, "application/json", object).await.map(drop)
    }

    /// An object; null if there is none.
    pub(in crate::api) async fn read(&self, api: &str, plural: &str, name: &str) -> Result<Value, RealError> {
        match self.ask(Method::GET, &path(api, plural, name), "", &Value::Null).await {
            Err(error) if error.is_missing() => Ok(Value::Null),
            read => read,
        }
    }

    pub(in crate::api) async fn patch_status(
        &self,
        api: &str,
        plural: &str,
        name: &str,
        status: &Value,
    ) -> Result<(), RealError> {
        let path = path(api, plural, &format!("{name}/status"));
        self.ask(Method::PATCH, &path, "application/merge-patch+json", status).await.map(drop)
    }

    /// Where budgets are served: `policy/v1` since Kubernetes 1.21, `v1beta1` before.
    pub(in crate::api) async fn policy(&self) -> Result<String, RealError> {
        match self.ask(Method::GET, "/apis/policy/v1", "", &Value::Null).await {
            Err(error) if error.is_missing() => Ok("/apis/policy/v1beta1".into()),
            served => served.map(|_| "/apis/policy/v1".into()),
        }
    }

    /// Removes the work of a stage, at once.
    pub(in crate::api) async fn clear_work(&self, label: &str) -> Result<(), RealError> {
        for (api, plural) in [("/api/v1".to_owned(), "pods"), (self.policy().await?, "poddisruptionbudgets")]
        {
            let selected = format!("{}?labelSelector={label}", path(&api, plural, ""));
            let found = self.ask(Method::GET, &selected, "", &Value::Null).await?;
            for name in
                found["items"].as_array().into_iter().flatten().filter_map(|o| o["metadata"]["name"].as_str())
            {
                let at_once = json!({"gracePeriodSeconds": 0});
                self.ask(Method::DELETE, &path(&api, plural, name), "application/json", &at_once).await?;
            }
        }
        Ok(())
    }

    /// One request, by its path.
    pub(in crate::api) async fn ask(
        &self,
        method: Method,
        path: &str,
        media: &str,
        body: &Value,
    ) -> Result<Value, RealError> {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, media).body(bytes);
        let request = request.map_err(io::Error::other)?;
        Ok(self.client.request(request).await.map_err(Box::new)?)
    }
}

fn path(api: &str, plural: &str, name: &str) -> String {
    format!("{api}/namespaces/{NAMESPACE}/{plural}/{name}").trim_end_matches('/').to_owned()
}

/// Tries, a fifth of a second apart.
const SERVED_WITHIN: u32 = 50;
