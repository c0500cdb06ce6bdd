//! One request, decided: from the store and what was asked to an answer and the store after it. No sockets, no
//! clock. The order is the real server's: authorize, find, change, admit, validate, keep.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    authz::{self, Act, NodeReads, User},
    event,
    patch::{self, Kind},
    refusal::Refusal,
    resource::{Resource, Target, Verb},
    review,
    selector::Selector,
    store::{Key, Store},
    typed,
    write::{self, Deletion, Via},
};

/// A request to a resource, with its body read.
pub(crate) struct Ask<'a> {
    pub(crate) user: &'a User,
    pub(crate) verb: Verb,
    pub(crate) target: &'a Target,
    pub(crate) query: &'a BTreeMap<String, String>,
    pub(crate) content_type: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) now: Timestamp,
}

/// What to answer.
#[derive(Debug)]
pub(crate) enum Answer {
    /// One object, or a `Status`; fields that were dropped are told in a warning.
    Object { code: u16, object: Value, dropped: Vec<String> },
    /// Objects as of a revision.
    List { items: Vec<Value>, revision: u64 },
    /// Changes as they come.
    Watch(Selector),
}

/// Settings that outlive a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) node_reads: NodeReads,
    /// A disruption budget forbids every eviction.
    pub(crate) evictions_blocked: bool,
}

/// Decides and does it.
pub(crate) fn answer(
    store: &mut Store,
    resource: &Resource,
    ask: &Ask<'_>,
    rules: Rules,
) -> Result<Answer, Refusal> {
    let text = |key: &str| ask.query.get(key).map(String::as_str).unwrap_or_default();
    let mut selector = Selector::parse(resource, text("fieldSelector"), text("labelSelector"))?;
    if let (Verb::Watch, Some(name)) = (ask.verb, &ask.target.name) {
        selector = selector.named(name);
    }
    let act = Act { user: ask.user, verb: ask.verb, target: ask.target, selector: &selector };
    authz::authorize(&act, rules.node_reads, store)?;
    supported(resource, ask)?;
    let mut scratch = dry_run(ask)?.then(|| store.clone());
    let store = scratch.as_mut().unwrap_or(store);
    match ask.verb {
        Verb::Get => {
            known_revision(store, text("resourceVersion"))?;
            let object = found(store, resource, ask)?.clone();
            Ok(done(200, shown(resource, object), vec![]))
        }
        Verb::List => {
            known_revision(store, text("resourceVersion"))?;
            let storage = resource.storage();
            let objects =
                store.list(&storage, &ask.target.namespace).filter(|object| selector.matches(object));
            let items = objects.cloned().map(|object| shown(resource, object)).collect();
            Ok(Answer::List { items, revision: store.revision() })
        }
        Verb::Watch => Ok(Answer::Watch(selector)),
        Verb::Create if ask.target.subresource.as_deref() == Some("eviction") => {
            evict(store, resource, ask, rules)
        }
        Verb::Create if resource.verbs == ["create"] => {
            // A review of oneself asks nothing, in whatever encoding.
            let is_empty = resource.plural == "selfsubjectreviews" && ask.content_type != "application/json";
            let sent = if is_empty {
                json!({"apiVersion": resource.api_version(), "kind": resource.kind})
            } else {
                body(ask)?
            };
            review::answer(ask, sent, store, rules).map(|object| done(201, object, vec![]))
        }
        Verb::Create => create(store, resource, ask, body(ask)?),
        Verb::Update => {
            let sent = received(resource, body(ask)?);
            replace(store, resource, ask, sent, Via::Put)
        }
        Verb::Patch => change(store, resource, ask),
        Verb::Delete => delete(store, resource, ask),
        Verb::DeleteCollection => Err(Refusal::method_not_allowed()),
    }
}

fn supported(resource: &Resource, ask: &Ask<'_>) -> Result<(), Refusal> {
    let fits = match ask.target.subresource.as_deref() {
        None => resource.verbs.contains(&ask.verb.as_str()),
        Some("status") if resource.has_status => {
            matches!(ask.verb, Verb::Get | Verb::Update | Verb::Patch)
        }
        Some("eviction") if resource.is("", "pods") => ask.verb == Verb::Create,
        Some(_) => return Err(Refusal::no_such_path()),
    };
    let placed = match (resource.namespaced, ask.target.namespace.is_empty()) {
        (true, true) => ask.target.name.is_none() && matches!(ask.verb, Verb::List | Verb::Watch),
        (false, false) => false,
        _ => true,
    };
    if !placed {
        return Err(Refusal::no_such_path());
    }
    if fits { Ok(()) } else { Err(Refusal::method_not_allowed()) }
}

