//! One open watch, as a stream of JSON lines. Owns its position in the log; ends at its time-out, when the
//! server is told to end watches, or after an error event.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::Stream;
use serde_json::{Value, json};
use tokio::{
    sync::watch::Receiver,
    time::{Instant, sleep_until},
};

use super::{
    api,
    refusal::Refusal,
    resource::Resource,
    selector::Selector,
    shape::Shape,
    shared::Shared,
    store::{Change, Store},
};

/// Real servers choose between half an hour and an hour.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);

/// What is watched, and how it is told.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    resource: Resource,
    namespace: String,
    selector: Selector,
    shape: Shape,
    /// Place in the ledger.
    call: usize,
    serial: u64,
    bookmarks: bool,
    /// Changes up to here have been told.
    told: u64,
    ends_at: Instant,
    bookmark_at: Instant,
    changed: Receiver<u64>,
    ended: Receiver<u64>,
    columns_told: bool,
    over: bool,
    ready: Vec<u8>,
    _open: OpenWatch,
}

/// Counts one open watch for as long as it lives.
struct OpenWatch(Arc<Shared>);

impl Drop for OpenWatch {
    fn drop(&mut self) {
        self.0.count_watch(false);
    }
}

impl Watch {
    /// Opens it. The initial objects, if any are due, are taken from the store now.
    pub(crate) fn open(
        shared: &Arc<Shared>,
        resource: &Resource,
        namespace: &str,
        selector: Selector,
        shape: Shape,
        query: &BTreeMap<String, String>,
        call: usize,
    ) -> Result<Self, Refusal> {
        let text = |key: &str| query.get(key).map(String::as_str).unwrap_or_default();
        let number = |key: &str| {
            let refuse = |_| Refusal::bad_request(format!("{key}: invalid value {:?}", text(key)));
            if text(key).is_empty() { Ok(None) } else { text(key).parse::<u64>().map(Some).map_err(refuse) }
        };
        let initial = text("sendInitialEvents") == "true";
        check_initial(query)?;
        let from = number("resourceVersion")?.filter(|revision| *revision > 0);
        let timeout = number("timeoutSeconds")?.map_or(DEFAULT_TIMEOUT, Duration::from_secs);
        let now = Instant::now();
        let mut watch = Self {
            shared: shared.clone(),
            resource: resource.clone(),
            namespace: namespace.into(),
            selector,
            shape,
            call,
            serial: shared.count_watch(true),
            bookmarks: text("allowWatchBookmarks") == "true",
            told: 0,
            ends_at: now + timeout,
            bookmark_at: now + shared.bookmark_every,
            changed: shared.changes(),
            ended: shared.faults.ends(),
            columns_told: false,
            over: false,
            ready: Vec::new(),
            _open: OpenWatch(shared.clone()),
        };
        shared.read(|store| watch.begin(store, from, initial));
        Ok(watch)
    }

    fn begin(&mut self, store: &Store, from: Option<u64>, initial: bool) {
        match from {
            Some(revision) if !initial => self.told = revision,
            _ => {
                self.told = store.revision();
                let storage = self.resource.storage();
                let namespace = self.namespace.clone();
                for object in store.list(&storage, &namespace) {
                    if self.selector.matches(object) {
                        self.tell("ADDED", object.clone());
                    }
                }
                if initial && self.bookmarks {
                    let bookmark = self.shape.bookmark(&self.resource, self.told, true);
                    self.line("BOOKMARK", &bookmark);
                }
            }
        }
    }

    /// The body of the answer.
    pub(crate) fn stream(self) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> {
        futures::stream::unfold(self, |mut watch| async move {
            let chunk = watch.next().await?;
            watch.shared.count_bytes(watch.call, chunk.len());
            Some((Ok(chunk), watch))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !self.shared.faults.is_mute(self.serial) {
                self.collect();
                if !self.ready.is_empty() {
                    return Some(std::mem::take(&mut self.ready).into());
                }
            }
            if self.over {
                return None;
            }
            let mute = self.shared.faults.is_mute(self.serial);
            tokio::select! {
                _ = self.ended.changed() => return None,
                () = sleep_until(self.ends_at), if !mute => return None,
                () = sleep_until(self.bookmark_at), if self.bookmarks && !mute => {
                    self.bookmark_at = Instant::now() + self.shared.bookmark_every;
                    let bookmark = self.shape.bookmark(&self.resource, self.told, false);
                    self.line("BOOKMARK", &bookmark);
                }
                _ = self.changed.changed() => {}
            }
        }
    }

    /// Brings `ready` up to the store.
    fn collect(&mut self) {
        let shared = self.shared.clone();
        shared.read(|store| {
            if self.over {
                return;
            }
            let Some(changes) = store.since(self.told) else {
                let gone = Refusal::expired(self.told, store.forgotten());
                self.line("ERROR", &gone.status());
                self.over = true;
                return;
            };
            let storage = self.resource.storage();
            for change in changes {
                if change.key.0 == storage && (self.namespace.is_empty() || change.key.1 == self.namespace) {
                    self.tell_change(change);
                }
            }
            // A watch from the far future stays there, and silent.
            self.told = self.told.max(store.revision());
        });
    }

    fn tell_change(&mut self, change: &Change) {
        let fits = |object: &Option<Value>| object.as_ref().is_some_and(|o| self.selector.matches(o));
        let (was, is) = (fits(&change.before), fits(&change.after));
        let kind = match (was, is) {
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
            (false, false) => return,
        };
        let Some(mut object) = (if is { change.after.clone() } else { change.before.clone() }) else {
            return;
        };
        object["metadata"]["resourceVersion"] = change.revision.to_string().into();
        self.tell(kind, object);
    }

    fn tell(&mut self, kind: &str, object: Value) {
        let object = api::shown(&self.resource, object);
        let object = self.shape.event(&self.resource, object, !self.columns_told, self.shared.now());
        self.columns_told = true;
        self.line(kind, &object);
    }

    fn line(&mut self, kind: &str, object: &Value) {
        let line = json!({"type": kind, "object": object});
        self.ready.extend_from_slice(line.to_string().as_bytes());
        self.ready.push(b'\n');
    }
}

fn check_initial(query: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let asked = query.contains_key("sendInitialEvents");
    let matched = query.get("resourceVersionMatch").map(String::as_str);
    let why = match (asked, matched) {
        (true, None) => {
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        }
        (true, Some("NotOlderThan")) | (false, None) => return Ok(()),
        (true, _) => "resourceVersionMatch: Unsupported value: supported values: \"NotOlderThan\"",
        (false, _) => {
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        }
    };
    let (field, message) = why.split_once(": ").unwrap_or((why, ""));
    Err(Refusal::invalid("ListOptions", "meta.k8s.io", "", &[(field.into(), message.into())]))
}
