//! The sweeper outside: it needs a token and nothing else, deletes what is overdue and nothing else, and says how it went.

use std::{process::Output, time::Duration};

use curfew_contract::label;
use curfew_sandbox::cloud::{Access, Cloud, Effect, Entry, Fault, Mode, Options, Project, ServerSpec};
use curfew_tests::{Kept, Promise, promises, root};
use jiff::{SignedDuration, Timestamp};
use tokio::process::Command;

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    the_sweeper_needs_a_token_and_nothing_else,
    only_what_is_overdue_and_rented_by_the_named_cluster_is_swept,
    a_dry_run_deletes_nothing_and_says_what_would_go,
    one_locked_server_delays_no_other_and_is_swept_once_it_is_free,
    a_deletion_that_was_accepted_and_failed_is_not_believed,
    deletions_get_through_a_rate_limit_that_is_used_up,
    a_token_that_may_only_read_is_told_apart_from_nothing_to_do,
    what_cannot_be_judged_is_named_and_left_to_a_person,
    a_sweeper_that_cannot_look_does_not_look_well,
    a_sweeper_that_runs_on_deletes_what_becomes_overdue_later,
    the_examples_call_the_sweeper_as_it_is,
];

/// A cloud, and a token for the sweeper.
struct Outside {
    cloud: Cloud,
    token: String,
}

impl Outside {
    async fn new() -> Result<Self, std::io::Error> {
        let cloud = Cloud::start(Options::default()).await?;
        let token = cloud.issue_token(Project::OURS, Access::ReadWrite, "sweeper");
        Ok(Self { cloud, token })
    }

    /// A server of the cluster `ours`, whose lease ended so many seconds ago.
    fn rent(&self, name: &str, ended: i64) -> u64 {
        self.rent_as(name, &[(label::EXPIRES_AT, &at(-ended).as_second().to_string())])
    }

    /// The same with these labels instead of, or besides, those that it would have.
    fn rent_as(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let all = [(label::MANAGED_BY, label::CURFEW), (label::CLUSTER, "ours"), (label::LEASE, "burst")];
        let mut spec = ServerSpec::new(name, &all);
        spec.labels.extend(labels.iter().map(|(key, value)| ((*key).into(), (*value).into())));
        spec.labels.retain(|_, value| value != ABSENT);
        self.cloud.add_server(ServerSpec { created: Some(at(-86_400)), ..spec })
    }

    /// Nothing is in its environment but what is given.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(TESTBED);
        command.env_clear().current_dir("/").kill_on_drop(true);
        command.args(["controller", "sweep", "--provider", "hetzner", "--endpoint", &self.cloud.endpoint()]);
        command.args(args).env("HCLOUD_TOKEN", &self.token);
        command
    }

    async fn sweep(&self, args: &[&str]) -> Result<(i32, String), std::io::Error> {
        Ok(told(&self.command(args).output().await?))
    }

    fn deletes(&self) -> Vec<Entry> {
        self.cloud.ledger().into_iter().filter(|entry| entry.method == "DELETE").collect()
    }
}

fn told(output: &Output) -> (i32, String) {
    let words = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&words).into_owned())
}

#[expect(clippy::disallowed_methods, reason = "the cloud's clock is this machine's")]
fn at(seconds: i64) -> Timestamp {
    Timestamp::now() + SignedDuration::from_secs(seconds)
}

async fn the_sweeper_needs_a_token_and_nothing_else() -> Kept {
    let outside = Outside::new().await?;
    let overdue: Vec<u64> = (0..60).map(|n| outside.rent(&format!("overdue-{n}"), 400)).collect();
    let (due_later, running) = (outside.rent("due-later", 200), outside.rent("running", -3_600));
    let (code, words) = outside.sweep(&[]).await?;
    assert_eq!(code, 0, "{words}");
    assert!(overdue.iter().all(|&id| !outside.cloud.contains(id)), "also those of the second page");
    assert!(outside.cloud.contains(due_later), "five minutes are for the others");
    assert!(outside.cloud.contains(running));
    assert!(words.contains("60 deleted, 0 overdue and still there, 0 unclear, 2 not yet due"), "{words}");
    assert!(words.contains("overdue-59 (lease burst): deadline"), "{words}");
    let reads = |id: &u64| {
        let path = format!("/v1/servers/{id}");
        outside.cloud.ledger().iter().any(|e| e.method == "GET" && e.path == path && e.status == 404)
    };
    assert!(overdue.iter().all(reads), "each is confirmed absent");
    assert!(!words.contains(&outside.token));
    Ok(())
}

