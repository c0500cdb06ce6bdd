//! What the controller may do here: what `deploy/rbac.yaml` lets it do in a real cluster, and nothing else. Pure.

use std::sync::LazyLock;

use serde_json::Value;

use super::resource::{Target, Verb, strings};

/// One rule of a role that is bound to somebody.
#[derive(Clone, Debug)]
struct Grant {
    /// None: in all of them, and outside.
    namespace: Option<String>,
    groups: Vec<String>,
    resources: Vec<String>,
    /// Empty: every object.
    names: Vec<String>,
    verbs: Vec<String>,
}

/// Whether one of the roles says so.
pub(super) fn allows(verb: Verb, target: &Target) -> bool {
    GRANTS.iter().any(|grant| grant.covers(verb, target))
}

impl Grant {
    fn covers(&self, verb: Verb, target: &Target) -> bool {
        let named = |name: &String| target.name.as_ref() == Some(name);
        self.namespace.as_ref().is_none_or(|namespace| *namespace == target.namespace)
            && self.groups.contains(&target.group)
            && self.resources.contains(&target.resource_path())
            && (self.names.is_empty() || self.names.iter().any(named))
            && self.verbs.iter().any(|each| each == verb.as_str())
    }
}

/// A document that cannot be read allows nothing, which no test survives.
static GRANTS: LazyLock<Vec<Grant>> = LazyLock::new(|| {
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(include_str!("../../../deploy/rbac.yaml")).unwrap_or_default();
    let text = |document: &Value, pointer: &str| {
        document.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
    };
    let bound = |role: &Value| {
        let (kind, name) = (text(role, "/kind").unwrap_or_default(), text(role, "/metadata/name"));
        documents.iter().any(|binding| {
            binding["kind"] == format!("{kind}Binding")
                && text(binding, "/roleRef/name") == name
                && text(binding, "/metadata/namespace") == text(role, "/metadata/namespace")
        })
    };
    let roles = documents.iter().filter(|document| document["rules"].is_array() && bound(document));
    let grants = roles.flat_map(|role| {
        let namespace = text(role, "/metadata/namespace");
        role["rules"].as_array().into_iter().flatten().map(move |rule| Grant {
            namespace: namespace.clone(),
            groups: strings(rule.get("apiGroups")),
            resources: strings(rule.get("resources")),
            names: strings(rule.get("resourceNames")),
            verbs: strings(rule.get("verbs")),
        })
    });
    grants.collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    fn may(verb: Verb, path: &str) -> bool {
        allows(verb, &Target::parse(path).unwrap())
    }

    #[test]
    fn the_controller_may_what_its_role_says_where_it_says_so() {
        assert!(may(Verb::Patch, "/api/v1/nodes/n1/status"));
        assert!(may(Verb::Delete, "/api/v1/nodes/n1"));
        assert!(may(Verb::Create, "/api/v1/namespaces/a/pods/p/eviction"));
        assert!(may(Verb::Get, "/api/v1/namespaces/curfew/secrets/hcloud"));
        assert!(may(Verb::Get, "/api/v1/namespaces/kube-system"));
    }

    #[test]
    fn it_may_nothing_else() {
        assert!(!may(Verb::Get, "/api/v1/namespaces/kube-system/secrets/hcloud"), "a Secret elsewhere");
        assert!(!may(Verb::List, "/api/v1/secrets"), "every Secret");
        assert!(!may(Verb::Get, "/api/v1/namespaces/default"));
        assert!(!may(Verb::Delete, "/api/v1/namespaces/a/pods/p"), "a pod past its budget");
        assert!(!may(Verb::Delete, "/apis/curfew.dev/v1alpha1/capacityleases/l"));
        assert!(!may(Verb::Patch, "/api/v1/namespaces/curfew/secrets/hcloud"));
    }
}
