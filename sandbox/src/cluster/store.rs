//! Objects and the log of their changes: a value, no I/O, no clock. Owns resource versions. A version is given
//! to each change of any object, as etcd does, so a client may compare versions within one list or watch only.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

/// Where one object is kept: storage name (`nodes`, `capacityleases.curfew.dev`), namespace, name.
pub(crate) type Key = (String, String, String);

/// What happened to an object.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) key: Key,
    /// `None`: it did not exist.
    pub(crate) before: Option<Value>,
    /// `None`: it is gone.
    pub(crate) after: Option<Value>,
}

/// The whole state of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    revision: u64,
    objects: BTreeMap<Key, Value>,
    log: VecDeque<Change>,
    /// Changes up to and including this revision are no longer in the log.
    forgotten: u64,
}

/// Changes kept for watches that resume.
const HISTORY: usize = 10_000;

impl Store {
    /// Empty; the first change has a revision above those a client might make up.
    pub(crate) fn new() -> Self {
        Self { revision: 100, objects: BTreeMap::new(), log: VecDeque::new(), forgotten: 100 }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(crate) fn object(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key)
    }

    /// Objects of one storage; an empty namespace means all.
    pub(crate) fn list<'a>(
        &'a self,
        storage: &'a str,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Value> {
        let from = (storage.to_owned(), namespace.to_owned(), String::new());
        self.objects
            .range(from..)
            .take_while(move |(key, _)| key.0 == storage && (namespace.is_empty() || key.1 == namespace))
            .map(|(_, object)| object)
    }

    /// Creates or replaces; gives the object its new resource version.
    pub(crate) fn put(&mut self, key: Key, mut object: Value) -> Value {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let before = self.objects.insert(key.clone(), object.clone());
        self.remember(Change { revision: self.revision, key, before, after: Some(object.clone()) });
        object
    }

    /// Removes; the returned object carries the revision of its deletion, as a watch shows it.
    pub(crate) fn remove(&mut self, key: &Key) -> Option<Value> {
        let before = self.objects.remove(key)?;
        self.revision += 1;
        let mut last = before.clone();
        last["metadata"]["resourceVersion"] = self.revision.to_string().into();
        self.remember(Change {
            revision: self.revision,
            key: key.clone(),
            before: Some(before),
            after: None,
        });
        Some(last)
    }

    /// Changes after `revision`, oldest first; `None` if some of them are forgotten.
    pub(crate) fn since(&self, revision: u64) -> Option<impl Iterator<Item = &Change>> {
        let from = self.log.partition_point(|change| change.revision <= revision);
        (revision >= self.forgotten).then(|| self.log.range(from..))
    }

    /// Forgets the log, as a restarted API server does: watches that resume get 410.
    pub(crate) fn forget_history(&mut self) {
        // A revision of its own, so that even a client that has seen everything is told to list again.
        self.revision += 1;
        self.forgotten = self.revision;
        self.log.clear();
    }

    fn remember(&mut self, change: Change) {
        self.log.push_back(change);
        if self.log.len() > HISTORY
            && let Some(oldest) = self.log.pop_front()
        {
            self.forgotten = oldest.revision;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(ns: &str, name: &str) -> Key {
        ("pods".into(), ns.into(), name.into())
    }

    #[test]
    fn every_change_has_its_own_revision_and_is_told_once() {
        let mut store = Store::new();
        let start = store.revision();
        let first = store.put(key("a", "p"), json!({}));
        store.put(key("a", "p"), json!({"x": 1}));
        store.remove(&key("a", "p"));
        let told: Vec<_> = store
            .since(start)
            .unwrap()
            .map(|c| (c.revision - start, c.before.is_some(), c.after.is_some()))
            .collect();
        assert_eq!(told, [(1, false, true), (2, true, true), (3, true, false)]);
        assert_eq!(first["metadata"]["resourceVersion"], (start + 1).to_string());
        assert_eq!(store.since(store.revision()).unwrap().count(), 0);
    }

    #[test]
    fn a_list_stays_within_its_resource_and_namespace() {
        let mut store = Store::new();
        for (ns, name) in [("a", "p"), ("ab", "q"), ("b", "r")] {
            store.put(key(ns, name), json!({}));
        }
        store.put(("podz".into(), "a".into(), "x".into()), json!({}));
        assert_eq!(store.list("pods", "").count(), 3);
        assert_eq!(store.list("pods", "a").count(), 1);
    }

    #[test]
    fn a_forgotten_history_refuses_to_resume_even_the_newest_watch() {
        let mut store = Store::new();
        store.put(key("a", "p"), json!({}));
        let seen = store.revision();
        store.forget_history();
        assert!(store.since(seen).is_none());
        assert!(store.since(store.revision()).is_some());
    }
}
