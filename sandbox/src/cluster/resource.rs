//! What the server serves, and what a URL means: pure. Owns the list of built-in kinds; custom ones come from
//! their `CustomResourceDefinition`.

use serde_json::Value;

use super::schema::Custom;

/// One served resource.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) short: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) has_status: bool,
    pub(crate) verbs: &'static [&'static str],
    /// Schema and columns, if a definition stands behind it.
    pub(crate) custom: Option<Custom>,
}

const ALL: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
/// Deleting a namespace or a definition means deleting what it holds, which nothing here does.
const KEPT: &[&str] = &["create", "get", "list", "patch", "update", "watch"];
const CREATED: &[&str] = &["create"];

/// Group, version, plural, kind, short name, namespaced, status subresource, verbs.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    bool,
    bool,
    &'static [&'static str],
);

const BUILT_IN: &[Row] = &[
    ("", "v1", "events", "Event", "ev", true, false, ALL),
    ("", "v1", "namespaces", "Namespace", "ns", false, true, KEPT),
    ("", "v1", "nodes", "Node", "no", false, true, ALL),
    ("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "pvc", true, true, ALL),
    ("", "v1", "persistentvolumes", "PersistentVolume", "pv", false, true, ALL),
    ("", "v1", "pods", "Pod", "po", true, true, ALL),
    ("", "v1", "secrets", "Secret", "", true, false, ALL),
    ("", "v1", "serviceaccounts", "ServiceAccount", "sa", true, false, ALL),
    (
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        "crd",
        false,
        true,
        KEPT,
    ),
    ("apps", "v1", "daemonsets", "DaemonSet", "ds", true, true, ALL),
    ("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", "", false, false, CREATED),
    (
        "authorization.k8s.io",
        "v1",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        "",
        false,
        false,
        CREATED,
    ),
    ("coordination.k8s.io", "v1", "leases", "Lease", "", true, false, ALL),
    ("events.k8s.io", "v1", "events", "Event", "ev", true, false, ALL),
    ("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "pdb", true, true, ALL),
    ("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", "", false, true, ALL),
];

impl Resource {
    /// The kinds that need no definition.
    pub(crate) fn built_in() -> Vec<Self> {
        let row = |&(group, version, plural, kind, short, namespaced, has_status, verbs): &Row| Self {
            group: group.into(),
            version: version.into(),
            plural: plural.into(),
            singular: kind.to_lowercase(),
            kind: kind.into(),
            short: if short.is_empty() { vec![] } else { vec![short.into()] },
            namespaced,
            has_status,
            verbs,
            custom: None,
        };
        BUILT_IN.iter().map(row).collect()
    }

    /// Every served version of one definition.
    pub(crate) fn defined_by(crd: &Value) -> Vec<Self> {
        let text =
            |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        versions
            .filter(|v| v["served"] == Value::Bool(true))
            .map(|version| Self {
                group: text("/spec/group"),
                version: version["name"].as_str().unwrap_or_default().into(),
                plural: text("/spec/names/plural"),
                singular: text("/spec/names/singular"),
                kind: text("/spec/names/kind"),
                short: strings(crd.pointer("/spec/names/shortNames")),
                namespaced: text("/spec/scope") == "Namespaced",
                has_status: version.pointer("/subresources/status").is_some(),
                verbs: ALL,
                custom: Some(Custom::of_version(version)),
            })
            .collect()
    }

    /// `nodes`, `capacityleases.curfew.dev`.
    pub(crate) fn id(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Where its objects are kept: both groups of events are one store.
    pub(crate) fn storage(&self) -> String {
        if self.group == "events.k8s.io" { "events".into() } else { self.id() }
    }

    /// `v1`, `curfew.dev/v1alpha1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }
}

pub(super) fn strings(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect()
}

/// What is done to a resource, as authorization names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    pub(crate) fn of(method: &str, named: bool, watch: bool) -> Option<Self> {
        Some(match (method, named) {
            ("GET", _) if watch => Self::Watch,
            ("GET", true) => Self::Get,
            ("GET", false) => Self::List,
            ("POST", _) => Self::Create,
            ("PUT", true) => Self::Update,
            ("PATCH", true) => Self::Patch,
            ("DELETE", true) => Self::Delete,
            ("DELETE", false) => Self::DeleteCollection,
            _ => return None,
        })
    }
}

/// A path below `/api/v1` or `/apis/GROUP/VERSION`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) namespace: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

impl Target {
    /// `None`: a path of discovery, or of nothing.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, version) = match parts.as_slice() {
            ["api", version, _, ..] => ("", *version),
            ["apis", group, version, _, ..] => (*group, *version),
            _ => return None,
        };
        parts.drain(..if group.is_empty() { 2 } else { 3 });
        let mut namespace = "";
        if let ["namespaces", ns, below, ..] = parts.as_slice()
            && !matches!(*below, "status" | "finalize")
        {
            namespace = ns;
            parts.drain(..2);
        }
        let owned = |part: Option<&&str>| part.map(|p| (*p).to_owned());
        (parts.len() <= 3).then(|| Self {
            group: group.into(),
            version: version.into(),
            plural: parts[0].into(),
            namespace: namespace.into(),
            name: owned(parts.get(1)),
            subresource: owned(parts.get(2)),
        })
    }

    /// `pods/eviction`, as authorization names it.
    pub(crate) fn resource_path(&self) -> String {
        self.subresource.as_ref().map_or_else(|| self.plural.clone(), |sub| format!("{}/{sub}", self.plural))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_group_namespace_object_and_subresource() {
        let parse = |path| {
            let t = Target::parse(path).unwrap();
            (t.group, t.namespace, t.plural, t.name.unwrap_or_default(), t.subresource.unwrap_or_default())
        };
        let row = |g: &str, ns: &str, p: &str, n: &str, s: &str| {
            (g.into(), ns.into(), p.into(), n.into(), s.into())
        };
        assert_eq!(parse("/api/v1/nodes/n1/status"), row("", "", "nodes", "n1", "status"));
        assert_eq!(parse("/api/v1/namespaces/kube-system"), row("", "", "namespaces", "kube-system", ""));
        assert_eq!(parse("/api/v1/namespaces/a/status"), row("", "", "namespaces", "a", "status"));
        assert_eq!(parse("/api/v1/namespaces/a/pods/p/eviction"), row("", "a", "pods", "p", "eviction"));
        assert_eq!(
            parse("/apis/curfew.dev/v1alpha1/capacityleases"),
            row("curfew.dev", "", "capacityleases", "", "")
        );
        for path in ["/api", "/api/v1", "/apis", "/apis/curfew.dev/v1alpha1", "/version", "/api/v1/a/b/c/d"] {
            assert_eq!(Target::parse(path), None, "{path}");
        }
    }
}
