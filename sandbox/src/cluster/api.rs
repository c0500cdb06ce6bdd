//! One request, decided: from the store and what was asked to an answer and the store after it. No sockets, no
//! clock. The order is the real server's: authorize, find, change, admit, validate, keep.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    authz::{self, Act, NodeReads, User},
    event, mutate,
    refusal::Refusal,
    resource::{Resource, Target, Verb},
    review,
    selector::Selector,
    store::{Key, Store},
    write::Via,
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
    List {
        items: Vec<Value>,
        revision: u64,
        /// Where the next part begins.
        next: Option<String>,
    },
    /// Changes as they come.
    Watch(Selector),
}

/// Settings that outlive a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) node_reads: NodeReads,
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
            let (objects, next) = part(objects, ask.query)?;
            let items = objects.into_iter().cloned().map(|object| shown(resource, object)).collect();
            Ok(Answer::List { items, revision: store.revision(), next })
        }
        Verb::Watch => Ok(Answer::Watch(selector)),
        Verb::Create if ask.target.subresource.as_deref() == Some("eviction") => {
            mutate::evict(store, resource, ask)
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
        Verb::Create => mutate::create(store, resource, ask, body(ask)?),
        Verb::Update => {
            let sent = received(resource, body(ask)?);
            mutate::replace(store, resource, ask, sent, Via::Put)
        }
        Verb::Patch => mutate::change(store, resource, ask),
        Verb::Delete => mutate::delete(store, resource, ask),
        Verb::DeleteCollection => Err(Refusal::method_not_allowed()),
    }
}

/// The part of a list that `limit` and `continue` ask for. At revision 0 the real server answers out of its memory, and in
/// one piece.
fn part<'a>(
    objects: impl Iterator<Item = &'a Value>,
    query: &BTreeMap<String, String>,
) -> Result<(Vec<&'a Value>, Option<String>), Refusal> {
    let text = |key: &str| query.get(key).map(String::as_str).unwrap_or_default();
    let place = |object: &'a Value| {
        let name = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        (name("namespace"), name("name"))
    };
    let (after, revision) = (text("continue"), text("resourceVersion"));
    if !after.is_empty() && !revision.is_empty() {
        return Err(Refusal::bad_request("specifying resource version is not allowed when using continue"));
    }
    let limit: usize = text("limit").parse().unwrap_or(0);
    // No namespace has a dot in its name.
    let begin = after.split_once('.');
    let mut rest = objects.filter(|object| begin.is_none_or(|begin| place(object) > begin));
    if limit == 0 || revision == "0" {
        return Ok((rest.collect(), None));
    }
    let page: Vec<&Value> = rest.by_ref().take(limit).collect();
    let next = rest.next().and_then(|_| page.last()).map(|last| place(last));
    let next = next.map(|(namespace, name)| format!("{namespace}.{name}"));
    Ok((page, next))
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

pub(super) fn done(code: u16, object: Value, dropped: Vec<String>) -> Answer {
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

pub(super) fn body(ask: &Ask<'_>) -> Result<Value, Refusal> {
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
pub(super) fn received(resource: &Resource, mut object: Value) -> Value {
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
pub(super) fn kept_as(resource: &Resource) -> Resource {
    let mut kept = resource.clone();
    if kept.group == "events.k8s.io" {
        kept.group.clear();
    }
    kept
}

pub(super) fn key(resource: &Resource, ask: &Ask<'_>) -> Key {
    (resource.storage(), ask.target.namespace.clone(), ask.target.name.clone().unwrap_or_default())
}

pub(super) fn found<'a>(store: &'a Store, resource: &Resource, ask: &Ask<'_>) -> Result<&'a Value, Refusal> {
    let key = key(resource, ask);
    store.object(&key).ok_or_else(|| Refusal::not_found(resource, &key.2))
}
