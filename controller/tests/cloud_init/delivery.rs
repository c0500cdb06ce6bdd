//! However the agent can be had at all, it is had; and what is not the pinned file never runs.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use curfew_controller::cloud_init::{Agent, Content, Download, Flavour, Options, Patience, Secret};
use jiff::SignedDuration;
use ring::digest;

use crate::{
    machine::Machine,
    mirror::{Answer, Mirror},
    not_checked,
};

pub(crate) const WITHOUT_APT: &str = "mount -t tmpfs none usr/lib/apt";

/// An agent that answers, and notes that it ran.
pub(crate) fn agent(version: &str) -> Vec<u8> {
    format!("#!/bin/sh\necho \"{version} $*\" >>/seen/agent\necho {version}\n").into_bytes()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// What a program says to this input.
pub(crate) fn said(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap().stdout
}

/// An agent from these addresses, and nothing else.
pub(crate) fn options(urls: &[String], bytes: &[u8]) -> Options {
    let urls = urls.iter().map(|url| url.parse().unwrap()).collect();
    Options {
        agent: Agent::Fetch(Download { urls, sha256: sha256(bytes).parse().unwrap() }),
        agent_options: Vec::new(),
        token: Secret::OnMachine("/etc/curfew/token".parse().unwrap()),
        flavour: Flavour::None,
        labels: Vec::new(),
        taints: Vec::new(),
        kubelet_args: Vec::new(),
        files: Vec::new(),
        early_commands: Vec::new(),
        pre_commands: Vec::new(),
        post_commands: Vec::new(),
        bin_dir: "/usr/local/bin".parse().unwrap(),
        transient_units: false,
        private_network: None,
        metadata_guard: true,
        join_unarmed: false,
        patience: Patience {
            attempt: SignedDuration::from_secs(3),
            download: SignedDuration::from_secs(30),
            armed: SignedDuration::from_secs(30),
        },
    }
}

fn arrives_by(tools: &str, machine: &Machine) {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    machine.take(&options(&[mirror.url("agent")], &bytes));
    let run = machine.run();
    assert!(run.succeeded, "{tools}: {}", run.said);
    assert_eq!(machine.read("usr/local/bin/curfew-agent").into_bytes(), bytes, "{tools}");
    assert!(machine.has("run/curfew-bootstrap/armed") && !machine.has("var/lib/curfew/bootstrap/failed"));
    assert!(machine.read("seen/systemctl").contains("restart curfew-agent.service"), "{tools}");
}

#[test]
fn it_is_fetched_by_whatever_single_tool_is_there() {
    for tools in ["curl", "wget", "python3"] {
        let Some(mut machine) = Machine::with(tools) else { continue };
        machine.before = WITHOUT_APT.into();
        arrives_by(tools, &machine);
    }
}

#[test]
fn apt_helper_will_do() {
    if !std::path::Path::new("/usr/lib/apt/apt-helper").exists() {
        not_checked("this machine has no apt-helper");
        return;
    }
    let Some(mut machine) = Machine::with("dpkg") else { return };
    machine.write("var/lib/dpkg/status", "", 0o644);
    for dir in ["etc/apt/apt.conf.d", "usr/share/dpkg"] {
        std::fs::create_dir_all(machine.path(dir)).unwrap();
    }
    machine.before = "mount --bind /usr/share/dpkg usr/share/dpkg".into();
    arrives_by("apt-helper", &machine);
}

#[test]
fn busyboxs_wget_will_do() {
    if !Command::new("busybox").arg("true").status().is_ok_and(|status| status.success()) {
        not_checked("this machine has no busybox");
        return;
    }
    let Some(mut machine) = Machine::with("busybox") else { return };
    std::os::unix::fs::symlink("busybox", machine.path("usr/bin/wget")).unwrap();
    machine.before = WITHOUT_APT.into();
    arrives_by("busybox", &machine);
}

#[test]
fn a_tool_that_is_there_and_broken_gives_way_to_the_next() {
    let Some(machine) = Machine::with("python3") else { return };
    machine.write("usr/bin/curl", "#!/bin/sh\nexit 127\n", 0o755);
    // This one claims success and writes nothing.
    machine.write("usr/bin/wget", "#!/bin/sh\nexit 0\n", 0o755);
    machine.write("usr/local/sbin/sha256sum", "#!/bin/sh\necho broken\n", 0o755);
    arrives_by("python3", &machine);
}

#[test]
fn a_source_that_is_dead_or_hangs_or_stops_half_way_or_lies_gives_way_to_the_next() {
    let bytes = agent("first");
    let lie = agent("evil");
    for (path, first) in [
        ("none", None),
        ("hang", Some(Answer::Hang)),
        ("half", Some(Answer::Half(bytes.clone()))),
        ("lie", Some(Answer::Bytes(lie.clone()))),
    ] {
        let Some(machine) = Machine::with("curl python3") else { return };
        let answers =
            first.map(|answer| (path, answer)).into_iter().chain([("agent", Answer::Bytes(bytes.clone()))]);
        let mirror = Mirror::with(answers);
        let dead = "http://127.0.0.1:1/agent".to_owned();
        machine.take(&options(&[dead, mirror.url(path), mirror.url("agent")], &bytes));
        let run = machine.run();
        assert!(run.succeeded, "{path}: {}", run.said);
        assert!(!machine.read("seen/agent").contains("evil"), "{path}: what was not pinned has run");
        assert_eq!(machine.read("usr/local/bin/curfew-agent").into_bytes(), bytes);
        let log = machine.log();
        assert!(log.contains("fetch retry curl could not fetch from 127.0.0.1:1"), "{log}");
        assert_eq!(path == "lie", log.contains("wrong checksum"), "{path}: {log}");
    }
}

#[test]
fn where_every_source_lies_nothing_runs_nothing_joins_and_it_is_loud() {
    let bytes = agent("first");
    let Some(machine) = Machine::with("curl python3") else { return };
    let mirror = Mirror::with([("agent", Answer::Bytes(agent("evil")))]);
    let mut options = options(&[mirror.url("agent")], &bytes);
    options.patience.download = SignedDuration::from_secs(2);
    options.pre_commands = vec!["touch /seen/joined".into()];
    machine.take(&options);
    machine.write("seen/enabled-kubelet.service", "", 0o644);
    let run = machine.run();
    assert!(!run.succeeded);
    let failed = machine.read("var/lib/curfew/bootstrap/failed");
    assert!(failed.starts_with("fetch: no source gave the pinned file within 2s"), "{failed}");
    assert!(machine.read("dev/console").contains("NOT SAFE TO LEAVE ALONE. fetch:"));
    assert!(machine.log().contains("fetch failed "), "{}", machine.log());
    for leftover in [
        "usr/local/bin/curfew-agent",
        "usr/local/bin/curfew-agent.new",
        "usr/local/bin/curfew-agent.new.part",
        "seen/agent",
        "seen/joined",
        "run/curfew-bootstrap/armed",
        "seen/active-kubelet.service",
    ] {
        assert!(!machine.has(leftover), "{leftover} is there");
    }
    // And it is tried again, later.
    assert!(machine.read("seen/systemctl").contains("start --no-block curfew-bootstrap.service"));
}

#[test]
fn an_agent_that_does_not_run_here_is_undone() {
    let bytes = b"#!/bin/sh\nexit 1\n".to_vec();
    let Some(machine) = Machine::with("curl") else { return };
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    machine.take(&options(&[mirror.url("agent")], &bytes));
    assert!(!machine.run().succeeded);
    assert!(machine.read("var/lib/curfew/bootstrap/failed").starts_with("install: the agent does not run"));
    assert!(!machine.has("usr/local/bin/curfew-agent"));
}

#[test]
fn a_secret_that_is_given_out_once_arrives_unseen() {
    let bytes = agent("first");
    let Some(machine) = Machine::with("curl") else { return };
    // Takes down every command line there is while it is at it.
    machine.write(
        "usr/local/sbin/curl",
        "#!/bin/sh\ncat /proc/[0-9]*/cmdline >>/seen/lines\nexec /usr/bin/curl \"$@\"\n",
        0o755,
    );
    let secret = "s3cr3t".repeat(8);
    let mirror = Mirror::with([
        ("agent", Answer::Bytes(bytes.clone())),
        ("once/xyzzy", Answer::Once(secret.clone().into_bytes())),
    ]);
    let mut options = options(&[mirror.url("agent")], &bytes);
    options.token = Secret::OneTime(mirror.url("once/xyzzy").parse().unwrap());
    let document = machine.take(&options);
    assert!(!document.text.contains(&secret));
    let run = machine.run();
    assert!(run.succeeded, "{}", run.said);
    assert_eq!(machine.read("etc/curfew/token"), secret);
    assert_eq!(mirror.asked().iter().filter(|path| *path == "once/xyzzy").count(), 1);
    for seen in [
        machine.log(),
        run.said,
        String::from_utf8_lossy(&std::fs::read(machine.path("seen/lines")).unwrap()).into(),
    ] {
        assert!(!seen.contains("xyzzy") && !seen.contains(&secret), "{seen}");
    }
    assert!(machine.run().succeeded, "a second run asks for it again");
}

#[test]
fn a_token_in_user_data_lies_where_only_root_reads_it() {
    let bytes = agent("first");
    let Some(machine) = Machine::with("curl") else { return };
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let mut options = options(&[mirror.url("agent")], &bytes);
    options.token = Secret::InUserData(Content(b"t0ken\n".to_vec()));
    let document = machine.take(&options);
    assert!(document.warnings[0].contains("token is in this document"));
    assert!(machine.run().succeeded);
    assert_eq!(machine.read("etc/curfew/token"), "t0ken\n");
    assert!(machine.state(false).iter().any(|line| line.starts_with("etc/curfew/token 600 ")));
    assert!(!machine.log().contains("t0ken"));
}
