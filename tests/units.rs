//! The systemd units say what they must. What only a booted systemd shows was seen on one; here is what must not be lost.

use std::{fs, io, path::PathBuf, process::Command};

use curfew_tests::{Kept, Promise, promises, root};

pub(crate) const PROMISES: &[Promise] = promises![
    systemd_takes_the_units_as_they_are,
    systemd_calls_every_unit_well_enclosed,
    no_unit_loses_what_was_learnt_on_a_booted_machine,
    the_readme_of_the_units_names_every_file,
];

async fn systemd_takes_the_units_as_they_are() -> Kept {
    // The units name executables that are not installed here: they are checked as copies that name one that is.
    let dir = tempfile::tempdir()?;
    let mut units = Vec::new();
    for file in files()? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file)?.replace("/usr/local/bin/curfew-agent", "/bin/true");
        let text = text.replace("/usr/local/bin/curfew-controller", "/bin/true");
        let text = text.replace("=nft -f", "=/bin/true -f").replace("=-nft ", "=-/bin/true ");
        for unit in drop_in_of(&name) {
            let stub = dir.path().join(unit);
            if !unit.starts_with("curfew-") {
                fs::write(&stub, "[Service]\nExecStart=/bin/true\n")?;
                units.push(stub.clone());
            }
            fs::create_dir_all(stub.with_added_extension("d"))?;
            fs::write(stub.with_added_extension("d").join(&name), &text)?;
        }
        if file.extension().is_some_and(|end| end == "service" || end == "timer") {
            fs::write(dir.path().join(&name), text)?;
            units.push(dir.path().join(name));
        }
    }
    assert!(units.len() >= 10, "{units:?}");
    let mut verify = Command::new("systemd-analyze");
    verify.env("SYSTEMD_UNIT_PATH", format!("{}:", dir.path().display()));
    verify.args(["verify", "--man=no", "--recursive-errors=no"]).args(&units);
    let Some((fine, words)) = said(&mut verify)? else { return Ok(()) };
    // It warns, and succeeds all the same, of an option it does not know.
    let here = dir.path().display().to_string();
    let ours: Vec<_> =
        words.lines().filter(|line| line.contains("curfew-") || line.contains(&here)).collect();
    assert!(fine && ours.is_empty(), "{words}");
    Ok(())
}

async fn systemd_calls_every_unit_well_enclosed() -> Kept {
    let mut checked = 0;
    for unit in files()?.iter().filter(|path| path.extension().is_some_and(|end| end == "service")) {
        let mut security = Command::new("systemd-analyze");
        security.args(["security", "--offline=true", "--no-pager", "--threshold=20"]).arg(unit);
        let Some((fine, words)) = said(&mut security)? else { return Ok(()) };
        assert!(fine, "{} is more exposed than 2.0 of 10:\n{words}", unit.display());
        checked += 1;
    }
    assert!(checked >= 4, "only {checked} services");
    Ok(())
}

async fn no_unit_loses_what_was_learnt_on_a_booted_machine() -> Kept {
    let (agent, backstop) = ("curfew-agent.service", "curfew-backstop.service");
    for (unit, directive, without) in [
        (agent, "StartLimitIntervalSec=0", "eight kills in a row leave it down for good"),
        (agent, "Restart=always", "a death is final"),
        (agent, "WatchdogSec=60", "a stopped or frozen agent looks alive"),
        (agent, "WatchdogSignal=SIGKILL", "a stopped agent does not take the signal"),
        (agent, "OOMScoreAdjust=-1000", "memory pressure takes the switch first"),
        (agent, "LimitMEMLOCK=infinity", "memory cannot be locked"),
        (agent, "IgnoreOnIsolate=yes", "a fall into rescue mode ends it"),
        (backstop, "TimeoutStartSec=50", "one check that hangs ends the backstop"),
        (backstop, "TimeoutStartFailureMode=kill", "a stopped check outlives its time by another"),
        ("curfew-backstop.timer", "OnCalendar=minutely", "a suspend delays it"),
        ("curfew-backstop.timer", "OnUnitActiveSec=60", "a clock set back delays it"),
        ("curfew-backstop.timer", "AccuracySec=1s", "a minute is up to two"),
        ("curfew-armed.service", "RemainAfterExit=yes", "a kubelet restarted in mid-lease waits anew"),
        ("curfew-armed.service", "TimeoutStartSec=infinity", "it gives up"),
        ("no-watchdog-no-join.conf", "Requires=curfew-armed.service", "the kubelet does not care"),
        ("no-watchdog-no-join.conf", "After=curfew-armed.service", "the kubelet does not wait"),
        (
            "token-as-credential.conf",
            "SetCredential=curfew.token:\\n",
            "a missing source prevents the start, and so does an empty default",
        ),
        ("curfew-sweep.service", "TimeoutStartSec=240", "one sweep that hangs ends the sweeper"),
        ("curfew-sweep.service", "LoadCredential=curfew.token:/etc/curfew/token", "it has no token"),
        ("curfew-sweep.timer", "OnCalendar=*:0/5", "a suspend delays it"),
        ("curfew-sweep.timer", "OnUnitActiveSec=300", "a clock set back delays it"),
        ("curfew-metadata-guard.service", "RemainAfterExit=yes", "the rules go again at once"),
    ] {
        assert!(lines(unit)?.iter().any(|line| line == directive), "{unit} without {directive}: {without}");
    }
    for unit in [agent, backstop] {
        let lines = lines(unit)?;
        let has = |part: &str| lines.iter().any(|line| line.contains(part));
        assert!(has("AF_NETLINK"), "{unit}: its own addresses cannot be read, metadata proves nothing");
        assert!(has("SystemCallErrorNumber=EPERM"), "{unit}: a system call that nobody thought of kills it");
        for fatal in ["StateDirectory=", "PrivateDevices=yes", "RuntimeDirectory=", "ProcSubset=pid"] {
            assert!(
                !has(fatal),
                "{unit} with {fatal}: it does not start on a full disk, or cannot tell its boot"
            );
        }
    }
    Ok(())
}

async fn the_readme_of_the_units_names_every_file() -> Kept {
    let readme = fs::read_to_string(root().join("systemd/README.md"))?;
    for file in files()? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        assert!(readme.contains(&format!("`{name}`")), "systemd/README.md does not tell of {name}");
    }
    Ok(())
}

/// The units that a drop-in is for.
fn drop_in_of(name: &str) -> &'static [&'static str] {
    match name {
        "no-watchdog-no-join.conf" => &[
            "kubelet.service",
            "k3s.service",
            "k3s-agent.service",
            "rke2-server.service",
            "rke2-agent.service",
        ],
        "token-as-credential.conf" => &["curfew-agent.service", "curfew-backstop.service"],
        _ => &[],
    }
}

/// Everything in `systemd/` that goes onto a machine.
fn files() -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("systemd"))? {
        files.push(entry?.path());
    }
    files.retain(|path| path.extension().is_some_and(|end| end != "md"));
    files.sort();
    Ok(files)
}

/// What a unit says, without its comments.
fn lines(unit: &str) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(root().join("systemd").join(unit))?;
    Ok(text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect())
}

/// Whether it succeeded, and what it said; none where there is no systemd, which is said loudly.
fn said(command: &mut Command) -> io::Result<Option<(bool, String)>> {
    match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            eprintln!("NOT CHECKED: there is no systemd-analyze on this machine");
            Ok(None)
        }
        output => output.map(|output| {
            let words = [output.stdout, output.stderr].concat();
            Some((output.status.success(), String::from_utf8_lossy(&words).into_owned()))
        }),
    }
}
