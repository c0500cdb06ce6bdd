//! A machine as a virtual machine: its own kernel, clocks, firmware and boot. For what only these show; everything else
//! is played in a container, which is up ten times sooner.
//!
//! Its firmware says which of the provider's servers it is, its address comes by DHCP, and cloud-init finds its document
//! at the provider's metadata service, as on a machine that was rented.

mod guest;
mod hardware;
mod network;
mod qmp;

use std::{
    fs, io,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::{
    bed::{Bed, BedError, Output, Spec},
    console::Console,
    site::Site,
};
use guest::{Done, Guest, GuestError};
use hardware::{GUEST, Hardware, MONITOR};
use qmp::{Command as Hand, Event, Qmp, QmpError};

pub(crate) use hardware::Rtc;
pub(crate) use network::Network;

/// A running virtual machine.
pub(crate) struct Vm {
    name: String,
    console: Console,
    monitor: Qmp,
    guest: Guest,
    /// `None` once it has been killed and reaped.
    hypervisor: Mutex<Option<Child>>,
}

impl Vm {
    /// Switches it on: `server` is its id at the provider. Returns when its own root channel answers, long before
    /// cloud-init is done.
    pub(crate) async fn boot(spec: &Spec, server: u64, rtc: Rtc, site: &Site) -> Result<Self, BedError> {
        let boot = |source| BedError::Boot { name: spec.name.clone(), source };
        let vm = Self::start(spec, server, rtc, site).await.map_err(boot)?;
        vm.guest.listens(BOOTS_WITHIN).await.map_err(|error| vm.run_failed("boot", error))?;
        Ok(vm)
    }

    async fn start(spec: &Spec, server: u64, rtc: Rtc, site: &Site) -> io::Result<Self> {
        let (name, dir) = (spec.name.clone(), site.dir().join(&spec.name).join("vm"));
        fs::create_dir_all(&dir)?;
        let mac = site.network.plug(&name, spec.address, site.dir())?;
        let hardware =
            Hardware { server, rtc, tap: &name, mac: &mac, image: &site.image.join("vm"), dir: &dir };
        let mut hypervisor = Command::new("qemu-system-x86_64")
            .args(hardware.arguments(crate::clock::now()))
            // The layer that its disk's writes go to.
            .env("TMPDIR", &dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let said = hypervisor.stdout.take().ok_or_else(|| io::Error::other("it has no standard output"))?;
        let console = Console::listen(said);
        let mut unattached = Unattached(Some(hypervisor));
        let monitor = attach(&dir.join(MONITOR)).await?;
        let guest = Guest::connect(&dir.join(GUEST)).await?;
        Ok(Self { name, console, monitor, guest, hypervisor: Mutex::new(unattached.0.take()) })
    }

    /// Presses the reset button, in the middle of whatever it does.
    pub(crate) async fn reset(&self) -> Result<(), BedError> {
        self.hand(Hand::SystemReset).await
    }

    /// Lets it reboot by itself, in good order. Returns when it is down.
    pub(crate) async fn reboot(&self) -> Result<(), BedError> {
        let before = self.monitor.mark();
        self.run("systemctl reboot --no-block").await?;
        self.sees(Event::Reset, before).await
    }

    /// Lets it suspend itself to RAM. Returns when it is.
    pub(crate) async fn suspend(&self) -> Result<(), BedError> {
        let before = self.monitor.mark();
        self.run("systemctl start --no-block suspend.target").await?;
        self.sees(Event::Suspend, before).await
    }

    /// Wakes it up.
    pub(crate) async fn wake(&self) -> Result<(), BedError> {
        let before = self.monitor.mark();
        self.hand(Hand::SystemWakeup).await?;
        self.sees(Event::Wakeup, before).await
    }

    /// Pauses it, as a hypervisor does that migrates it or runs out of room: no clock of its own shows it.
    pub(crate) async fn pause(&self) -> Result<(), BedError> {
        self.hand(Hand::Stop).await
    }

    /// Ends the pause.
    pub(crate) async fn resume(&self) -> Result<(), BedError> {
        self.hand(Hand::Cont).await
    }

    async fn hand(&self, hand: Hand) -> Result<(), BedError> {
        self.monitor.execute(hand).await.map_err(|error| self.monitor_failed(error))
    }

    async fn sees(&self, event: Event, after: qmp::Mark) -> Result<(), BedError> {
        self.monitor.sees(event, after, OBEYS_WITHIN).await.map_err(|error| self.monitor_failed(error))
    }

    fn monitor_failed(&self, error: QmpError) -> BedError {
        BedError::Boot { name: self.name.clone(), source: io::Error::other(error) }
    }

    fn run_failed(&self, command: &str, error: GuestError) -> BedError {
        BedError::Run {
            name: self.name.clone(),
            command: command.to_owned(),
            source: io::Error::other(error),
        }
    }
}

impl Bed for Vm {
    fn name(&self) -> &str {
        &self.name
    }

    fn console(&self) -> &Console {
        &self.console
    }

    async fn try_run(&self, command: &str) -> Result<Output, BedError> {
        let done = self.guest.run(command, COMMAND_ENDS_WITHIN).await;
        let Done { status, said } = done.map_err(|error| self.run_failed(command, error))?;
        Ok(Output { code: status, text: said.trim_end().to_owned() })
    }

    fn kill(&self) {
        drop(Unattached(self.hypervisor.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A hypervisor that nobody holds is ended.
struct Unattached(Option<Child>);

impl Drop for Unattached {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // Both fail only if it has ended by itself.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Waits until the monitor listens.
async fn attach(path: &Path) -> io::Result<Qmp> {
    let begun = Instant::now();
    loop {
        match Qmp::connect(path).await {
            Ok(monitor) => return Ok(monitor),
            Err(QmpError::Unreachable(_)) if begun.elapsed() < STARTS_WITHIN => sleep(LOOK).await,
            Err(error) => return Err(io::Error::other(error)),
        }
    }
}

/// The hypervisor's own start.
const STARTS_WITHIN: Duration = Duration::from_secs(10);
/// By emulation on a machine under load.
const BOOTS_WITHIN: Duration = Duration::from_mins(2);
const OBEYS_WITHIN: Duration = Duration::from_mins(1);
const COMMAND_ENDS_WITHIN: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(50);
