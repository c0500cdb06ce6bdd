//! A machine as a container: its own systemd as process 1, its own cloud-init, network and process namespace, and the
//! kernel, clock and firmware of the machine this runs on.
//!
//! Its root is the image's tree under an overlay in memory: nothing is ever written to the image.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    bed::{Bed, BedError, Output, Spec},
    console::Console,
    enclosure::{self, BRIDGE},
};

/// What an image is changed by for one machine.
pub(crate) type Change = fn(&Path) -> io::Result<()>;

/// A running container.
pub(crate) struct Container {
    name: String,
    group: PathBuf,
    root: PathBuf,
    console: Console,
    /// Process 1 of the container, as it is called outside.
    leader: u32,
    /// `None` once it has been killed and reaped.
    supervisor: Mutex<Option<Child>>,
}

impl Container {
    /// Boots it from the image's `tree`, its files below `dir`. Returns when its process 1 runs. `change`: of its root
    /// directory, before.
    pub(crate) async fn boot(spec: &Spec, tree: &Path, dir: &Path, change: Change) -> Result<Self, BedError> {
        let (spec, tree, dir) = (spec.clone(), tree.to_owned(), dir.join(&spec.name));
        let name = spec.name.clone();
        let booted = tokio::task::spawn_blocking(move || Self::start(&spec, &tree, &dir, change)).await;
        booted.unwrap_or_else(|error| Err(error.into())).map_err(|source| BedError::Boot { name, source })
    }

    fn start(spec: &Spec, tree: &Path, dir: &Path, change: Change) -> io::Result<Self> {
        let root = overlay(tree, dir)?;
        change(&root)?;
        furnish(spec, &root)?;
        let group = enclosure::groups().join(&spec.name);
        fs::create_dir(&group)?;
        // Every process of the machine is born within its group, the supervisor first, so that none survives it.
        let mut supervisor = Command::new("sh")
            .args(["-c", "echo $$ >\"$0/cgroup.procs\" && exec systemd-nspawn \"$@\" 2>&1"])
            .arg(&group)
            .args(["--quiet", "--boot", "--register=no", "--keep-unit", "--console=read-only"])
            // As root has them on a machine of its own.
            .arg("--capability=CAP_IPC_LOCK,CAP_SYS_RESOURCE")
            .args(["--network-bridge", BRIDGE, "--machine", &spec.name, "--directory"])
            .arg(&root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let said = supervisor.stdout.take().ok_or_else(|| io::Error::other("it has no standard output"))?;
        let console = Console::listen(said);
        let mut container = Self {
            name: spec.name.clone(),
            group,
            root,
            console,
            leader: 0,
            supervisor: Mutex::new(Some(supervisor)),
        };
        container.leader = container.find_leader()?;
        // The supervisor made up the id of a boot. Units with a /proc of their own see the true one, others would see
        // this: two boots, whose clocks could not be compared. The clock is the kernel's, so the id must be.
        let own = [
            "--target",
            &container.leader.to_string(),
            "--mount",
            "--pid",
            "umount",
            "/proc/sys/kernel/random/boot_id",
        ];
        succeed(Command::new("nsenter").args(own))?;
        Ok(container)
    }

    /// Waits for the container's process 1: the supervisor's child.
    fn find_leader(&self) -> io::Result<u32> {
        let payload = |child: &&str| {
            let group = fs::read_to_string(format!("/proc/{child}/cgroup")).unwrap_or_default();
            group.trim_end().ends_with("/payload/init.scope")
        };
        for _ in 0..BOOTS_WITHIN.as_millis() / LOOK.as_millis() {
            let Some(id) = self.supervisor().as_ref().map(Child::id) else { break };
            let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
            let leader = children.split_whitespace().find(payload).and_then(|child| child.parse().ok());
            if let Some(leader) = leader {
                return Ok(leader);
            }
            std::thread::sleep(LOOK);
        }
        Err(io::Error::other(format!("no process 1 came up: {}", self.console.tail(20))))
    }

    fn supervisor(&self) -> MutexGuard<'_, Option<Child>> {
        self.supervisor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its root directory, seen from outside; stays after its end.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

impl Bed for Container {
    fn name(&self) -> &str {
        &self.name
    }

    fn console(&self) -> &Console {
        &self.console
    }

    async fn try_run(&self, command: &str) -> Result<Output, BedError> {
        let mut entered = tokio::process::Command::new("nsenter");
        entered
            .args(["--target", &self.leader.to_string()])
            .args(["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--"])
            .args(["/bin/sh", "-c", &format!("exec 2>&1; {command}")])
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = entered.output().await.map_err(|source| BedError::Run {
            name: self.name.clone(),
            command: command.to_owned(),
            source,
        })?;
        let text = [output.stdout, output.stderr].concat();
        Ok(Output {
            code: output.status.code().unwrap_or(-1),
            text: String::from_utf8_lossy(&text).trim_end().to_owned(),
        })
    }

    fn kill(&self) {
        if let Some(mut child) = self.supervisor().take() {
            if let Err(error) = enclosure::end_group(&self.group) {
                eprintln!("{}: cannot be killed: {error}", self.name);
            }
            // It fails only if it was reaped before.
            drop(child.wait());
        }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.kill();
        // Else its files could not be removed.
        drop(Command::new("umount").args(["--lazy", "--recursive"]).arg(&self.root).status());
    }
}

/// The image's tree with a layer in memory over it.
fn overlay(tree: &Path, dir: &Path) -> io::Result<PathBuf> {
    let [upper, work, root] = ["upper", "work", "root"].map(|part| dir.join(part));
    for part in [&upper, &work, &root] {
        fs::create_dir_all(part)?;
    }
    let layers =
        format!("lowerdir={},upperdir={},workdir={}", tree.display(), upper.display(), work.display());
    succeed(Command::new("mount").args(["-t", "overlay", "none", "-o", &layers]).arg(&root))?;
    Ok(root)
}

/// What a hypervisor would provide: a data source for cloud-init, and an address.
fn furnish(spec: &Spec, root: &Path) -> io::Result<()> {
    let Spec { name, address, user_data } = spec;
    let [a, b, c, d] = enclosure::OUTSIDE;
    for (path, text) in [
        ("etc/machine-id", ""),
        ("var/lib/cloud/seed/nocloud/user-data", user_data),
        ("var/lib/cloud/seed/nocloud/meta-data", &format!("instance-id: {name}\nlocal-hostname: {name}\n")),
        // Without it cloud-init looks elsewhere, for ten seconds.
        ("var/lib/cloud/seed/nocloud/vendor-data", "#cloud-config\n{}\n"),
        (
            "etc/cloud/cloud.cfg.d/99-container.cfg",
            "datasource_list: [NoCloud]\nnetwork: {config: disabled}\n",
        ),
        (
            "etc/systemd/network/10-host0.network",
            &format!(
                "[Match]\nName=host0\n[Network]\nAddress={address}/24\nGateway={a}.{b}.{c}.{d}\n\
                 LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
            ),
        ),
    ] {
        let path = root.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    Ok(())
}

pub(crate) fn succeed(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

const BOOTS_WITHIN: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);
