//! What exists in the cloud and how it changes: servers, actions, things that outlive a server.
//!
//! Pure: no socket, no clock; every change takes `now`. Nothing happens by itself: [`State::advance`] brings the
//! state up to `now` and runs before every call.

use std::collections::BTreeMap;
use std::time::Duration;

use super::error::Refusal;
use super::fault::Faults;
use super::ledger::Entry;
use super::residue::Residue;
use super::server::{Created, Server, Status};
use super::token::{Bucket, Project, Token};
use jiff::Timestamp;

/// How the provider behaves where its documents leave it open, or where a scenario wants it slow.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Requests per hour and project.
    pub rate_limit: u32,
    /// How long an action runs, and locks its server. Zero: it has ended by the next call.
    pub action_duration: Duration,
    /// How long a creation runs; `None`: as long as any action.
    pub create_duration: Option<Duration>,
    /// How long a deleted server is still listed, as `deleting`. Its machine is dead at once all the same.
    pub vanish_after: Duration,
    /// Whether a read token is refused before the resource is looked up and the body is checked.
    pub readonly_checked_first: bool,
    /// Whether `locked` is answered before `protected` where both hold.
    pub lock_checked_first: bool,
    /// Whether a machine dies before its own DELETE is answered, or right after the answer was written.
    pub kill: Kill,
    /// Servers a project may have.
    pub server_limit: usize,
    /// Whether placement finds a host.
    pub in_stock: bool,
}

/// When a deleted server's machine dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// It never sees the answer.
    BeforeAnswer,
    /// The answer is on the wire; whether it acts on it is a race, as in reality.
    AfterAnswer,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate_limit: 3600,
            action_duration: Duration::ZERO,
            create_duration: None,
            vanish_after: Duration::ZERO,
            readonly_checked_first: true,
            lock_checked_first: false,
            kill: Kill::BeforeAnswer,
            server_limit: 100,
            in_stock: true,
        }
    }
}

/// What an action does when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Nothing,
    Becomes(Status),
    Protects(bool),
    Fails,
}

#[derive(Clone, Debug)]
pub(crate) struct Action {
    pub(crate) id: u64,
    pub(crate) project: Project,
    pub(crate) command: &'static str,
    pub(crate) server: u64,
    pub(crate) started: Timestamp,
    pub(crate) ends: Timestamp,
    pub(crate) outcome: Outcome,
    pub(crate) ended: bool,
}

/// Everything there is.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Of this cloud's tokens, so that no other cloud on this machine has the same.
    pub(crate) salt: u64,
    pub(crate) settings: Settings,
    pub(crate) tokens: BTreeMap<String, Token>,
    pub(crate) buckets: BTreeMap<Project, Bucket>,
    pub(crate) servers: BTreeMap<u64, Server>,
    pub(crate) actions: BTreeMap<u64, Action>,
    /// Volumes, addresses and the like, by collection, as the API shows them.
    pub(crate) residue: Residue,
    /// When the DELETE of a server was accepted.
    pub(crate) gone: BTreeMap<u64, Timestamp>,
    /// Servers whose machines must die now; whoever made the call takes them out.
    pub(crate) killed: Vec<u64>,
    /// Servers whose machines must boot now; whoever made the call takes them out.
    pub(crate) created: Vec<Created>,
    pub(crate) faults: Faults,
    pub(crate) ledger: Vec<Entry>,
}

/// Above 2^31: an id that does not fit 32 bits must not go unnoticed.
const FIRST_SERVER: u64 = 3_000_000_001;
const FIRST_ACTION: u64 = 600_000_000_000_001;

impl State {
    pub(crate) fn next_server_id(&self) -> u64 {
        let last = self.servers.keys().chain(self.gone.keys()).max();
        last.map_or(FIRST_SERVER, |last| last + 1)
    }

    /// Lets everything happen that is due by `now`.
    pub(crate) fn advance(&mut self, now: Timestamp) {
        let mut due: Vec<_> = self.actions.values_mut().filter(|a| !a.ended && a.ends <= now).collect();
        due.sort_by_key(|action| (action.ends, action.id));
        for action in due {
            action.ended = true;
            let Some(server) = self.servers.get_mut(&action.server) else { continue };
            match action.outcome {
                Outcome::Becomes(status) if server.status != Status::Deleting => server.status = status,
                Outcome::Protects(protected) => server.protected = protected,
                _ => {}
            }
        }
        self.servers.retain(|_, server| server.vanishes.is_none_or(|at| at > now));
    }

    /// Starts an action that ends `after` from now.
    pub(crate) fn act(
        &mut self,
        command: &'static str,
        server: &Server,
        outcome: Outcome,
        now: Timestamp,
        after: Duration,
    ) -> Action {
        let id = self.actions.keys().last().map_or(FIRST_ACTION, |last| last + 1);
        let (project, server) = (server.project, server.id);
        let ends = now + after;
        let action = Action { id, project, command, server, started: now, ends, outcome, ended: false };
        self.actions.insert(id, action.clone());
        action
    }

    pub(crate) fn locked(&self, server: &Server) -> bool {
        let busy = |action: &Action| action.server == server.id && !action.ended;
        server.held || server.status == Status::Deleting || self.actions.values().any(busy)
    }

    pub(crate) fn server(&self, project: Project, id: u64) -> Result<&Server, Refusal> {
        self.servers.get(&id).filter(|server| server.project == project).ok_or_else(|| Refusal::no_server(id))
    }

    /// `except`: the server that may keep its own name.
    pub(crate) fn name_taken(&self, project: Project, name: &str, except: Option<u64>) -> bool {
        self.servers.values().any(|s| {
            s.project == project && s.name == name && s.status != Status::Deleting && Some(s.id) != except
        })
    }

    /// DELETE. `fails`: the action will end in `error` and the server will stay.
    pub(crate) fn delete(&mut self, server: &Server, fails: bool, now: Timestamp) -> Result<Action, Refusal> {
        let mut objections = [(server.protected, Refusal::Protected), (self.locked(server), Refusal::Locked)];
        if self.settings.lock_checked_first {
            objections.reverse();
        }
        if let Some((_, refusal)) = objections.into_iter().find(|(holds, _)| *holds) {
            return Err(refusal);
        }
        let outcome = if fails { Outcome::Fails } else { Outcome::Nothing };
        let action = self.act("delete_server", server, outcome, now, self.settings.action_duration);
        if !fails {
            self.remove(server.id, now);
        }
        Ok(action)
    }

    fn remove(&mut self, id: u64, now: Timestamp) {
        self.gone.insert(id, now);
        self.killed.push(id);
        if let Some(server) = self.servers.get_mut(&id) {
            server.status = Status::Deleting;
            server.vanishes = Some(now + self.settings.vanish_after);
        }
        self.let_go(id);
    }
}
