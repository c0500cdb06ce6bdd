//! Promises of the loopback cloud, kept over real sockets.

mod deletion;
mod doors;
mod faults;
mod listing;
mod ordering;
mod renting;

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::*;

/// Longer than anything here takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A cloud and one who may write there.
struct Setting {
    cloud: Cloud,
    token: String,
    client: reqwest::Client,
}

async fn setting(settings: Settings) -> Setting {
    let cloud = Cloud::start(Options { settings, ..Options::default() }).await.unwrap();
    let token = cloud.issue_token(Project::OURS, Access::ReadWrite, "writer");
    Setting { cloud, token, client: client() }
}

fn client() -> reqwest::Client {
    let roots = rustls::RootCertStore::empty();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().build().unwrap()
}

impl Setting {
    /// `path` begins after `/v1`.
    fn request(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> reqwest::RequestBuilder {
        let request = self.client.request(method, self.cloud.endpoint() + path).bearer_auth(token);
        match body {
            Some(body) => request.body(body.to_string()),
            None => request,
        }
    }

    async fn call_as(&self, token: &str, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let answer = self.request(token, method, path, body).send().await.unwrap();
        let status = answer.status().as_u16();
        (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or(Value::Null))
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        self.call_as(&self.token, method, path, body).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.call(Method::GET, path, None).await
    }

    async fn delete(&self, id: u64) -> (u16, Value) {
        self.call(Method::DELETE, &format!("/servers/{id}"), None).await
    }

    async fn refused(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, String) {
        let (status, body) = self.call(method, path, body).await;
        (status, code(&body))
    }

    fn server(&self, name: &str) -> u64 {
        self.cloud.add_server(ServerSpec::new(name, &[]))
    }
}

fn code(body: &Value) -> String {
    body["error"]["code"].as_str().unwrap_or_default().to_owned()
}

fn refusal(status: StatusCode, code: &str) -> (u16, String) {
    (status.as_u16(), code.to_owned())
}
