//! "No watchdog, no join": what a kubelet's start may wait for.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use curfew_contract::Note;
use curfew_sandbox::{
    cloud::Access,
    machine::{AGENT, Machine, Spec},
};
use curfew_tests::{Kept, Promise, World, promises, secs, told, without_backstop};
use tokio::time::sleep;

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    a_machine_without_a_cluster_is_ready_and_one_whose_agent_is_dead_is_not,
    a_machine_whose_token_may_not_delete_it_is_never_ready,
    whoever_waits_is_let_through_once_the_machine_could_delete_itself,
    a_bootstrap_that_failed_is_in_the_heartbeat_until_it_succeeds,
];

const READY: Option<i32> = Some(0);
const NOT_READY: Option<i32> = Some(1);
const UNHEARD: Option<i32> = Some(2);

async fn a_machine_without_a_cluster_is_ready_and_one_whose_agent_is_dead_is_not() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    let without_cluster = |spec: &mut Spec| {
        without_backstop(spec);
        spec.options.insert("--kubeconfig", "/nonexistent".into());
    };
    world.rent("m-1", without_cluster).await?;
    let machine = world.machine();
    world.becomes("ready", || (ready(machine) == READY).then_some(())).await?;
    assert!(world.beat(machine).is_none(), "it has joined no cluster");
    machine.kill_agent(false);
    assert_eq!(ready(machine), READY, "the word is a moment old");
    world.becomes("silence", || (ready(machine) == NOT_READY).then_some(())).await?;
    // As a reboot would find it, if /run outlived that.
    let path = machine.dir().join("run/status.json");
    let mut said: serde_json::Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    said["bootId"] = "another".into();
    std::fs::write(&path, said.to_string())?;
    assert_eq!(ready(machine), UNHEARD);
    std::fs::remove_file(&path)?;
    assert_eq!(ready(machine), UNHEARD);
    Ok(())
}

async fn a_machine_whose_token_may_not_delete_it_is_never_ready() -> Kept {
    let world = World::with(TESTBED, without_backstop).await?;
    let machine = world.machine();
    world.cloud.set_access(&machine.token, Access::Read);
    let denied = || world.last_word(machine).filter(|word| word["heartbeat"]["authority"] == "Denied");
    world.becomes("a refusal", denied).await?;
    assert_eq!(ready(machine), NOT_READY);
    sleep(secs(6)).await;
    assert_eq!(ready(machine), NOT_READY);
    Ok(())
}

async fn whoever_waits_is_let_through_once_the_machine_could_delete_itself() -> Kept {
    let world = World::with(TESTBED, without_backstop).await?;
    let machine = world.machine();
    let token = machine.dir().join(AGENT);
    let text = std::fs::read_to_string(&token)?;
    world.becomes("ready", || (ready(machine) == READY).then_some(())).await?;
    std::fs::write(&token, "")?;
    world.becomes("no token", || (ready(machine) == NOT_READY).then_some(())).await?;
    let mut waiting = Waiting(ask(machine).arg("--wait").stdout(Stdio::piped()).spawn()?);
    sleep(secs(3)).await;
    assert!(waiting.0.try_wait()?.is_none(), "it waits");
    std::fs::write(&token, text)?;
    world.becomes("ready", || (ready(machine) == READY).then_some(())).await?;
    assert_eq!(waiting.0.wait()?.code(), READY);
    let said = BufReader::new(waiting.0.stdout.take().ok_or("its output")?).lines();
    let said: Vec<String> = said.collect::<Result<_, _>>()?;
    assert!(said[0].starts_with("not ready: the token may not delete this server"), "{said:?}");
    assert_eq!(said.last().map(String::as_str), Some("ready: this machine can delete itself"));
    assert!(said.len() <= 4, "once a reason: {said:?}");
    Ok(())
}

async fn a_bootstrap_that_failed_is_in_the_heartbeat_until_it_succeeds() -> Kept {
    let world = World::with(TESTBED, without_backstop).await?;
    let machine = world.machine();
    world.next_beat(machine).await?;
    let marker = machine.dir().join("state/bootstrap/failed");
    std::fs::create_dir_all(marker.parent().ok_or("a directory")?)?;
    std::fs::write(&marker, "kubernetes: no URL answered; see bootstrap/log\n")?;
    world.beats(machine, "the failure", told::note(Note::BootstrapFailed)).await?;
    let screen = Command::new(TESTBED).args(["agent", "status"]).args(dirs(machine)).output()?.stdout;
    let screen = String::from_utf8_lossy(&screen).into_owned();
    assert!(screen.contains("bootstrap   FAILED: kubernetes: no URL answered"), "{screen}");
    std::fs::remove_file(&marker)?;
    world.beats(machine, "no failure", |beat| !told::note(Note::BootstrapFailed)(beat)).await?;
    Ok(())
}

fn ask(machine: &Machine) -> Command {
    let mut command = Command::new(TESTBED);
    command.args(["agent", "ready"]).args(dirs(machine)).stdout(Stdio::null());
    command
}

fn dirs(machine: &Machine) -> [String; 4] {
    let dir = |part: &str| machine.dir().join(part).display().to_string();
    ["--run-dir".to_owned(), dir("run"), "--state-dir".to_owned(), dir("state")]
}

/// The exit code.
fn ready(machine: &Machine) -> Option<i32> {
    ask(machine).status().ok()?.code()
}

/// Ends with the test, whether or not it came back.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
