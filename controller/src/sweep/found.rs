//! What a round within the cluster found, and how it is said. Pure.

use curfew_provider::Server;
use jiff::{SignedDuration, Timestamp};

use super::plan::{Leases, Verdict};
use crate::observe::Swept;

/// What needs a person.
#[derive(Debug, Default)]
pub(super) struct Found {
    stay: Vec<String>,
    unclear: Vec<String>,
    waiting: usize,
}

impl Found {
    /// A server that is not to be deleted now.
    pub(super) fn judged(&mut self, server: &Server, verdict: &Verdict) {
        match verdict {
            Verdict::Unclear(basis) => self.unclear.push(format!("server {}: {basis}", server.id)),
            Verdict::Wait(..) => self.waiting += 1,
            Verdict::NotOurs(_) | Verdict::Shielded(_) | Verdict::Delete(_) => {}
        }
    }

    /// A server that should be gone.
    pub(super) fn stays(&mut self, server: &Server, why: &str) {
        self.stay.push(format!("server {}: {why}", server.id));
    }

    /// As the condition says it.
    pub(super) fn swept(self) -> Swept {
        let first =
            |of: &[String]| format!("{} in all, first {}", of.len(), of.first().map_or("", |one| one));
        if !self.stay.is_empty() {
            return Swept::frozen(
                "ServersStay",
                format!("overdue and not to be deleted: {}", first(&self.stay)),
            );
        }
        if !self.unclear.is_empty() {
            return Swept::frozen(
                "Unclear",
                format!("nobody can tell when they end: {}", first(&self.unclear)),
            );
        }
        let waiting = match self.waiting {
            0 => String::new(),
            waiting => format!("; {waiting} without a lease go five minutes after their deadline"),
        };
        Swept {
            goes_on: true,
            reason: "Swept",
            message: format!("no server has outlived its lease{waiting}"),
        }
    }
}

/// How many servers of a provider run, as far as leases say. Left out are those that may rightly be missing from a list
/// that is older than the lease's status: just created, just ending, or being given back.
pub(super) fn running(leases: &Leases, provider: &str, now: Timestamp) -> usize {
    let rents = leases.values().filter(|lease| {
        let from = lease.terms.as_ref().and_then(|terms| terms.rent()).map(|rent| rent.provider.as_str());
        from == Some(provider) && lease.status.released_at.is_none() && lease.deleting.is_none()
    });
    let instances = rents.flat_map(|lease| &lease.status.instances);
    let settled = instances.filter(|instance| {
        let created = instance.created_at.as_ref().is_some_and(|at| now.duration_since(at.0) > LATELY);
        let ends = instance.labelled_until.as_ref().is_none_or(|at| at.0.duration_since(now) < LATELY);
        let given_back = instance.releasing.is_some() || instance.receipt.is_some();
        instance.provider_id.is_some() && created && !ends && !given_back
    });
    settled.count()
}

const LATELY: SignedDuration = SignedDuration::from_mins(3);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixture::{NOW, lease, secs},
        sweep::fixture::server,
    };
    use serde_json::{Value, json};

    fn says(change: impl FnOnce(&mut Value)) -> usize {
        let lease = lease("a", "1h", |object| {
            object["spec"] = json!({ "duration": "1h",
                "rent": { "providerRef": { "name": "hetzner" }, "region": "fsn1", "size": "cpx22", "replicas": 1 } });
            object["status"]["instances"] = json!([{ "slot": 0, "providerID": "hcloud://1",
                "createdAt": NOW.to_string(), "labelledUntil": (NOW + secs(3600)).to_string() }]);
            change(object);
        });
        running(&[(lease.uid.clone(), lease)].into(), "hetzner", NOW + secs(600))
    }

    #[test]
    fn a_server_counts_as_running_once_it_has_settled_and_until_it_is_given_back() {
        let first = |key: &'static str, value: Value| {
            move |object: &mut Value| object["status"]["instances"][0][key] = value
        };
        assert_eq!(says(|_| {}), 1);
        assert_eq!(says(first("createdAt", (NOW + secs(590)).to_string().into())), 0, "just created");
        assert_eq!(says(first("labelledUntil", (NOW + secs(610)).to_string().into())), 0, "about to end");
        assert_eq!(says(first("releasing", "Expired".into())), 0, "being given back");
        assert_eq!(says(first("receipt", json!({}))), 0, "given back");
        assert_eq!(says(|object| object["status"]["releasedAt"] = NOW.to_string().into()), 0, "released");
        assert_eq!(says(|object| object["spec"]["rent"]["providerRef"]["name"] = "other".into()), 0);
    }

    #[test]
    fn what_stays_is_said_before_anything_else_and_what_waits_disturbs_nobody() {
        let one = server(1, "a", 600);
        let waits = Verdict::Wait(NOW, super::super::plan::Basis::Label(NOW));
        let unclear = Verdict::Unclear(super::super::plan::Basis::Created(None, None));
        let mut found = Found::default();
        found.judged(&one, &waits);
        assert!(Found { waiting: 1, ..Found::default() }.swept().goes_on);
        found.judged(&one, &unclear);
        found.stays(&one, "the server is locked by another action");
        let said = found.swept();
        assert_eq!((said.goes_on, said.reason), (false, "ServersStay"));
        assert!(said.message.contains("server 1: the server is locked"), "{}", said.message);
    }
}
