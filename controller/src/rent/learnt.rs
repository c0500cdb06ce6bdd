//! What calls told this controller of one machine, beside what the status says. Pure.
//!
//! Lives in memory and may be lost at any moment: what is needed again is in the status, in the provider's labels, or is
//! asked for again.

use curfew_provider::{ActionId, NotCreated, Outcome, Progress, Server, ServerStatus};
use jiff::{SignedDuration, Timestamp};

use super::{plan::Search, reason::Reason};
use crate::clock::{Reading, Uptime};

/// What was learnt of one slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Learnt {
    /// This controller wrote the attempt into the status: it may call first, and nobody else does.
    pub(crate) ours: bool,
    /// Create calls that were sent.
    pub(crate) sent: u32,
    /// When a search was begun, since the last create call, that found nothing.
    pub(crate) searched: Option<Uptime>,
    /// When the first search ended that was begun after the giving back was persisted, and found nothing.
    pub(crate) closed: Option<Uptime>,
    /// The server as last read, and its name for Nodes.
    pub(crate) server: Option<Server>,
    pub(crate) provider_id: Option<String>,
    /// When that was asked for.
    pub(crate) seen: Uptime,
    /// The action that creates it.
    pub(crate) action: Option<ActionId>,
    /// How often the provider was asked how the creation fares, and when it last said that it goes on.
    pub(crate) polls: u32,
    pub(crate) waited: Uptime,
    /// The creation ended well.
    pub(crate) launched: bool,
    /// It will never be of use.
    pub(crate) failed: Option<Reason>,
    /// What went wrong last.
    pub(crate) error: Option<String>,
    /// Nothing that can wait is asked before.
    pub(crate) again: Uptime,
    /// Calls in a row that brought nothing, and when the next may be tried that ends no bill.
    pub(crate) failures: u32,
    pub(crate) patience: Uptime,
    pub(crate) removal: Removal,
}

/// How a deletion fares.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Removal {
    /// When the provider first took the order.
    pub(crate) accepted: Option<Timestamp>,
    /// Its action.
    pub(crate) action: Option<ActionId>,
    /// Looks since the order was last taken. None: it has to be given.
    pub(crate) looks: Option<u32>,
    /// Nothing is asked before.
    pub(crate) again: Uptime,
    /// When the provider first said that there is no such server, or that none came of the attempt.
    pub(crate) absent: Option<Timestamp>,
    /// What the provider answered last, if not what was hoped for.
    pub(crate) error: Option<String>,
}

/// What a call told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Heard {
    /// A server was created, or one of ours was found.
    Server { server: Box<Server>, provider_id: String, action: Option<ActionId> },
    /// None was created, as far as anybody knows.
    NotCreated(NotCreated),
    /// A call that may have created one was not answered.
    Unanswered(String),
    /// A search found none.
    Nothing(Search),
    /// Somebody else's server has the name.
    NameTaken(Search),
    /// The creation fares so.
    Progress(Progress),
    /// The server is so, by now.
    Read(Box<Server>),
    /// There is no such server.
    Gone,
    /// The order to delete it was answered.
    Deleted(Outcome, Option<ActionId>),
    /// What can be asked again was not answered.
    Failed(String),
}

impl Learnt {
    /// Takes what a call told that was made at `began`.
    pub(crate) fn hear(&mut self, heard: Heard, began: Uptime, reading: Reading) {
        self.failures = if matches!(heard, Heard::Failed(_)) { self.failures.saturating_add(1) } else { 0 };
        match heard {
            Heard::Server { server, provider_id, action } => {
                self.action = self.action.or(action);
                self.provider_id = Some(provider_id);
                self.again = reading.up.after(poll_after(0));
                self.read(*server, began);
            }
            Heard::NotCreated(not) => {
                self.sent(&not.to_string(), reading);
                self.failed = self.failed.or_else(|| Reason::of(&not));
            }
            Heard::Unanswered(error) => self.sent(&error, reading),
            Heard::Nothing(search) => self.nothing(search, began, reading),
            Heard::NameTaken(search) => {
                self.fail(Reason::NameTaken, "another's server has this name; it is left alone".into());
                self.nothing(search, began, reading);
            }
            Heard::Progress(Progress::Running) => self.polled(began, reading),
            Heard::Progress(Progress::Done) => self.launched = true,
            Heard::Progress(Progress::Failed { code, message }) => {
                self.fail(
                    Reason::CreationFailed,
                    format!("the creation ended in an error: {code}: {message}"),
                );
            }
            Heard::Read(server) => {
                self.polled(began, reading);
                self.removal.looked(reading);
                self.read(*server, began);
            }
            Heard::Gone => self.removal.gone(reading),
            Heard::Deleted(outcome, action) => self.removal.hear(outcome, action, reading),
            Heard::Failed(error) => {
                self.error = Some(error);
                self.patience = reading.up.after(doubling(FAILED, self.failures - 1, FAILED_MOST));
            }
        }
    }

