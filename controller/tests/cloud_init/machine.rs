//! A machine to try the script on: a root directory with the tools it is to have, a `systemctl` that only takes notes, and
//! a mount namespace around each run. The script runs as it is shipped, with no option for the test's sake.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use curfew_controller::cloud_init::{Document, Options, render};
use tempfile::TempDir;
use yaml_rust2::{Yaml, YamlLoader};

use crate::not_checked;

/// What any machine has.
const BASICS: &str = "sh cat cp mv rm ls mkdir chmod sync cmp find sed df date sleep head tail wc env kill touch sha256sum \
                      grep ln id ip uname flock true false basename dirname";

pub(crate) struct Machine {
    dir: TempDir,
    /// Shell, in the namespace before the run: mounts that make something read-only or full.
    pub(crate) before: String,
}

/// What a run came to.
pub(crate) struct Run {
    pub(crate) succeeded: bool,
    pub(crate) said: String,
}

impl Machine {
    /// With the basics and `tools`. `None`, and said so, where this machine has not what it takes.
    pub(crate) fn with(tools: &str) -> Option<Self> {
        if !namespaced("true").status().is_ok_and(|status| status.success()) {
            not_checked("this machine allows no mount namespace");
            return None;
        }
        let machine = Self { dir: TempDir::new().unwrap(), before: String::new() };
        for dir in [
            "host/bin",
            "host/sbin",
            "usr/bin",
            "usr/lib",
            "usr/lib64",
            "usr/local/bin",
            "proc",
            "dev",
            "run",
            "tmp",
            "seen",
            "etc/systemd/system",
            "var/lib",
        ] {
            fs::create_dir_all(machine.path(dir)).unwrap();
        }
        for (link, target) in
            [("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64"), ("sbin", "usr/bin")]
        {
            symlink(target, machine.path(link)).unwrap();
        }
        for device in ["null", "full", "urandom", "console"] {
            machine.write(&format!("dev/{device}"), "", 0o600);
        }
        machine.write(
            "etc/passwd",
            "root:x:0:0::/root:/bin/sh\n_apt:x:0:0::/nonexistent:/bin/false\n",
            0o644,
        );
        let mut wanted = BASICS.split_whitespace().chain(tools.split_whitespace());
        if !wanted.all(|tool| machine.give(tool)) {
            return None;
        }
        machine.write("usr/bin/systemctl", SYSTEMCTL, 0o755);
        Some(machine)
    }

    /// Whether there is such a tool to be given.
    fn give(&self, tool: &str) -> bool {
        let host =
            ["/usr/bin", "/usr/sbin"].iter().map(|dir| Path::new(dir).join(tool)).find(|path| path.exists());
        // A chain of links is followed here: below the root it would lead nowhere.
        let real = host.and_then(|path| fs::canonicalize(path).ok());
        let Some(below) = real.as_deref().and_then(|path| path.strip_prefix("/usr").ok()) else {
            not_checked(&format!("this machine has no {tool} of its own"));
            return false;
        };
        symlink(Path::new("/host").join(below), self.path("usr/bin").join(tool)).unwrap();
        true
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    pub(crate) fn write(&self, path: &str, content: &str, mode: u32) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Does what cloud-init does with `write_files`.
    pub(crate) fn take(&self, options: &Options) -> Document {
        let document = render(options).unwrap();
        let yaml = YamlLoader::load_from_str(&document.text).unwrap().remove(0);
        for file in yaml["write_files"].as_vec().unwrap() {
            let text = |key: &str| file[key].as_str().unwrap().to_owned();
            assert_eq!(file["encoding"], Yaml::BadValue, "these tests have no file that is not text");
            let mode = u32::from_str_radix(&text("permissions"), 8).unwrap();
            self.write(text("path").trim_start_matches('/'), &text("content"), mode);
        }
        document
    }

    /// What cloud-init runs early in each boot.
    pub(crate) fn boot(&self, document: &Document) {
        let yaml = YamlLoader::load_from_str(&document.text).unwrap().remove(0);
        self.write("tmp/bootcmd", yaml["bootcmd"][0].as_str().unwrap(), 0o600);
        let output = self.start_with("/tmp/bootcmd").wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn start(&self, how: &str) -> Child {
        self.start_with(&format!("/var/lib/curfew/bootstrap/run {how}"))
    }

    /// What cloud-init's last stage starts, with its environment: no HOME, and a PATH that must not count.
    fn start_with(&self, script: &str) -> Child {
        let root = self.dir.path().display();
        let in_namespace = format!(
            "set -e; cd {root}; mount --bind {root} {root}; cd {root}
             for dir in bin sbin; do mount --bind /usr/$dir host/$dir; done
             for dir in lib lib64; do [ ! -d /usr/$dir ] || mount --rbind /usr/$dir usr/$dir; done
             mount --rbind /proc proc
             for device in null full urandom; do mount --bind /dev/$device dev/$device; done
             {}
             exec chroot . /bin/sh {script}",
            self.before
        );
        let mut command = namespaced(&in_namespace);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        command.env_clear().env("PATH", "/nowhere").spawn().unwrap()
    }

    pub(crate) fn run(&self) -> Run {
        let Output { status, stdout, stderr } = self.start("").wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
        Run { succeeded: status.success(), said }
    }

    /// The log's lines without their times.
    pub(crate) fn log(&self) -> String {
        let log = self.read("var/lib/curfew/bootstrap/log");
        log.lines()
            .map(|line| line.split_once(' ').map_or(line, |(_, rest)| rest).to_owned() + "\n")
            .collect()
    }

    /// Every file but the log and what is live: its path, mode, identity, time of change and content.
    pub(crate) fn state(&self, exactly: bool) -> Vec<String> {
        let mut command = Command::new("/usr/bin/find");
        command.current_dir(self.dir.path());
        command.args(["etc", "usr/local", "opt", "var", "run/systemd", "-type", "f"]);
        command.args(["!", "-path", "*/bootstrap/log", "-printf"]);
        command.arg(if exactly { "%p %m %i %T@ \n" } else { "%p %m\n" });
        let found = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let with_content = |line: &str| {
            let path = line.split(' ').next().unwrap_or_default();
            format!("{line} {:?}", fs::read(self.path(path)).unwrap_or_default())
        };
        let mut files: Vec<_> = found.lines().map(with_content).collect();
        files.sort();
        files
    }
}

fn namespaced(script: &str) -> Command {
    let mut command = Command::new("/usr/bin/unshare");
    if !nix::unistd::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "--propagation", "private", "/bin/sh", "-c"]);
    command.arg(format!("PATH=/usr/sbin:/usr/bin:/sbin:/bin; {script}"));
    command
}

/// Notes every call; a unit is active once it was started, unless /seen/fails-NAME is there; /seen/kill-NAME kills the run.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >>/seen/systemctl
verb=
for word in "$@"; do
  case $word in -*) continue ;; esac
  if [ -z "$verb" ]; then verb=$word; set -- ; continue; fi
  case $verb in
  start | restart) if [ -e "/seen/hangs-$word" ]; then sleep 60; fi
    if [ -e "/seen/fails-$word" ]; then rm -f "/seen/active-$word"; exit 1; fi; : >"/seen/active-$word" ;;
  enable) if [ -e /seen/fails-enable ]; then exit 1; fi; : >"/seen/enabled-$word" ;;
  is-active) [ -e "/seen/active-$word" ] || exit 3 ;;
  is-enabled) [ -e "/seen/enabled-$word" ] || exit 1 ;;
  cat) [ -e "/etc/systemd/system/$word" ] || exit 1 ;;
  esac
done
"#;
