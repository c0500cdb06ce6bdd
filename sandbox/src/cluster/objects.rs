//! Objects and identities, without going through TLS: what a cluster's other components (kubelets, a person at
//! another desk) do meanwhile. Writes go through the same decisions as a request of an administrator.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::{Value, json};

use super::{
    Cluster, Error, User,
    api::{self, Answer, Ask},
    authz::CONTROLLER,
    handle::usual,
    kubeconfig::{self, NodeForm, Server},
    pki::{Credential, Validity},
    refusal::Refusal,
    resource::{Resource, Target, Verb},
    shared::served,
    write::stamp,
};

/// Whose kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// `kubernetes-admin`, in `system:masters`.
    Admin,
    /// The controller: what `deploy/rbac.yaml` allows, and each call is in the ledger.
    Controller,
    /// The kubelet of this node, in `system:nodes`.
    Kubelet(String),
    /// Any name and groups.
    Other(User),
}

impl Identity {
    fn user(&self) -> User {
        let named = |name: &str, group: &str| User { name: name.into(), groups: vec![group.into()] };
        match self {
            Self::Admin => named("kubernetes-admin", "system:masters"),
            Self::Controller => named(CONTROLLER, "curfew"),
            Self::Kubelet(node) => named(&format!("system:node:{node}"), "system:nodes"),
            Self::Other(user) => user.clone(),
        }
    }
}

impl Cluster {
    /// Writes a kubeconfig with everything inline, and returns its path. `validity` of the client certificate:
    /// `None` is from a year ago for ten years.
    pub fn kubeconfig_for(&self, identity: &Identity, validity: Option<Validity>) -> Result<PathBuf, Error> {
        let user = identity.user();
        let text = kubeconfig::inline(&self.server(), &user.name, &self.credential(&user, validity)?)?;
        let path = self.dir.join(format!("{}.kubeconfig", user.name.replace(':', "-")));
        kubeconfig::secret(&path, &text).map_err(Error::files(&path))?;
        Ok(path)
    }

    /// Writes a node's kubelet credential below `dir` in the form a real node has, and returns the kubeconfig's
    /// path. Called again it rotates: a new certificate and key, the kubeconfig unchanged.
    pub fn kubelet_files(
        &self,
        node: &str,
        dir: &std::path::Path,
        form: NodeForm,
        validity: Option<Validity>,
    ) -> Result<PathBuf, Error> {
        let user = Identity::Kubelet(node.into()).user();
        fs::create_dir_all(dir).map_err(Error::files(dir))?;
        kubeconfig::write_node(dir, form, &self.server(), &user.name, &self.credential(&user, validity)?)
    }

