//! Promises of the stage itself: without them the rows would prove nothing.

use std::{
    io::Read,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use curfew_contract::{Heartbeat, Note, annotation, label};
use curfew_sandbox::{
    cloud::{Access, Project},
    leak::leaks,
    machine::{AGENT, Spec, TEMPLATE, Turn},
    programs::Programs,
    stage::{Setup, Stage},
};
use curfew_tests::{call, told};
use serde_json::json;

fn programs() -> Programs {
    Programs::all_in(env!("CARGO_BIN_EXE_testbed"))
}

fn runs(id: u32) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

#[expect(clippy::expect_used, reason = "fails the test that calls it")]
async fn within<T>(seconds: u64, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looked = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(seconds), looked).await.expect("it comes in time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_runs_until_it_is_dropped_and_then_nothing_of_it_is_left() {
    let mut stage = Stage::bare(programs()).await.unwrap();
    stage.rent(Spec::fast("m1", stage.labels())).await.unwrap();
    let agent = within(20, async || stage.machine().agent_id()).await;
    assert!(runs(agent));
    drop(stage);
    assert!(!runs(agent), "killed and reaped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_killed_is_started_again_as_systemd_would() {
    let mut stage = Stage::bare(programs()).await.unwrap();
    stage.rent(Spec::fast("m1", stage.labels())).await.unwrap();
    let first = within(20, async || stage.machine().agent_id()).await;
    stage.machine().kill_agent(true);
    let second = within(20, async || stage.machine().agent_id()).await;
    assert_ne!(first, second);
    stage.machine().kill_agent(false);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(stage.machine().agent_id(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_ledger_is_noticed_by_the_agent_and_by_nobody_else() {
    let stage = Stage::set(Setup::new(programs(), Duration::from_mins(30))).await.unwrap();
    stage.armed().await.unwrap();
    stage.machine().freeze_ledger().unwrap();
    stage.machine().kill_agent(true);
    let noted = async || {
        let node = stage.api.node(&stage.machine().name).await.unwrap();
        let beat = node["metadata"]["annotations"][annotation::HEARTBEAT].as_str()?;
        Heartbeat::read(beat).ok()?.notes.contains(&Note::LedgerUnwritable).then_some(())
    };
    within(20, noted).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_created_boots_joins_and_arms_as_its_user_data_says() {
    let stage = Stage::bare(programs()).await.unwrap();
    let id = create(&stage, "burst-0").await;
    let joined = async || Some(stage.api.node("burst-0").await.unwrap()).filter(|node| !node.is_null());
    let node = within(20, joined).await;
    assert_eq!(node["spec"]["providerID"], format!("hcloud://{id}"));
    assert_eq!(node["metadata"]["labels"][label::LEASE], "burst");
    within(20, async || ready(&stage, "burst-0").await.filter(|status| status == "True")).await;
    let proven = async || {
        let node = stage.api.node("burst-0").await.unwrap();
        let beat = node["metadata"]["annotations"][annotation::HEARTBEAT].as_str()?;
        told::proven(&Heartbeat::read(beat).ok()?).then_some(())
    };
    within(30, proven).await;
    let machine = stage.fleet.machine(id).unwrap();
    let agent = machine.agent_id().unwrap();
    call(&stage.cloud, &machine.token, "DELETE", &format!("/v1/servers/{id}"), "").await.unwrap();
    within(10, async || (!runs(agent)).then_some(())).await;
    // Its Node stays, and is seen to be lost.
    within(10, async || ready(&stage, "burst-0").await.filter(|status| status == "Unknown")).await;
    let created = stage.fleet.created();
    assert_eq!(leaks(&created, &stage.cloud.servers(), &stage.cloud.ledger()), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_can_be_told_to_turn_out_badly() {
    let stage = Stage::bare(programs()).await.unwrap();
    let turns =
        [Turn::NeverBoots, Turn::NeverJoins, Turn::WrongLabel, Turn::WrongProviderId, Turn::NeverReady];
    stage.fleet.configure(|boots| {
        boots.turns = (0..).zip(turns).map(|(slot, turn)| (format!("-{slot}"), turn)).collect();
    });
    let mut ids = Vec::new();
    for slot in 0..turns.len() {
        ids.push(create(&stage, &format!("burst-{slot}")).await);
    }
    // The last to be created works, and so the others have had their time.
    create(&stage, "burst-9").await;
    within(30, async || ready(&stage, "burst-9").await.filter(|status| status == "True")).await;
    let node = async |slot: usize| stage.api.node(&format!("burst-{slot}")).await.unwrap();
    assert!(stage.fleet.machine(ids[0]).is_none() && node(0).await.is_null());
    assert!(stage.fleet.machine(ids[1]).is_some() && node(1).await.is_null());
    assert_eq!(node(2).await["metadata"]["labels"][label::LEASE], "another");
    assert_eq!(node(3).await["spec"]["providerID"], format!("hcloud://{}", ids[3] + 1));
    assert_eq!(ready(&stage, "burst-4").await.as_deref(), Some("False"));
}

/// What the controller's create call does, with the sandbox's template filled in. Returns the server's id.
#[expect(clippy::unwrap_used, reason = "fails the test that calls it")]
async fn create(stage: &Stage, name: &str) -> u64 {
    let token = |holder| stage.cloud.issue_token(Project::OURS, Access::ReadWrite, holder);
    let values = [("LEASE", "burst"), ("LIFETIME", "86400s"), ("TOKEN", &token(AGENT))];
    let user_data = values
        .into_iter()
        .fold(TEMPLATE.to_owned(), |text, (word, value)| text.replace(&format!("@CURFEW_{word}@"), value));
    let order = json!({
        "name": name, "server_type": "cpx22", "image": "ubuntu-24.04", "location": "fsn1", "user_data": user_data,
        "labels": {label::MANAGED_BY: label::CURFEW},
    });
    let answer =
        call(&stage.cloud, &token("controller"), "POST", "/v1/servers", &order.to_string()).await.unwrap();
    answer["server"]["id"].as_u64().unwrap()
}

async fn ready(stage: &Stage, node: &str) -> Option<String> {
    let node = stage.api.node(node).await.ok()?;
    let ready = node["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == "Ready")?;
    ready["status"].as_str().map(str::to_owned)
}

#[test]
fn no_process_outlives_a_sandbox_that_is_killed() {
    // A killed sandbox leaves its files behind.
    let files = tempfile::tempdir().unwrap();
    let mut sandbox = Command::new(env!("CARGO_BIN_EXE_testbed"))
        .arg("up")
        .env("TMPDIR", files.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = [0_u8; 16];
    sandbox.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let children = || {
        let children = format!("/proc/{0}/task", sandbox.id());
        let lists = std::fs::read_dir(children)
            .unwrap()
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
        lists.collect::<String>().split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<u32>>()
    };
    while children().len() < 2 {
        std::thread::sleep(Duration::from_millis(50));
    }
    let children = children();
    assert!(children.iter().all(|&id| runs(id)));
    sandbox.kill().unwrap();
    sandbox.wait().unwrap();
    let gone = || children.iter().all(|&id| !runs(id) || is_zombie(id));
    for _ in 0..100 {
        if gone() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("still running: {children:?}");
}

#[test]
fn a_sandbox_whose_terminal_is_closed_leaves_no_files() {
    let files = tempfile::tempdir().unwrap();
    let mut sandbox = Command::new(env!("CARGO_BIN_EXE_testbed"))
        .arg("up")
        .env("TMPDIR", files.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = [0_u8; 16];
    sandbox.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let id = nix::unistd::Pid::from_raw(i32::try_from(sandbox.id()).unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGHUP).unwrap();
    sandbox.wait().unwrap();
    let left: Vec<_> = std::fs::read_dir(files.path()).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Whoever adopts an orphan may be slow to reap it.
fn is_zombie(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.contains(") Z ")
}