async fn only_what_is_overdue_and_rented_by_the_named_cluster_is_swept() -> Kept {
    let outside = Outside::new().await?;
    let long_ago = at(-7_200).as_second().to_string();
    let labelled = |name, labels: &[(&str, &str)]| {
        outside.rent_as(name, &[&[(label::EXPIRES_AT, long_ago.as_str())], labels].concat())
    };
    let spared = [
        labelled("adopted", &[(label::CLUSTER, ABSENT)]),
        labelled("autoscaled", &[(label::HETZNER_AUTOSCALER, "pool")]),
        labelled("terraform", &[(label::MANAGED_BY, "terraform")]),
        labelled("unmanaged", &[(label::MANAGED_BY, ABSENT)]),
    ];
    let (ours, theirs) = (labelled("mine", &[]), labelled("theirs", &[(label::CLUSTER, "theirs")]));
    let (code, words) = outside.sweep(&["--cluster", "ours"]).await?;
    assert_eq!(
        (code, outside.cloud.contains(ours), outside.cloud.contains(theirs)),
        (0, false, true),
        "{words}"
    );
    assert!(words.contains("theirs (lease burst): it belongs to the cluster theirs"), "{words}");
    assert_eq!(outside.sweep(&[]).await?.0, 0);
    assert!(!outside.cloud.contains(theirs), "without a name, every cluster's");
    assert!(spared.iter().all(|&id| outside.cloud.contains(id)), "{words}");
    assert_eq!(outside.deletes().len(), 2, "nor was it tried");
    Ok(())
}

async fn a_dry_run_deletes_nothing_and_says_what_would_go() -> Kept {
    let outside = Outside::new().await?;
    outside.rent("overdue", 400);
    let (code, words) = outside.sweep(&["--dry-run"]).await?;
    assert_eq!(code, 3, "{words}");
    assert!(words.contains("overdue (lease burst): deadline"), "{words}");
    assert!(outside.cloud.ledger().iter().all(|entry| entry.method == "GET"), "nothing but looking");
    Ok(())
}

async fn one_locked_server_delays_no_other_and_is_swept_once_it_is_free() -> Kept {
    let outside = Outside::new().await?;
    let locked = outside.rent("locked", 7_200);
    outside.cloud.set_locked(locked, true);
    let others: Vec<u64> = (0..5).map(|n| outside.rent(&format!("other-{n}"), 400)).collect();
    outside.cloud.set_protected(others[0], true);
    let sweeping = tokio::spawn(outside.command(&[]).output());
    for id in others {
        assert!(
            outside.cloud.wait_gone(id, PATIENCE).await.is_some(),
            "held up, or its protection not lifted"
        );
    }
    assert!(outside.cloud.contains(locked));
    outside.cloud.set_locked(locked, false);
    let (code, words) = told(&sweeping.await??);
    assert_eq!((code, outside.cloud.contains(locked)), (0, false), "{words}");
    Ok(())
}

async fn a_deletion_that_was_accepted_and_failed_is_not_believed() -> Kept {
    let outside = Outside::new().await?;
    let id = outside.rent("overdue", 400);
    outside.cloud.inject(Fault::every(Effect::DeleteFails).times(2));
    let (code, words) = outside.sweep(&[]).await?;
    assert_eq!((code, outside.cloud.contains(id), outside.deletes().len()), (0, false, 3), "{words}");
    Ok(())
}

async fn deletions_get_through_a_rate_limit_that_is_used_up() -> Kept {
    let outside = Outside::new().await?;
    let ids: Vec<u64> = (0..4).map(|n| outside.rent(&format!("overdue-{n}"), 400)).collect();
    // The list comes through; then somebody else has used up what there was, for seconds.
    outside.cloud.inject(Fault::every(Effect::RateLimited).on_path("/v1/servers/").times(12));
    let (code, words) = outside.sweep(&[]).await?;
    assert_eq!(code, 0, "{words}");
    assert!(ids.iter().all(|&id| !outside.cloud.contains(id)));
    Ok(())
}

async fn a_token_that_may_only_read_is_told_apart_from_nothing_to_do() -> Kept {
    let outside = Outside::new().await?;
    let id = outside.rent("overdue", 400);
    outside.cloud.set_access(&outside.token, Access::Read);
    let (code, words) = outside.sweep(&[]).await?;
    assert_eq!((code, outside.cloud.contains(id)), (3, true), "{words}");
    assert!(words.contains("NOT deleted: the token may only read"), "{words}");
    assert_eq!(outside.deletes().len(), 1, "asking again would change nothing");
    Ok(())
}

