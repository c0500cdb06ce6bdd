//! The sweep from outside: a token, the provider's list, and nothing else. No cluster is asked, so none need be alive.
//!
//! What it knows of a lease is the label on its server, which follows every extension before anything else does.
//!
//! **Whose clock.** The provider's: the time is the `Date` of its own list. A clock that is ahead would delete machines
//! whose lease still runs, one that is behind would let them bill; the machine this runs on may be anybody's, and is
//! believed only where the provider tells no time. A `Date` that a proxy kept from before is behind: a bill, no loss.

use std::{error::Error, io, path::PathBuf, process::ExitCode, time::Duration};

use curfew_contract::{duration, label};
use curfew_provider::{Server, Token, TokenError};
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    SweepArgs,
    ending::{Fate, end_all},
    plan::{Verdict, Whose, judge},
    report::{Report, said},
};
use crate::{
    apply::root,
    clock::own,
    cloud::{Account, CallError, Urgency},
};

/// Why it could not look.
#[derive(Debug, thiserror::Error)]
enum Blind {
    #[error("there is no token: name its file with --token-file, or set {TOKEN}")]
    NoToken,
    #[error("failed to read the token from {0}")]
    Unread(PathBuf, #[source] io::Error),
    #[error("the token from {0} cannot be used")]
    Unusable(String, #[source] TokenError),
    #[error("failed to set up the HTTP client: {0}")]
    Setup(String),
    #[error("failed to list the servers: {0}")]
    List(String),
}

/// Sweeps as asked. Its findings go to standard output, and whatever went wrong to standard error.
pub(crate) fn outside(args: &SweepArgs) -> io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let Some(every) = args.every else { return Ok(look(args).await) };
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let again = async {
            loop {
                look(args).await;
                tokio::time::sleep(every).await;
            }
        };
        tokio::select! {
            () = again => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn look(args: &SweepArgs) -> ExitCode {
    match sweep(args).await {
        Ok(report) => report.code(),
        Err(blind) => {
            let because = blind.source().map(|cause| format!(": {}", root(cause))).unwrap_or_default();
            said(&mut io::stderr(), &format!("curfew-controller: {blind}{because}"));
            ExitCode::from(if matches!(blind, Blind::NoToken) { 2 } else { 1 })
        }
    }
}

async fn sweep(args: &SweepArgs) -> Result<Report, Blind> {
    let account = Account::hetzner(args.endpoint.clone(), token(args)?, None);
    let account = account.map_err(|error| Blind::Setup(CallError::from(error).line()))?;
    // Nothing is deleted unless this comes back.
    let servers = account.list((label::MANAGED_BY, label::CURFEW), Urgency::Deletion).await;
    let servers = servers.map_err(|error| Blind::List(error.line()))?;
    let now = time(&account);
    let whose = args.cluster.as_deref().map_or(Whose::Any, Whose::Cluster);
    let judge = |server: &Server| judge(server, whose, None, now, args.patience());
    let (mut report, mut overdue) = (Report::new(args.json), Vec::new());
    for server in servers.values() {
        match judge(server) {
            Verdict::Delete(basis) if args.dry_run => report.overdue(server, &basis),
            Verdict::Delete(_) => overdue.push(server),
            verdict => report.judged(server, &verdict),
        }
    }
    let mut ends = std::pin::pin!(end_all(&account, overdue, &judge, &PAUSES));
    while let Some((server, fate)) = ends.next().await {
        match (fate, judge(server)) {
            (Fate::Absent, Verdict::Delete(basis)) => report.deleted(server, &basis),
            (Fate::Stays(why), Verdict::Delete(basis)) => report.stays(server, &basis, &why),
            // What was to be deleted by an argument is to be deleted by the same one.
            (Fate::Spared(verdict), _) | (_, verdict) => report.judged(server, &verdict),
        }
    }
    report.summary(now);
    Ok(report)
}

fn token(args: &SweepArgs) -> Result<Token, Blind> {
    let (text, from) = if let Some(path) = &args.token_file {
        let text = std::fs::read_to_string(path).map_err(|error| Blind::Unread(path.clone(), error))?;
        (text, path.display().to_string())
    } else {
        (std::env::var(TOKEN).map_err(|_| Blind::NoToken)?, TOKEN.to_owned())
    };
    Token::new(&text).map_err(|error| Blind::Unusable(from, error))
}

/// The provider's time, if it tells any.
fn time(account: &Account) -> Timestamp {
    let (now, warning) = trusted(account.date(), own());
    if let Some(warning) = warning {
        said(&mut io::stderr(), &format!("curfew-controller: {warning}"));
    }
    now
}

/// The provider's `Date` is cut to the second: that is late, and never early.
fn trusted(date: Option<Timestamp>, own: Timestamp) -> (Timestamp, Option<String>) {
    let Some(date) = date else {
        return (own, Some("the provider tells no time: this machine's clock counts".into()));
    };
    let ahead = own.duration_since(date);
    let warning = (ahead.abs() > SignedDuration::from_mins(1)).then(|| {
        let by = duration::format(SignedDuration::from_secs(ahead.abs().as_secs()));
        let way = if ahead.is_positive() { "ahead of" } else { "behind" };
        format!("this machine's clock is {by} {way} the provider's: the provider's counts")
    });
    (date, warning)
}

const TOKEN: &str = "HCLOUD_TOKEN";
/// Between the tries at one server, a minute and a half in all: longer than most locks last.
const PAUSES: [Duration; 9] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(15),
    Duration::from_secs(20),
    Duration::from_secs(20),
    Duration::from_secs(20),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{NOW, secs};

    #[test]
    fn the_providers_clock_counts_and_a_wrong_one_of_this_machine_is_said() {
        let cases =
            [(0, None), (-60, None), (60, None), (61, Some("1m1s ahead of")), (-7200, Some("2h0m0s behind"))];
        for (step, words) in cases {
            let (now, warning) = trusted(Some(NOW), NOW + secs(step));
            assert_eq!(now, NOW, "whatever this machine believes");
            assert_eq!(warning.is_some(), words.is_some(), "{step}");
            assert!(warning.unwrap_or_default().contains(words.unwrap_or_default()), "{step}");
        }
        assert_eq!(trusted(None, NOW + secs(5)).0, NOW + secs(5));
    }
}
