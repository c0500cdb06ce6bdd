//! Who may do what: pure. A kubelet gets exactly what the Node authorizer and the `NodeRestriction` admission
//! leave it, as probed on a real API server 1.36; the controller what [`super::role`] says; people in `system:masters` get
//! everything.

use serde_json::Value;

use super::{
    refusal::Refusal,
    resource::{Target, Verb},
    role,
    selector::Selector,
    store::Store,
};

/// Who asks, out of the client certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The certificate's common name.
    pub name: String,
    /// Its organizations, and `system:authenticated`.
    pub groups: Vec<String>,
}

/// The common name of the controller's certificate.
pub const CONTROLLER: &str = "curfew-controller";

/// Whether kubelets may read Nodes other than their own: `AuthorizeNodeWithSelectors`, on since 1.32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeReads {
    /// Only its own.
    #[default]
    Own,
    /// Every Node, as in clusters before 1.32.
    Every,
}

impl User {
    /// Someone without a certificate.
    pub(crate) fn anonymous() -> Self {
        Self { name: "system:anonymous".into(), groups: vec!["system:unauthenticated".into()] }
    }

    /// The Node whose kubelet this is.
    pub(crate) fn node(&self) -> Option<&str> {
        self.in_group("system:nodes").then(|| self.name.strip_prefix("system:node:")).flatten()
    }

    fn in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    pub(crate) fn is_authenticated(&self) -> bool {
        self.in_group("system:authenticated")
    }

    fn may_everything(&self) -> bool {
        self.in_group("system:masters")
    }

    fn is_controller(&self) -> bool {
        self.is_authenticated() && self.name == CONTROLLER
    }
}

/// One request, as far as authorization sees it: before the body is read.
pub(crate) struct Act<'a> {
    pub(crate) user: &'a User,
    pub(crate) verb: Verb,
    pub(crate) target: &'a Target,
    pub(crate) selector: &'a Selector,
}

/// Authorization: 403, or go on.
pub(crate) fn authorize(act: &Act<'_>, reads: NodeReads, store: &Store) -> Result<(), Refusal> {
    let allowed = act.user.may_everything()
        || act.user.is_authenticated() && is_about_oneself(act.target)
        || act.user.is_controller() && role::allows(act.verb, act.target)
        || act.user.node().is_some_and(|node| kubelet_may(act, node, reads, store));
    if allowed { Ok(()) } else { Err(denied(act)) }
}

/// Reviews of one's own identity are everyone's, by the role `system:basic-user`.
fn is_about_oneself(target: &Target) -> bool {
    matches!(
        (target.group.as_str(), target.plural.as_str()),
        ("authentication.k8s.io", "selfsubjectreviews")
            | ("authorization.k8s.io", "selfsubjectaccessreviews")
    )
}

fn kubelet_may(act: &Act<'_>, node: &str, reads: NodeReads, store: &Store) -> bool {
    let target = act.target;
    let name = target.name.as_deref();
    let own = name == Some(node);
    match (target.group.as_str(), target.resource_path().as_str(), act.verb) {
        // Whose Node it may create shows in the body: see `restrict_node`.
        ("", "nodes", Verb::Create) => name.is_none(),
        ("", "nodes", Verb::Get) => own || reads == NodeReads::Every,
        ("", "nodes", Verb::List | Verb::Watch) => {
            act.selector.pinned("metadata.name") == Some(node) || reads == NodeReads::Every
        }
        ("", "nodes" | "nodes/status", Verb::Update | Verb::Patch) => own,
        ("" | "events.k8s.io", "events", Verb::Create | Verb::Update | Verb::Patch) => true,
        ("coordination.k8s.io", "leases", Verb::Create) => target.namespace == "kube-node-lease",
        ("coordination.k8s.io", "leases", Verb::Get | Verb::Update | Verb::Patch | Verb::Delete) => {
            own && target.namespace == "kube-node-lease"
        }
        ("", "pods", Verb::List | Verb::Watch) => act.selector.pinned("spec.nodeName") == Some(node),
        ("", "pods", Verb::Get | Verb::Delete)
        | ("", "pods/status", Verb::Update | Verb::Patch)
        | ("", "pods/eviction", Verb::Create) => runs_on(store, target, node),
        _ => false,
    }
}