    fn read(&mut self, server: Server, began: Uptime) {
        self.launched |= server.status == ServerStatus::Running;
        self.error = None;
        (self.server, self.seen) = (Some(server), began);
    }

    fn sent(&mut self, error: &str, reading: Reading) {
        self.error = Some(error.into());
        self.sent = self.sent.saturating_add(1);
        self.searched = None;
        self.again = reading.up.after(doubling(SEARCH, self.sent - 1, SEARCH_MOST));
    }

    fn nothing(&mut self, search: Search, began: Uptime, reading: Reading) {
        self.searched = Some(began);
        match search {
            Search::Lost => {}
            Search::Closing => self.closed = self.closed.or(Some(reading.up)),
            Search::Last => self.removal.gone(reading),
        }
    }

    fn polled(&mut self, began: Uptime, reading: Reading) {
        self.waited = began;
        self.polls = self.polls.saturating_add(1);
        self.again = reading.up.after(poll_after(self.polls));
    }

    fn fail(&mut self, reason: Reason, error: String) {
        self.failed.get_or_insert(reason);
        self.error = Some(error);
    }
}

impl Removal {
    /// Takes what was answered to the order.
    pub(crate) fn hear(&mut self, outcome: Outcome, action: Option<ActionId>, reading: Reading) {
        self.error = (outcome != Outcome::Accepted).then(|| outcome.to_string());
        match outcome {
            Outcome::Accepted => {
                self.accepted = self.accepted.or(reading.now);
                self.action = self.action.or(action);
                (self.looks, self.again) = (Some(0), reading.up.after(look_after(0)));
            }
            Outcome::Gone => self.gone(reading),
            Outcome::Locked => self.again = reading.up.after(UNLOCKED),
            // Already lifted by the call that follows; asked again at once.
            Outcome::Protected => self.again = reading.up,
            Outcome::Forbidden | Outcome::ReadOnly | Outcome::Retry { .. } | Outcome::WrongProject => {}
        }
    }

    /// The server is still there.
    pub(crate) fn looked(&mut self, reading: Reading) {
        let Some(looks) = self.looks.map(|looks| looks + 1) else { return };
        self.looks = Some(looks).filter(|looks| *looks < LOOKS);
        self.again = reading.up.after(look_after(looks));
    }

    /// There is no such server.
    pub(crate) fn gone(&mut self, reading: Reading) {
        self.absent = self.absent.or(reading.now);
        self.error = None;
    }
}

/// A creation takes Hetzner some seconds, and every call counts; the Node tells it too.
fn poll_after(polls: u32) -> SignedDuration {
    SignedDuration::from_secs(2).saturating_mul(1 << (2 * polls.min(3)))
}

/// Hetzner's deletions take a second or two.
fn look_after(looks: u32) -> SignedDuration {
    doubling(SignedDuration::from_secs(1), looks, SignedDuration::from_secs(10))
}

fn doubling(first: SignedDuration, times: u32, most: SignedDuration) -> SignedDuration {
    first.saturating_mul(1 << times.min(10)).min(most)
}

/// An order that was accepted and had no effect by then is given again: an accepted deletion can still fail.
const LOOKS: u32 = 5;
/// A lock is another action's, and lasts some seconds.
const UNLOCKED: SignedDuration = SignedDuration::from_secs(3);
/// From a create call whose answer was lost to the search. Hetzner has suspended projects that created one name in a
/// tight loop (hetzner-k3s issue 39).
const SEARCH: SignedDuration = SignedDuration::from_secs(2);
const SEARCH_MOST: SignedDuration = SignedDuration::from_mins(1);
/// After a call that brought nothing. A token that is refused is refused to every machine: each of them asking anew every
/// few seconds would spend the whole project's rate limit.
const FAILED: SignedDuration = SignedDuration::from_secs(1);
const FAILED_MOST: SignedDuration = SignedDuration::from_mins(1);
