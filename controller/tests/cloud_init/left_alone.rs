//! What must not leave a machine without its switch, or without a word about it.

use std::{fs, thread, time::Duration};

use jiff::SignedDuration;
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::{
    delivery::{WITHOUT_APT, agent, options},
    machine::Machine,
    mirror::{Answer, Mirror},
};

const AGENT: &str = "usr/local/bin/curfew-agent";
const FAILED: &str = "var/lib/curfew/bootstrap/failed";

fn read_only(dir: &str) -> String {
    format!("mount --bind {dir} {dir}; mount -o remount,bind,ro {dir}; ")
}

#[test]
fn a_machine_that_lost_power_before_its_agent_came_goes_on_at_the_next_boot() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Hang)]);
    let Some(machine) = Machine::with("curl") else { return };
    let document = machine.take(&options(&[mirror.url("agent")], &bytes));
    let run = machine.start("");
    while mirror.asked().is_empty() {
        thread::sleep(Duration::from_millis(20));
    }
    killpg(Pid::from_raw(run.id().cast_signed()), Signal::SIGKILL).unwrap();
    run.wait_with_output().unwrap();

    // cloud-init runs `runcmd` once in a machine's life, so nobody but `bootcmd` comes back.
    fs::remove_dir_all(machine.path("run")).unwrap();
    fs::create_dir(machine.path("run")).unwrap();
    machine.boot(&document);
    assert!(machine.has("seen/active-curfew-bootstrap.service"), "{}", machine.read("seen/systemctl"));
}

#[test]
fn what_fails_beside_a_running_agent_does_not_take_it_away() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    for fails in ["curfew-backstop.timer", "enable"] {
        let Some(machine) = Machine::with("curl") else { return };
        machine.write(&format!("seen/fails-{fails}"), "", 0o644);
        machine.take(&options(&[mirror.url("agent")], &bytes));
        assert!(!machine.run().succeeded, "{fails}");
        assert!(machine.read(FAILED).starts_with("start: "), "{fails}");
        assert!(machine.has(AGENT) && machine.has("seen/active-curfew-agent.service"), "{fails}");
        let calls = machine.read("seen/systemctl");
        assert_eq!(calls.matches("restart curfew-agent.service").count(), 1, "{fails}: {calls}");
    }
}

#[test]
fn an_only_agent_that_does_not_start_stays_since_it_may_start_later() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let Some(machine) = Machine::with("curl") else { return };
    machine.write("seen/fails-curfew-agent.service", "", 0o644);
    machine.take(&options(&[mirror.url("agent")], &bytes));
    assert!(!machine.run().succeeded);
    assert!(machine.has(AGENT));
    fs::remove_file(machine.path("seen/fails-curfew-agent.service")).unwrap();
    assert!(machine.run().succeeded);
    assert_eq!(mirror.asked().len(), 1);
}

#[test]
fn an_early_command_that_hangs_is_a_failure_and_not_a_silence() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let Some(machine) = Machine::with("curl") else { return };
    let mut options = options(&[mirror.url("agent")], &bytes);
    options.early_commands = vec!["sleep 20".into()];
    options.patience.download = SignedDuration::from_secs(2);
    machine.take(&options);
    assert!(!machine.run().succeeded);
    assert!(machine.read(FAILED).starts_with("early: "), "{}", machine.read(FAILED));
}

#[test]
fn a_token_of_the_image_counts_where_etc_is_read_only() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let Some(mut machine) = Machine::with("curl") else { return };
    machine.write("etc/curfew/token", "baked", 0o600);
    machine.before = read_only("etc");
    machine.take(&options(&[mirror.url("agent")], &bytes));
    let run = machine.run();
    assert!(run.succeeded, "{}", run.said);
    let env = machine.read("var/lib/curfew/etc/agent.env");
    let path = env.lines().find_map(|line| line.strip_prefix("CURFEW_TOKEN_FILE=/")).unwrap().to_owned();
    assert_eq!(fs::read_link(machine.path(&path)).unwrap().to_str(), Some("/etc/curfew/token"));
}

#[test]
fn an_old_agent_that_cannot_be_replaced_does_not_keep_the_pinned_one_away() {
    let bytes = agent("second");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let Some(mut machine) = Machine::with("curl") else { return };
    machine.write(AGENT, "#!/bin/sh\necho old\n", 0o755);
    machine.before = read_only("usr/local");
    machine.take(&options(&[mirror.url("agent")], &bytes));
    let run = machine.run();
    assert!(run.succeeded, "{}", run.said);
    assert_eq!(machine.read("opt/curfew/bin/curfew-agent").into_bytes(), bytes);
    let unit = machine.read("etc/systemd/system/curfew-agent.service");
    assert!(unit.contains("ExecStart=/opt/curfew/bin/curfew-agent run"), "{unit}");
    let (before, log) = (machine.state(true), machine.log());
    assert!(machine.run().succeeded);
    assert_eq!((machine.state(true), machine.log()), (before, log), "a second run changes nothing");
}

#[test]
fn a_fetch_that_failed_says_why() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(b"another".to_vec()))]);
    let Some(mut machine) = Machine::with("curl") else { return };
    machine.before = WITHOUT_APT.into();
    let mut options = options(&[mirror.url("agent")], &bytes);
    options.patience.download = SignedDuration::from_secs(2);
    machine.take(&options);
    assert!(!machine.run().succeeded);
    let words = machine.read(FAILED);
    assert!(words.contains("within 2s: wrong checksum from 127.0.0.1:"), "{words}");
}
