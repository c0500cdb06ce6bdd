//! Brings one server to its end, for whoever has judged it. Judges it again by what it says now, before every DELETE.
//!
//! Only a GET that says 404 is the end. The deletions are the account's most urgent calls, and each server's are its own:
//! one that is locked or refused holds up no other.

use std::time::Duration;

use curfew_provider::{Outcome, Server, ServerId};
use futures::{Stream, StreamExt, stream};
use tokio::time::sleep;

use super::plan::Verdict;
use crate::cloud::{Account, Urgency};

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The provider says that there is no such server.
    Absent,
    /// Read again, it was not to be deleted.
    Spared(Verdict),
    /// It is still there, or may be; and why. Towards a bill: whoever asked tries again later.
    Stays(String),
}

/// Ends servers, several at once, each yielded when its fate is known. `pauses`: between a server's tries.
pub(crate) fn end_all<'a>(
    account: &'a Account,
    servers: Vec<&'a Server>,
    judge: &'a (impl Fn(&Server) -> Verdict + Sync),
    pauses: &'a [Duration],
) -> impl Stream<Item = (&'a Server, Fate)> {
    let end = move |server: &'a Server| async move { (server, end(account, server.id, judge, pauses).await) };
    stream::iter(servers).map(end).buffer_unordered(AT_ONCE)
}

async fn end(
    account: &Account,
    id: ServerId,
    judge: impl Fn(&Server) -> Verdict,
    pauses: &[Duration],
) -> Fate {
    let mut said = String::new();
    for pause in pauses.iter().copied().map(Some).chain([None]) {
        match account.read(id, Urgency::Deletion).await {
            // The id is known from this account's own list.
            Err(error) if error.is_gone() => return Fate::Absent,
            Err(error) if error.denies() => return Fate::Stays(error.line()),
            Err(error) => said = error.line(),
            Ok(server) => match judge(&server) {
                Verdict::Delete(_) if pause.is_some() => match strike(account, &server).await {
                    Ok(answered) => said = answered,
                    Err(denied) => return Fate::Stays(denied),
                },
                Verdict::Delete(_) => {}
                spared => return Fate::Spared(spared),
            },
        }
        let Some(pause) = pause else { break };
        sleep(pause).await;
    }
    Fate::Stays(said)
}

/// One DELETE, after whatever protects the server was lifted. Returns what was answered, for the case that it stays; as an
/// error where asking again is of no use.
async fn strike(account: &Account, server: &Server) -> Result<String, String> {
    let answered = |outcome: Outcome| match outcome {
        Outcome::Accepted | Outcome::Gone => Ok("its deletion was accepted, and it is still there".into()),
        denied if denied.denies() => Err(denied.to_string()),
        other => Ok(other.to_string()),
    };
    if server.protected {
        match account.lift_protection(server.id).await {
            Ok(Outcome::Accepted) => {}
            Ok(refused) => return answered(refused),
            Err(error) => return Ok(error.line()),
        }
    }
    match account.delete(server.id).await {
        Ok((outcome, _)) => answered(outcome),
        Err(error) => Ok(error.line()),
    }
}

/// Of a thousand overdue servers all are tried within minutes, and a few that hang leave room.
const AT_ONCE: usize = 32;