fn dry_run(ask: &Ask<'_>) -> Result<bool, Refusal> {
    match ask.query.get("dryRun").map(String::as_str) {
        None => Ok(false),
        Some("All") => Ok(true),
        Some(other) => Err(Refusal::bad_request(format!("dryRun: Unsupported value: {other:?}"))),
    }
}

fn done(code: u16, object: Value, dropped: Vec<String>) -> Answer {
    Answer::Object { code, object, dropped }
}

/// A read at a revision that has not been reached waits in the real server, and then fails.
fn known_revision(store: &Store, asked: &str) -> Result<(), Refusal> {
    if asked.is_empty() {
        return Ok(());
    }
    let revision: u64 =
        asked.parse().map_err(|_| Refusal::bad_request(format!("invalid resource version {asked:?}")))?;
    if revision > store.revision() {
        return Err(Refusal::future_revision(revision, store.revision()));
    }
    Ok(())
}

fn body(ask: &Ask<'_>) -> Result<Value, Refusal> {
    let media = ask.content_type.split(';').next().unwrap_or_default().trim();
    let is_patch = ask.verb == Verb::Patch;
    if !is_patch && !matches!(media, "" | "application/json") {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: application/json \
             (sent: {media})"
        );
        return Err(Refusal::unsupported_media_type(message));
    }
    serde_json::from_slice(ask.body)
        .map_err(|error| Refusal::bad_request(format!("the body of the request is not JSON: {error}")))
}

/// From the form a client sends to the form that is kept.
fn received(resource: &Resource, mut object: Value) -> Value {
    if resource.group == "events.k8s.io" {
        event::to_core(&mut object);
    }
    object
}

/// The other way round.
pub(crate) fn shown(resource: &Resource, mut object: Value) -> Value {
    if resource.group == "events.k8s.io" {
        event::to_events(&mut object);
    }
    object
}

/// Events are checked in the form in which they are kept.
fn kept_as(resource: &Resource) -> Resource {
    let mut kept = resource.clone();
    if kept.group == "events.k8s.io" {
        kept.group.clear();
    }
    kept
}

fn key(resource: &Resource, ask: &Ask<'_>) -> Key {
    (resource.storage(), ask.target.namespace.clone(), ask.target.name.clone().unwrap_or_default())
}

fn found<'a>(store: &'a Store, resource: &Resource, ask: &Ask<'_>) -> Result<&'a Value, Refusal> {
    let key = key(resource, ask);
    store.object(&key).ok_or_else(|| Refusal::not_found(resource, &key.2))
}

fn create(store: &mut Store, resource: &Resource, ask: &Ask<'_>, sent: Value) -> Result<Answer, Refusal> {
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

fn replace(
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
    let kept =
        if write::is_finished(&new) { store.remove(&key).map_or(new, |_| old) } else { store.put(key, new) };
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
        None if resource.plural == "customresourcedefinitions" => super::schema::unsupported(&object),
        None => vec![],
    };
    if !causes.is_empty() {
        return Err(Refusal::invalid(&resource.kind, &resource.group, name, &causes));
    }
    Ok((object, dropped))
}

fn change(store: &mut Store, resource: &Resource, ask: &Ask<'_>) -> Result<Answer, Refusal> {
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

fn delete(store: &mut Store, resource: &Resource, ask: &Ask<'_>) -> Result<Answer, Refusal> {
    let object = found(store, resource, ask)?.clone();
    let options = if ask.body.is_empty() { Value::Null } else { body(ask)? };
    let key = key(resource, ask);
    match write::deleted(resource, &object, &options, ask.now)? {
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

/// With no kubelet to stop its containers, an evicted or deleted pod is gone at once unless finalizers hold it.
fn evict(store: &mut Store, resource: &Resource, ask: &Ask<'_>, rules: Rules) -> Result<Answer, Refusal> {
    let sent = body(ask)?;
    found(store, resource, ask)?;
    if sent["kind"] != "Eviction" {
        return Err(Refusal::bad_request("the body of an eviction is an Eviction of policy/v1"));
    }
    if rules.evictions_blocked {
        return Err(Refusal::disruption_budget());
    }
    let options = serde_json::to_vec(&sent["deleteOptions"]).unwrap_or_default();
    delete(store, resource, &Ask { body: &options, content_type: "", ..*ask })?;
    Ok(done(
        201,
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}),
        vec![],
    ))
}

#[cfg(test)]
mod tests;
