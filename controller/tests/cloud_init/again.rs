//! Run again, killed half-way, changed, or on a machine where something cannot be written.

use std::{fs, os::unix::process::ExitStatusExt, thread, time::Duration};

use curfew_controller::cloud_init::{ExtraFile, Flavour, Options, Secret};
use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};

use crate::{
    delivery::{agent, options},
    machine::Machine,
    mirror::{Answer, Mirror},
};

/// Every stage there is.
fn everything(mirror: &Mirror, bytes: &[u8]) -> Options {
    let mut options = options(&[mirror.url("agent")], bytes);
    options.flavour =
        Flavour::Kubeadm { configuration: Secret::OnMachine("/etc/curfew/join".parse().unwrap()) };
    options.labels = vec!["pool=burst".parse().unwrap()];
    options.taints = vec!["burst=yes:NoSchedule".parse().unwrap()];
    options.early_commands = vec!["echo early >>/seen/commands".into()];
    options.pre_commands = vec!["echo pre >>/seen/commands".into()];
    options.post_commands = vec!["echo post >>/seen/commands".into()];
    options.files = vec![ExtraFile {
        path: "/etc/motd".parse().unwrap(),
        mode: "0644".parse().unwrap(),
        content: curfew_controller::cloud_init::Content(b"rented\n".to_vec()),
    }];
    options
}

fn kubeadm(machine: &Machine) {
    let joins = "#!/bin/sh\necho kubeadm \"$*\" >>/seen/commands\nmkdir -p /etc/kubernetes\n: >/etc/kubernetes/kubelet.conf\n";
    machine.write("usr/bin/kubeadm", joins, 0o755);
}

#[test]
fn the_agent_is_armed_before_kubernetes_has_the_machine_and_a_second_run_changes_nothing() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let Some(machine) = Machine::with("curl") else { return };
    kubeadm(&machine);
    machine.take(&everything(&mirror, &bytes));
    let run = machine.run();
    assert!(run.succeeded, "{}", run.said);
    assert_eq!(machine.read("seen/commands"), "early\npre\nkubeadm join --config /etc/curfew/join\npost\n");
    let log = machine.log();
    let begun: Vec<_> = log.lines().filter_map(|line| line.strip_suffix(" begun")).collect();
    assert_eq!(
        begun,
        ["files", "early", "fetch", "install", "start", "guard", "armed", "pre", "join", "post"]
    );
    let arguments = machine.read("etc/curfew/kubelet.env");
    assert_eq!(
        arguments,
        "KUBELET_EXTRA_ARGS=\"--node-labels=pool=burst --register-with-taints=burst=yes:NoSchedule\"\n"
    );

    let (before, calls) = (machine.state(true), machine.read("seen/agent"));
    assert!(machine.run().succeeded);
    assert_eq!(machine.state(true), before);
    assert_eq!(machine.log(), log);
    assert_eq!(machine.read("seen/agent"), calls);
    assert_eq!(mirror.asked().len(), 1);
}

#[test]
fn killed_anywhere_and_run_again_it_ends_the_same() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let start = || {
        let machine = Machine::with("curl")?;
        kubeadm(&machine);
        // Each of these is a moment to be killed at.
        for tool in ["cp", "mv", "chmod", "rm", "cat", "systemctl"] {
            let real = fs::read_link(machine.path("usr/bin").join(tool)).ok();
            let real = real.map_or_else(|| "/usr/bin/systemctl".into(), |path| path.display().to_string());
            let counts = format!(
                "#!/bin/sh\necho x >>/seen/moments\nread -r at </seen/kill-at\n\
                 [ \"$(wc -l </seen/moments)\" -ne \"${{at:-0}}\" ] || kill -9 0\nexec {real} \"$@\"\n"
            );
            machine.write(&format!("usr/local/sbin/{tool}"), &counts, 0o755);
        }
        machine.write("seen/kill-at", "0\n", 0o644);
        machine.take(&everything(&mirror, &bytes));
        Some(machine)
    };
    let Some(whole) = start() else { return };
    assert!(whole.run().succeeded);
    let moments = whole.read("seen/moments").lines().count();
    assert!(moments > 60, "{moments}");
    let steps = 1 + moments / 25;
    for at in (1..=moments).step_by(steps) {
        let machine = start().unwrap();
        machine.write("seen/kill-at", &format!("{at}\n"), 0o644);
        let killed = machine.start("").wait_with_output().unwrap();
        assert_eq!(killed.status.signal(), Some(9), "moment {at} of {moments}");
        let after = whole.state(false);
        let is_placed = |line: &&String| line.starts_with("etc/") && !line.contains("/.curfew-part");
        let half = machine.state(false).into_iter().find(|line| is_placed(&line) && !after.contains(line));
        assert_eq!(half, None, "moment {at} of {moments}: half a file");
        machine.write("seen/kill-at", "0\n", 0o644);
        let run = machine.run();
        assert!(run.succeeded, "moment {at} of {moments}: {}", run.said);
        assert_eq!(machine.state(false), whole.state(false), "moment {at} of {moments}");
        let joins = machine.read("seen/commands").matches("kubeadm").count();
        assert_eq!(joins, 1, "moment {at} of {moments}");
    }
}

