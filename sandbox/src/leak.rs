//! Whether everything that was rented was given back, and once: by the cloud's own books. Pure.

use std::{collections::BTreeMap, fmt};

use crate::cloud::{Created, Entry, Server};

/// Something wrong in the books.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leak {
    /// The server is still there, and bills.
    Left(String, u64),
    /// Its deletion was accepted so many times, which should be once.
    Deleted(String, u64, usize),
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Left(name, id) => write!(f, "server {name} ({id}) is still there"),
            Self::Deleted(name, id, times) => write!(f, "server {name} ({id}) was deleted {times} times"),
        }
    }
}

/// What is wrong, given every server that was ever created, those that are there now, and every call.
#[must_use]
pub fn leaks(created: &[Created], present: &[Server], ledger: &[Entry]) -> Vec<Leak> {
    let mut deletions: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in ledger.iter().filter(|entry| entry.method == "DELETE" && entry.status < 300) {
        *deletions.entry(entry.path.as_str()).or_default() += 1;
    }
    let leak = |server: &Created| {
        let (name, id) = (server.name.clone(), server.id);
        if present.iter().any(|present| present.id == id) {
            return Some(Leak::Left(name, id));
        }
        match deletions.get(format!("/v1/servers/{id}").as_str()) {
            Some(1) => None,
            times => Some(Leak::Deleted(name, id, times.copied().unwrap_or_default())),
        }
    };
    created.iter().filter_map(leak).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::{Caller, Cloud, Labels, Options, ServerSpec};
    use jiff::Timestamp;

    fn deletion(id: u64, status: u16) -> Entry {
        Entry {
            at: Timestamp::UNIX_EPOCH,
            method: "DELETE".into(),
            path: format!("/v1/servers/{id}"),
            caller: Caller::Anonymous,
            status,
            code: None,
            delivered: true,
            peer: ([127, 0, 0, 1], 1).into(),
            user_agent: None,
        }
    }

    #[tokio::test]
    async fn a_server_is_given_back_by_exactly_one_accepted_deletion() {
        let cloud = Cloud::start(Options::default()).await.unwrap();
        let id = cloud.add_server(ServerSpec::new("m-1", &[]));
        let present = cloud.servers();
        let created = [Created { id, name: "m-1".into(), labels: Labels::new(), user_data: None }];
        let (once, refused) = (deletion(id, 200), deletion(id, 404));
        assert_eq!(leaks(&created, &present, &[]), [Leak::Left("m-1".into(), id)]);
        assert_eq!(leaks(&created, &present, std::slice::from_ref(&once)), [Leak::Left("m-1".into(), id)]);
        assert_eq!(leaks(&created, &[], &[once.clone(), refused.clone()]), []);
        assert_eq!(leaks(&created, &[], &[refused]), [Leak::Deleted("m-1".into(), id, 0)]);
        assert_eq!(leaks(&created, &[], &[once.clone(), once]), [Leak::Deleted("m-1".into(), id, 2)]);
    }
}
