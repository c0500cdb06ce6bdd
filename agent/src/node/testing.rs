//! A machine as kubeadm leaves it, and an API server's answers, for the tests.

use std::{fs, sync::Arc, time::Duration};

use tempfile::TempDir;

use crate::{
    net::{
        Proxies,
        testing::{Asked, Authority, NOW, Reply, Server, best_time, file},
    },
    node::{NodeApi, NodeName, Options},
};

/// Credential files on disk and a cluster's authority.
pub(super) struct Machine {
    pub(super) dir: TempDir,
    pub(super) ca: Authority,
}

impl Machine {
    /// With a certificate for `system:node:n1`; no kubeconfig yet.
    pub(super) fn new() -> Self {
        let machine = Self { dir: tempfile::tempdir().unwrap(), ca: Authority::new() };
        file(&machine.dir, "ca.crt", &machine.ca.pem());
        machine.rotate();
        machine
    }

    /// Puts a new certificate where the old one was, and returns it.
    pub(super) fn rotate(&self) -> String {
        let pair = self.ca.client("system:node:n1");
        // As the kubelet writes it: both in one file.
        file(&self.dir, "client.pem", &format!("{}{}", pair.certificate, pair.key));
        pair.certificate
    }

    /// An API server whose kubeconfig is in place.
    pub(super) async fn api_server(
        &self,
        script: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let server = Server::tls(&self.ca.server("127.0.0.1", (2020, 2040)), &self.ca, script).await;
        self.point_at(&server);
        server
    }

    pub(super) fn point_at(&self, server: &Server) {
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: 'https://{}', certificate-authority: ca.crt}}}}]\n\
             users: [{{name: u, user: {{client-certificate: client.pem, client-key: client.pem}}}}]\n",
            server.address
        );
        // The kubelet's own way: never a moment with half a file.
        let new = file(&self.dir, "new.conf", &kubeconfig);
        fs::rename(new, self.dir.path().join("kubelet.conf")).unwrap();
    }

    pub(super) fn options(&self) -> Options {
        Options {
            kubeconfig: self.dir.path().join("kubelet.conf"),
            proxies: Proxies::none(),
            best_time: best_time(NOW),
            dates_ignored: Arc::default(),
            silence: Duration::from_mins(1),
        }
    }

    pub(super) fn api(&self) -> NodeApi {
        NodeApi::new(self.options())
    }
}

pub(super) fn n1() -> NodeName {
    NodeName::new("n1").unwrap()
}

/// A Node's metadata as the API server sends it.
pub(super) fn node(resource_version: &str, annotations: &str) -> String {
    format!(
        r#"{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{{"name":"n1","uid":"u-1","resourceVersion":"{resource_version}","managedFields":[{{"manager":"kubelet"}}],"annotations":{annotations}}}}}"#
    )
}

/// A refusal in the API server's words.
pub(super) fn status(code: &'static str, message: &str) -> Reply {
    let body =
        format!(r#"{{"kind":"Status","status":"Failure","message":"{message}","code":{}}}"#, &code[..3]);
    Reply::Whole { status: code, headers: "", body }
}
