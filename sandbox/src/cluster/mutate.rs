//! The writes among the requests: create, replace, patch, apply, delete, evict. Called by [`super::api`] once a
//! request is authorized; pure in the store it is given.

use serde_json::{Value, json};

use super::{
    api::{Answer, Ask, body, done, found, kept_as, key, received, shown},
    authz,
    eviction::{self, Permit},
    patch::{self, Kind},
    refusal::Refusal,
    removal::{self, Deletion},
    resource::Resource,
    schema,
    store::Store,
    typed,
    write::{self, Via},
};

pub(super) fn create(
    store: &mut Store,
    resource: &Resource,
    ask: &Ask<'_>,
    sent: Value,
) -> Result<Answer, Refusal> {
    let namespace = &ask.target.namespace;
    let home = ("namespaces".to_owned(), String::new(), namespace.clone());
    if resource.namespaced && store.object(&home).is_none() {
        let message = format!("namespaces {namespace:?} not found");
        return Err(Refusal { message, ..Refusal::no_such_path() });
    }
    let kind = kept_as(resource);
    let fresh = write::created(&kind, namespace, received(resource, sent), ask.now, store.revision() + 1)?;
    let name = fresh["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let key = (resource.storage(), namespace.clone(), name.clone());
    if store.object(&key).is_some() {
        return Err(Refusal::already_exists(resource, &name));
    }
    let (fresh, dropped) = admitted(&kind, ask, &Value::Null, fresh)?;
    let kept = store.put(key, fresh);
    Ok(done(201, shown(resource, kept), dropped))
}

pub(super) fn replace(
    store: &mut Store,
    resource: &Resource,
    ask: &Ask<'_>,
    sent: Value,
    via: Via,
) -> Result<Answer, Refusal> {
    let old = found(store, resource, ask)?.clone();
    let kind = kept_as(resource);
    let new = write::replaced(&kind, ask.target.subresource.as_deref(), &old, sent, via)?;
    let (new, dropped) = admitted(&kind, ask, &old, new)?;
    let key = key(resource, ask);
    if new == old {
        return Ok(done(200, shown(resource, old), dropped));
    }
    let kept = if removal::is_finished(&new) {
        {
            store.remove(&key);
            new
        }
    } else {
        store.put(key, new)
    };
    Ok(done(200, shown(resource, kept), dropped))
}

/// Types, defaults, admission and validation. `before` is null for a fresh object.
fn admitted(
    resource: &Resource,
    ask: &Ask<'_>,
    before: &Value,
    mut object: Value,
) -> Result<(Value, Vec<String>), Refusal> {
    let dropped = typed::normalize(resource, &mut object)?;
    if ask.query.get("fieldValidation").is_some_and(|v| v == "Strict") && !dropped.is_empty() {
        let told: Vec<String> = dropped.iter().map(|path| format!("unknown field {path:?}")).collect();
        return Err(Refusal::bad_request(format!("strict decoding error: {}", told.join(", "))));
    }
    authz::restrict_node(ask.user, ask.target, before, &object)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let causes = match &resource.custom {
        Some(custom) => custom.validate(&object, before),
        None if resource.plural == "customresourcedefinitions" => schema::unsupported(&object),
        None => vec![],
    };
    if !causes.is_empty() {
        return Err(Refusal::invalid(&resource.kind, &resource.group, name, &causes));
    }
    Ok((object, dropped))
}

pub(super) fn change(store: &mut Store, resource: &Resource, ask: &Ask<'_>) -> Result<Answer, Refusal> {
    let kind = Kind::of(ask.content_type, resource)?;
    let force = ask.query.get("force").is_some_and(|v| v == "true");
    if kind == Kind::Apply {
        return apply(store, resource, ask, force);
    }
    if ask.query.contains_key("force") {
        let cause = [("force".to_owned(), "Forbidden: may not be specified for non-apply patch".to_owned())];
        return Err(Refusal::invalid("PatchOptions", "meta.k8s.io", "", &cause));
    }
    let current = shown(resource, found(store, resource, ask)?.clone());
    let new = patch::patched(kind, resource, &current, &body(ask)?, false)?;
    replace(store, resource, ask, received(resource, new), Via::Patch)
}

/// Server-side apply creates what does not exist. No fields are tracked by owner: a field that is left out of a
/// later apply stays, and whatever an apply without `force` would change is a conflict.
fn apply(store: &mut Store, resource: &Resource, ask: &Ask<'_>, force: bool) -> Result<Answer, Refusal> {
    if ask.query.get("fieldManager").is_none_or(String::is_empty) {
        let cause = [("fieldManager".to_owned(), "Required value: is required for apply patch".to_owned())];
        return Err(Refusal::invalid("PatchOptions", "meta.k8s.io", "", &cause));
    }
    let name = ask.target.name.as_deref().unwrap_or_default();
    let mut sent = body(ask)?;
    if sent["apiVersion"] != resource.api_version() || sent["kind"] != resource.kind {
        return Err(Refusal::bad_request(
            "invalid object type: apiVersion and kind of an apply patch must be those of the resource",
        ));
    }
    let meta = &sent["metadata"];
    if meta.get("managedFields").is_some() {
        return Err(Refusal::bad_request("metadata.managedFields must be nil"));
    }
    let absent = store.object(&key(resource, ask)).is_none();
    if absent && (meta.get("uid").is_some() || meta.get("resourceVersion").is_some()) {
        return Err(Refusal::conflict(resource, name, "the object does not exist"));
    }
    if absent && ask.target.subresource.is_some() {
        return Err(Refusal::not_found(resource, name));
    }
    if absent {
        sent["metadata"]["name"] = name.into();
        return create(store, resource, ask, sent);
    }
    let current = shown(resource, found(store, resource, ask)?.clone());
    let mut new = patch::patched(Kind::Apply, resource, &current, &sent, true)?;
    // Identity is checked before conflicts are.
    write::replaced(
        &kept_as(resource),
        None,
        &received(resource, current.clone()),
        received(resource, new.clone()),
        Via::Apply,
    )?;
    if !force {
        new = patch::patched(Kind::Apply, resource, &current, &sent, false)?;
    }
    replace(store, resource, ask, received(resource, new), Via::Apply)
}

pub(super) fn delete(store: &mut Store, resource: &Resource, ask: &Ask<'_>) -> Result<Answer, Refusal> {
    let object = found(store, resource, ask)?.clone();
    let options = if ask.body.is_empty() { Value::Null } else { body(ask)? };
    let key = key(resource, ask);
    match removal::deleted(resource, &object, &options, ask.now)? {
        Deletion::Waiting(waiting) => {
            let kept = if waiting == object { object } else { store.put(key, waiting) };
            Ok(done(200, shown(resource, kept), vec![]))
        }
        Deletion::Gone => {
            store.remove(&key);
            if resource.is("", "pods") {
                return Ok(done(200, object, vec![]));
            }
            let details = json!({"name": key.2, "group": resource.group, "kind": resource.plural,
                                 "uid": object["metadata"]["uid"]});
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
            Ok(done(200, status, vec![]))
        }
    }
}

/// An `Eviction` that names no kind or version is read as one of `policy/v1`.
pub(super) fn evict(store: &mut Store, resource: &Resource, ask: &Ask<'_>) -> Result<Answer, Refusal> {
    let sent = body(ask)?;
    let named = |field: &str, expected: &[&str]| sent[field].as_str().is_none_or(|it| expected.contains(&it));
    if !named("kind", &["Eviction"]) || !named("apiVersion", &["policy/v1", "policy/v1beta1"]) {
        return Err(Refusal::bad_request("the body of an eviction is an Eviction of policy/v1"));
    }
    if sent["metadata"]["name"].as_str() != ask.target.name.as_deref() {
        return Err(Refusal::bad_request("name in URL does not match name in Eviction object"));
    }
    match eviction::permit(store, found(store, resource, ask)?, ask.now)? {
        Permit::Free => {}
        Permit::Spends(key, budget) => drop(store.put(key, budget)),
        Permit::Failed(status) => return Ok(done(201, status, vec![])),
    }
    let options = serde_json::to_vec(&sent["deleteOptions"]).unwrap_or_default();
    delete(store, resource, &Ask { body: &options, content_type: "", ..*ask })?;
    Ok(done(
        201,
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}),
        vec![],
    ))
}