fn runs_on(store: &Store, target: &Target, node: &str) -> bool {
    let key = ("pods".into(), target.namespace.clone(), target.name.clone().unwrap_or_default());
    store.object(&key).is_some_and(|pod| pod["spec"]["nodeName"] == node)
}

fn denied(act: &Act<'_>) -> Refusal {
    let target = act.target;
    let what = target
        .name
        .as_ref()
        .map_or_else(|| target.plural.clone(), |name| format!("{} {name:?}", target.plural));
    let place = if target.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {:?}", target.namespace)
    };
    let (user, verb) = (&act.user.name, act.verb.as_str());
    let why = format!(
        "User {user:?} cannot {verb} resource {:?} in API group {:?} {place}",
        target.resource_path(),
        target.group
    );
    Refusal::forbidden(&what, why)
}

/// The `NodeRestriction` admission: what a kubelet may write into what it may write to. `before` is null when the
/// object is created.
pub(crate) fn restrict_node(
    user: &User,
    target: &Target,
    before: &Value,
    after: &Value,
) -> Result<(), Refusal> {
    let Some(node) = user.node() else { return Ok(()) };
    let name = after["metadata"]["name"].as_str().unwrap_or_default();
    let what = format!("{} {name:?}", target.plural);
    let refuse = |why: &str| Err(Refusal::forbidden(&what, format!("node {node:?} {why}")));
    match target.plural.as_str() {
        "nodes" if name != node => refuse(&format!("is not allowed to modify node {name:?}")),
        "leases" if name != node => {
            refuse("can only access node lease with the same name as the requesting node")
        }
        "nodes" => {
            let differs = |pointer| before.pointer(pointer) != after.pointer(pointer);
            let labels = forbidden_labels(before, after);
            if !labels.is_empty() {
                refuse(&format!("is not allowed to modify labels: {}", labels.join(", ")))
            } else if !before.is_null() && differs("/spec/taints") {
                refuse("is not allowed to modify taints")
            } else if differs("/metadata/ownerReferences") {
                refuse("is not allowed to modify ownerReferences")
            } else {
                Ok(())
            }
        }
        _ => Ok(()),
    }
}

fn forbidden_labels(before: &Value, after: &Value) -> Vec<String> {
    let empty = serde_json::Map::new();
    let of = |object: &'_ Value| object.pointer("/metadata/labels").and_then(Value::as_object).cloned();
    let (old, new) = (of(before).unwrap_or_else(|| empty.clone()), of(after).unwrap_or(empty));
    let changed = old.keys().chain(new.keys()).filter(|key| old.get(*key) != new.get(*key));
    let mut found: Vec<String> = changed.filter(|key| !kubelet_may_label(key)).cloned().collect();
    found.sort();
    found.dedup();
    found
}

/// Source: `NodeRestriction`, and the list of labels a kubelet sets on itself.
fn kubelet_may_label(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return true };
    let within = |domain: &str| prefix == domain || prefix.ends_with(&format!(".{domain}"));
    if within("node-restriction.kubernetes.io") {
        return false;
    }
    !(within("kubernetes.io") || within("k8s.io"))
        || within("kubelet.kubernetes.io")
        || within("node.kubernetes.io")
        || KUBELET_LABELS.contains(&key)
}

const KUBELET_LABELS: &[&str] = &[
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubelet_may_label_itself_but_not_claim_what_is_restricted() {
        for (key, may) in [
            ("curfew.dev/x", true),
            ("plain", true),
            ("kubernetes.io/hostname", true),
            ("node.kubernetes.io/instance-type", true),
            ("node-restriction.kubernetes.io/x", false),
            ("a.node-restriction.kubernetes.io/x", false),
            ("kubernetes.io/unknown", false),
            ("node-role.kubernetes.io/control-plane", false),
            ("notkubernetes.io/x", true),
        ] {
            assert_eq!(kubelet_may_label(key), may, "{key}");
        }
    }
}