#[test]
fn two_runs_at_once_are_one() {
    let bytes = agent("first");
    for tools in ["curl", "curl python3"] {
        let mirror = Mirror::with([("agent", Answer::Hang)]);
        let Some(machine) = Machine::with(&format!("setsid {tools}")) else { return };
        if tools.ends_with("python3") {
            fs::remove_file(machine.path("usr/bin/flock")).unwrap();
        }
        let mut options = options(&[mirror.url("agent")], &bytes);
        options.early_commands = vec!["setsid sleep 1000 >/dev/null 2>&1 & echo $! >/seen/left".into()];
        machine.take(&options);
        let first = machine.start("");
        asked(&mirror, 1);
        let is_refused = || {
            let run = machine.run();
            !run.succeeded && run.said.contains("another run is at work")
        };
        assert!(is_refused(), "{tools}");
        // Its stage outlives it, and is still at work.
        let group = Pid::from_raw(first.id().cast_signed());
        kill(group, Signal::SIGKILL).unwrap();
        thread::sleep(Duration::from_millis(50));
        assert!(is_refused(), "{tools}: while a stage of the first is at work");
        // All dead, but for what the early command left running.
        killpg(group, Signal::SIGKILL).unwrap();
        first.wait_with_output().unwrap();
        let before = mirror.asked().len();
        let third = machine.start("");
        asked(&mirror, before + 1);
        killpg(Pid::from_raw(third.id().cast_signed()), Signal::SIGKILL).unwrap();
        third.wait_with_output().unwrap();
        let left = machine.read("seen/left").trim().parse().unwrap();
        kill(Pid::from_raw(left), Signal::SIGKILL).unwrap();
    }
}

/// Waits until that many requests have come.
fn asked(mirror: &Mirror, times: usize) {
    for _ in 0..3000 {
        if mirror.asked().len() >= times {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("nobody asks");
}

#[test]
fn a_changed_document_does_again_what_changed_and_only_that() {
    let (first, second) = (agent("first"), agent("second"));
    let mirror =
        Mirror::with([("agent", Answer::Bytes(first.clone())), ("new", Answer::Bytes(second.clone()))]);
    let Some(machine) = Machine::with("curl") else { return };
    kubeadm(&machine);
    machine.take(&everything(&mirror, &first));
    assert!(machine.run().succeeded);
    let mut changed = everything(&mirror, &second);
    changed.agent = options(&[mirror.url("new")], &second).agent;
    machine.take(&changed);
    fs::remove_file(machine.path("var/lib/curfew/bootstrap/log")).unwrap();
    let run = machine.run();
    assert!(run.succeeded, "{}", run.said);
    assert_eq!(machine.read("usr/local/bin/curfew-agent").into_bytes(), second);
    let log = machine.log();
    let begun: Vec<_> = log.lines().filter_map(|line| line.strip_suffix(" begun")).collect();
    assert_eq!(begun, ["fetch", "install", "start"]);
    assert_eq!(machine.read("seen/commands").matches("early").count(), 1);
}

#[test]
fn an_upgrade_that_does_not_start_leaves_the_old_agent_armed() {
    let (first, second) = (agent("first"), agent("second"));
    let mirror =
        Mirror::with([("agent", Answer::Bytes(first.clone())), ("new", Answer::Bytes(second.clone()))]);
    let Some(machine) = Machine::with("curl") else { return };
    machine.take(&options(&[mirror.url("agent")], &first));
    assert!(machine.run().succeeded);
    machine.take(&options(&[mirror.url("new")], &second));
    machine.write("seen/fails-curfew-agent.service", "", 0o644);
    assert!(!machine.run().succeeded);
    assert!(machine.read("var/lib/curfew/bootstrap/failed").starts_with("start: "));
    assert_eq!(machine.read("usr/local/bin/curfew-agent").into_bytes(), first);
    fs::remove_file(machine.path("seen/fails-curfew-agent.service")).unwrap();
    assert!(machine.run().succeeded, "tried again, it succeeds");
    assert_eq!(machine.read("usr/local/bin/curfew-agent").into_bytes(), second);
    assert!(!machine.has("var/lib/curfew/bootstrap/failed"));
}

#[test]
fn whatever_cannot_be_written_it_arms() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let read_only = |dir: &str| format!("mount --bind {dir} {dir}; mount -o remount,bind,ro {dir}");
    for (before, agent, unit) in [
        (read_only("usr/local"), "opt/curfew/bin/curfew-agent", "etc/systemd/system/curfew-agent.service"),
        (read_only("etc"), "usr/local/bin/curfew-agent", "run/systemd/system/curfew-agent.service"),
        (
            "mount -o bind dev/full var/lib/curfew/bootstrap/log".into(),
            "usr/local/bin/curfew-agent",
            "etc/systemd/system/curfew-agent.service",
        ),
        (read_only("var"), "usr/local/bin/curfew-agent", "etc/systemd/system/curfew-agent.service"),
    ] {
        let Some(mut machine) = Machine::with("curl") else { return };
        machine.write("var/lib/curfew/bootstrap/log", "", 0o600);
        machine.take(&options(&[mirror.url("agent")], &bytes));
        machine.before = before;
        let run = machine.run();
        assert!(run.succeeded, "{}: {}", machine.before, run.said);
        assert!(machine.has("run/curfew-bootstrap/armed"));
        assert_eq!(fs::read(machine.path(agent)).unwrap(), bytes, "{}", machine.before);
        let text = machine.read(unit);
        assert!(text.contains(&format!("ExecStart=/{agent} run")), "{}: {text}", machine.before);
    }
}

#[test]
fn a_machine_that_fails_for_a_month_does_not_fill_its_disk() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let Some(machine) = Machine::with("curl") else { return };
    machine.take(&options(&[mirror.url("agent")], &bytes));
    machine.write("var/lib/curfew/bootstrap/log", &"then armed failed\n".repeat(100_000), 0o600);
    assert!(machine.run().succeeded);
    let log = machine.read("var/lib/curfew/bootstrap/log");
    assert!(log.len() < 300_000 && log.ends_with("join done\n"), "{}", log.len());
}
