//! What a sweep from outside says: a line a server, a summary, and the exit code.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use curfew_contract::label;
use curfew_provider::Server;
use jiff::Timestamp;
use serde_json::json;

use super::plan::{Basis, Verdict};

/// What was found. Each line is printed as it is known: a sweep that is cut off has said what it did.
#[derive(Debug)]
pub(crate) struct Report {
    json: bool,
    deleted: usize,
    overdue: usize,
    unclear: usize,
    waiting: usize,
    left_alone: usize,
}

impl Report {
    pub(crate) const fn new(json: bool) -> Self {
        Self { json, deleted: 0, overdue: 0, unclear: 0, waiting: 0, left_alone: 0 }
    }

    /// One that is not to be deleted.
    pub(crate) fn judged(&mut self, server: &Server, verdict: &Verdict) {
        match verdict {
            Verdict::NotOurs(why) => {
                self.left_alone += 1;
                self.line(server, "left-alone", None, &why.to_string());
            }
            Verdict::Shielded(lease) => {
                self.left_alone += 1;
                self.line(server, "left-alone", None, &format!("the lease {lease} takes care of it"));
            }
            Verdict::Wait(due, basis) => {
                self.waiting += 1;
                self.line(server, "waits", Some(*due), &format!("{basis}; goes at {due}"));
            }
            Verdict::Unclear(basis) => {
                self.unclear += 1;
                self.line(server, "unclear", None, &format!("{basis}. A person must look: it bills"));
            }
            Verdict::Delete(basis) => self.overdue(server, basis),
        }
    }

    /// One that would be deleted.
    pub(crate) fn overdue(&mut self, server: &Server, basis: &Basis) {
        self.overdue += 1;
        self.line(server, "overdue", None, &format!("{basis}; not deleted"));
    }

    /// One that is gone.
    pub(crate) fn deleted(&mut self, server: &Server, basis: &Basis) {
        self.deleted += 1;
        self.line(server, "deleted", None, &format!("{basis}; confirmed absent"));
    }

    /// One that should be, and is not.
    pub(crate) fn stays(&mut self, server: &Server, basis: &Basis, why: &str) {
        self.overdue += 1;
        self.line(server, "stays", None, &format!("{basis}; NOT deleted: {why}"));
    }

    /// The last line.
    pub(crate) fn summary(&self, now: Timestamp) {
        let Self { json, deleted, overdue, unclear, waiting, left_alone } = self;
        let text = if *json {
            json!({ "summary": { "at": now.to_string(), "deleted": deleted, "overdue": overdue, "unclear": unclear,
                "waiting": waiting, "leftAlone": left_alone } })
            .to_string()
        } else {
            format!(
                "{now}: {deleted} deleted, {overdue} overdue and still there, {unclear} unclear, {waiting} not yet due, \
                 {left_alone} left alone"
            )
        };
        said(&mut io::stdout(), &text);
    }

    /// The worst that was found.
    pub(crate) fn code(&self) -> ExitCode {
        match (self.overdue, self.unclear) {
            (1.., _) => ExitCode::from(3),
            (0, 1..) => ExitCode::from(4),
            (0, 0) => ExitCode::SUCCESS,
        }
    }

    fn line(&self, server: &Server, what: &str, due: Option<Timestamp>, why: &str) {
        let of = |key| server.labels.get(key).map(String::as_str);
        let (lease, cluster) = (of(label::LEASE), of(label::CLUSTER));
        let text = if self.json {
            json!({ "server": server.id.number(), "name": server.name, "lease": lease, "cluster": cluster, "what": what,
                "due": due.map(|due| due.to_string()), "why": why })
            .to_string()
        } else {
            let of = lease.map_or_else(|| "no lease".into(), |lease| format!("lease {lease}"));
            format!("{what:10} {:<12} {} ({of}): {why}", server.id, server.name)
        };
        said(&mut io::stdout(), &text);
    }
}

/// A line. Where nobody listens the exit code must do.
pub(super) fn said(to: &mut impl Write, line: &str) {
    drop(writeln!(to, "{line}"));
}