    /// The CA's certificate, PEM.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.shared.authority.certificate
    }

    fn server(&self) -> Server<'_> {
        Server { url: self.url(), authority: self.authority() }
    }

    fn credential(&self, user: &User, validity: Option<Validity>) -> Result<Credential, Error> {
        let groups: Vec<&str> = user.groups.iter().map(String::as_str).collect();
        self.shared.authority.client(&user.name, &groups, validity.unwrap_or_else(|| usual(self.now())))
    }

    /// Registers a Node as a kubelet and its cloud provider do: Ready, with a `providerID` and a Lease.
    pub fn add_node(
        &self,
        name: &str,
        provider_id: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<Value, Error> {
        let mut labels = labels.clone();
        for (key, value) in [("kubernetes.io/hostname", name), ("kubernetes.io/os", "linux")] {
            labels.insert(key.into(), value.into());
        }
        let size = json!({"cpu": "2", "memory": "4Gi", "pods": "110"});
        let node = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"providerID": provider_id},
            "status": {
                "capacity": size, "allocatable": size,
                "conditions": [self.ready(true)],
                "nodeInfo": {
                    "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "",
                    "kubeProxyVersion": "", "kubeletVersion": "v1.36.0", "machineID": "", "operatingSystem": "linux",
                    "osImage": "", "systemUUID": "",
                },
            },
        });
        let lease =
            json!({"metadata": {"name": name}, "spec": {"holderIdentity": name, "leaseDurationSeconds": 40}});
        let node = self.create(("", "v1", "nodes"), "", &node)?;
        self.create(("coordination.k8s.io", "v1", "leases"), "kube-node-lease", &lease)?;
        Ok(node)
    }

    /// Sets a Node's Ready condition, as its kubelet does, or as the node lifecycle controller does (`Unknown`)
    /// once the kubelet is dead.
    pub fn mark_ready(&self, node: &str, ready: bool) -> Result<Value, Error> {
        let patch = json!({"status": {"conditions": [self.ready(ready)]}});
        let target = Target { subresource: Some("status".into()), ..core("nodes", "", Some(node)) };
        self.act(Verb::Patch, &target, "application/strategic-merge-patch+json", &patch)
    }

    fn ready(&self, ready: bool) -> Value {
        let now = stamp(self.now());
        let (status, reason) =
            if ready { ("True", "KubeletReady") } else { ("Unknown", "NodeStatusUnknown") };
        json!({"type": "Ready", "status": status, "reason": reason, "message": "", "lastHeartbeatTime": now,
               "lastTransitionTime": now})
    }

    /// A Node; `None` if there is none.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<Value> {
        self.object("nodes", "", name)
    }

    /// Any object, by its storage name (`pods`, `capacityleases.curfew.dev`), namespace and name.
    #[must_use]
    pub fn object(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.shared.read(|store| store.object(&(resource.into(), namespace.into(), name.into())).cloned())
    }

    /// All objects of a resource, in all namespaces.
    #[must_use]
    pub fn objects(&self, resource: &str) -> Vec<Value> {
        self.shared.read(|store| store.list(resource, "").cloned().collect())
    }

    /// The uid of `kube-system`, by which a cluster is known.
    #[must_use]
    pub fn uid(&self) -> String {
        let namespace = self.object("namespaces", "", "kube-system").unwrap_or_default();
        namespace["metadata"]["uid"].as_str().unwrap_or_default().into()
    }

    /// Sets an annotation on a Node; `None` removes it.
    pub fn set_annotation(&self, node: &str, key: &str, value: Option<&str>) -> Result<Value, Error> {
        let patch = json!({"metadata": {"annotations": {key: value}}});
        self.act(Verb::Patch, &core("nodes", "", Some(node)), "application/merge-patch+json", &patch)
    }

    /// Creates an object as an administrator would.
    pub fn create(
        &self,
        resource: (&str, &str, &str),
        namespace: &str,
        object: &Value,
    ) -> Result<Value, Error> {
        self.act(Verb::Create, &target(resource, namespace, None), "application/json", object)
    }

    /// Applies a merge patch as an administrator would; a `name` with `/status` patches the subresource.
    pub fn merge_patch(
        &self,
        resource: (&str, &str, &str),
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value, Error> {
        let (name, subresource) = name.split_once('/').map_or((name, None), |(n, s)| (n, Some(s.to_owned())));
        let target = Target { subresource, ..target(resource, namespace, Some(name)) };
        self.act(Verb::Patch, &target, "application/merge-patch+json", patch)
    }

    /// Deletes an object as an administrator would.
    pub fn delete(&self, resource: (&str, &str, &str), namespace: &str, name: &str) -> Result<Value, Error> {
        self.act(Verb::Delete, &target(resource, namespace, Some(name)), "", &Value::Null)
    }

    fn act(&self, verb: Verb, target: &Target, content_type: &str, body: &Value) -> Result<Value, Error> {
        let user = User {
            name: "kubernetes-admin".into(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
        };
        let body = if body.is_null() { vec![] } else { body.to_string().into_bytes() };
        let (query, now) = (BTreeMap::new(), self.now());
        let ask = Ask { user: &user, verb, target, query: &query, content_type, body: &body, now };
        let answer = self.shared.write(|store| {
            let resource =
                served(store).into_iter().find(|r| fits(r, target)).ok_or_else(Refusal::no_such_path)?;
            api::answer(store, &resource, &ask, self.shared.rules())
        });
        match answer {
            Ok(Answer::Object { object, .. }) => Ok(object),
            Ok(_) => Ok(Value::Null),
            Err(refusal) => Err(Error::Refused {
                what: format!("{} {}", verb.as_str(), target.resource_path()),
                message: refusal.message,
                code: refusal.code,
            }),
        }
    }
}

fn fits(resource: &Resource, target: &Target) -> bool {
    resource.is(&target.group, &target.plural) && resource.version == target.version
}

fn core(plural: &str, namespace: &str, name: Option<&str>) -> Target {
    target(("", "v1", plural), namespace, name)
}

fn target((group, version, plural): (&str, &str, &str), namespace: &str, name: Option<&str>) -> Target {
    Target {
        group: group.into(),
        version: version.into(),
        plural: plural.into(),
        namespace: namespace.into(),
        name: name.map(Into::into),
        subresource: None,
    }
}
