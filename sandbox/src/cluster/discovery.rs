//! Discovery: which groups, versions and resources there are, and as much OpenAPI as `kubectl apply` asks for.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{authz::User, refusal::Refusal, resource::Resource};

/// The Kubernetes version whose behaviour was probed.
const VERSION: (&str, &str, &str) = ("1", "36", "v1.36.0");

/// The document at a path that is no resource.
pub(crate) fn answer(
    path: &str,
    method: &str,
    accept: &str,
    user: &User,
    served: &[Resource],
) -> Result<Value, Refusal> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let public = matches!(parts.as_slice(), ["version" | "healthz" | "livez" | "readyz"]);
    if !public && !user.is_authenticated() {
        let why = format!("User {:?} cannot get path {path:?}", user.name);
        return Err(Refusal { message: format!("forbidden: {why}"), ..Refusal::forbidden("", "") });
    }
    if method != "GET" {
        return Err(Refusal::method_not_allowed());
    }
    match parts.as_slice() {
        ["version"] => Ok(json!({
            "major": VERSION.0, "minor": VERSION.1, "gitVersion": VERSION.2, "platform": "linux/amd64",
            "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "",
        })),
        ["healthz" | "livez" | "readyz"] => Ok(json!("ok")),
        ["api"] => Ok(json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})),
        ["apis"] => {
            let groups: Vec<Value> =
                groups(served).iter().map(|(name, versions)| group(name, versions)).collect();
            Ok(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        ["apis", name] => {
            let groups = groups(served);
            let versions = groups.get(*name).ok_or_else(Refusal::no_such_path)?;
            let mut group = group(name, versions);
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            Ok(group)
        }
        ["api", version] => resources("", version, served),
        ["apis", name, version] => resources(name, version, served),
        ["openapi", "v3"] => Ok(openapi_index(served)),
        ["openapi", "v3", "api", version] => openapi("", version, served),
        ["openapi", "v3", "apis", name, version] => openapi(name, version, served),
        ["openapi", "v2"] => Err(Refusal::not_acceptable(accept)),
        _ => Err(Refusal::no_such_path()),
    }
}

fn groups(served: &[Resource]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut groups = BTreeMap::<&str, BTreeSet<&str>>::new();
    for resource in served.iter().filter(|r| !r.group.is_empty()) {
        groups.entry(&resource.group).or_default().insert(&resource.version);
    }
    groups
}

fn group(name: &str, versions: &BTreeSet<&str>) -> Value {
    let all: Vec<Value> =
        versions.iter().map(|v| json!({"groupVersion": format!("{name}/{v}"), "version": v})).collect();
    json!({"name": name, "versions": all, "preferredVersion": all.first()})
}

fn resources(group: &str, version: &str, served: &[Resource]) -> Result<Value, Refusal> {
    let mut list = Vec::new();
    for resource in served.iter().filter(|r| r.group == group && r.version == version) {
        list.push(json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": resource.verbs, "shortNames": resource.short,
        }));
        if resource.has_status {
            list.push(json!({
                "name": format!("{}/status", resource.plural), "singularName": "", "kind": resource.kind,
                "namespaced": resource.namespaced, "verbs": ["get", "patch", "update"],
            }));
        }
        if resource.is("", "pods") {
            list.push(json!({
                "name": "pods/eviction", "singularName": "", "namespaced": true, "kind": "Eviction",
                "group": "policy", "version": "v1", "verbs": ["create"],
            }));
        }
    }
    if list.is_empty() {
        return Err(Refusal::no_such_path());
    }
    let name = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Ok(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": list}))
}

fn root(resource: &Resource) -> String {
    if resource.group.is_empty() { "api".into() } else { format!("apis/{}", resource.group) }
}

fn openapi_index(served: &[Resource]) -> Value {
    let path = |r: &Resource| format!("{}/{}", root(r), r.version);
    let paths: BTreeMap<String, Value> = served
        .iter()
        .map(|r| (path(r), json!({"serverRelativeURL": format!("/openapi/v3/{}", path(r))})))
        .collect();
    json!({"paths": paths})
}

/// `kubectl apply` looks here for one thing: whether PATCH takes `fieldValidation`, in which case it leaves
/// validation to the server. The schema of a custom kind is told in full, that of a built-in one is not.
fn openapi(group: &str, version: &str, served: &[Resource]) -> Result<Value, Refusal> {
    let (mut paths, mut schemas) = (BTreeMap::new(), BTreeMap::new());
    for resource in served.iter().filter(|r| r.group == group && r.version == version) {
        let gvk = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
        let namespace = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
        let path = format!("/{}/{version}/{namespace}{}/{{name}}", root(resource), resource.plural);
        let operation = json!({
            "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
            "x-kubernetes-group-version-kind": gvk,
        });
        paths.insert(path, json!({"patch": operation}));
        let mut schema =
            resource.custom.as_ref().map_or_else(|| json!({"type": "object"}), |c| c.schema.clone());
        schema["x-kubernetes-group-version-kind"] = json!([gvk]);
        schemas.insert(format!("{}.{}", resource.group, resource.kind), schema);
    }
    if paths.is_empty() {
        return Err(Refusal::no_such_path());
    }
    Ok(json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": VERSION.2}, "paths": paths,
        "components": {"schemas": schemas},
    }))
}