async fn what_cannot_be_judged_is_named_and_left_to_a_person() -> Kept {
    let outside = Outside::new().await?;
    let id = outside.rent_as("without", &[(label::EXPIRES_AT, "soon")]);
    let (code, words) = outside.sweep(&[]).await?;
    assert_eq!((code, outside.cloud.contains(id)), (4, true), "{words}");
    assert!(words.contains("is no deadline: \"soon\"") && words.contains("A person must look"), "{words}");
    let (code, words) = outside.sweep(&["--unreadable-after", "48h"]).await?;
    assert_eq!((code, outside.cloud.contains(id)), (0, true), "{words}");
    let (code, words) = outside.sweep(&["--unreadable-after", "15m"]).await?;
    assert_eq!((code, outside.cloud.contains(id)), (0, false), "{words}");
    Ok(())
}

async fn a_sweeper_that_cannot_look_does_not_look_well() -> Kept {
    let outside = Outside::new().await?;
    let id = outside.rent("overdue", 400);
    for (code, args, token) in [
        (1, &["--dry-run"][..], Some("not-a-token")),
        (1, &["--token-file", "/does/not/exist"], Some(outside.token.as_str())),
        (2, &[], None),
        (2, &["--every", "soon"], Some(outside.token.as_str())),
        (2, &["--once", "--every", "5m"], Some(outside.token.as_str())),
        (2, &["--cluster", ""], Some(outside.token.as_str())),
    ] {
        let mut command = outside.command(args);
        let command = match token {
            Some(token) => command.env("HCLOUD_TOKEN", token),
            None => command.env_remove("HCLOUD_TOKEN"),
        };
        let (seen, words) = told(&command.output().await?);
        assert_eq!(seen, code, "{args:?}: {words}");
        assert!(words.len() > 20, "{args:?}: {words}");
    }
    outside.cloud.set_api(Mode::Refuse).await?;
    let (code, words) = outside.sweep(&[]).await?;
    assert!(code == 1 && words.contains("cannot connect"), "{words}");
    assert!(outside.cloud.contains(id));
    Ok(())
}

async fn a_sweeper_that_runs_on_deletes_what_becomes_overdue_later() -> Kept {
    let outside = Outside::new().await?;
    outside.cloud.set_api(Mode::Refuse).await?;
    let mut sweeper = outside.command(&["--every", "1s", "--grace", "1s", "--json"]).spawn()?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    outside.cloud.set_api(Mode::Up).await?;
    let (running, id) = (outside.rent("running", -3_600), outside.rent("ends-soon", -2));
    let end = at(2);
    let gone = outside.cloud.wait_gone(id, PATIENCE).await.ok_or("an outage stopped it")?;
    assert!(gone > end, "{gone} is before {end} and its grace");
    assert!(outside.cloud.contains(running));
    let group = nix::unistd::Pid::from_raw(i32::try_from(sweeper.id().ok_or("it ended")?)?);
    nix::sys::signal::kill(group, nix::sys::signal::Signal::SIGTERM)?;
    assert_eq!(sweeper.wait().await?.code(), Some(0));
    Ok(())
}

async fn the_examples_call_the_sweeper_as_it_is() -> Kept {
    let outside = Outside::new().await?;
    let token = tempfile::tempdir()?;
    std::fs::write(token.path().join("curfew.token"), &outside.token)?;
    for (file, before) in
        [("systemd/curfew-sweep.service", "ExecStart="), ("deploy/sweep-workflow.yaml", "run: ./")]
    {
        let text = std::fs::read_to_string(root().join(file))?;
        let line = text.lines().find_map(|line| line.trim().strip_prefix(before)).ok_or(file)?;
        let line = line.replace("${CREDENTIALS_DIRECTORY}", &token.path().display().to_string());
        let words = line.split_whitespace().skip(1).filter(|word| !word.starts_with('$'));
        let id = outside.rent("overdue", 400);
        let mut command = Command::new(TESTBED);
        command.env_clear().arg("controller").args(words).env("HCLOUD_ENDPOINT", outside.cloud.endpoint());
        if file.starts_with("deploy") {
            command.env("HCLOUD_TOKEN", &outside.token);
        }
        let (code, words) = told(&command.output().await?);
        assert_eq!((code, outside.cloud.contains(id)), (0, false), "{file}: {words}");
    }
    Ok(())
}

/// In place of a value: without this label.
const ABSENT: &str = "-";
const PATIENCE: Duration = Duration::from_mins(1);
