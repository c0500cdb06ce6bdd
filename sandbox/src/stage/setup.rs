//! What a stage is made of. Holds values only.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use crate::programs::Programs;

/// What to set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The executables.
    pub programs: Programs,
    /// A real API server, by its administrator's kubeconfig. None: the loopback cluster.
    pub kubeconfig: Option<PathBuf>,
    /// How many machines.
    pub machines: usize,
    /// The lease's duration.
    pub lease: Duration,
    /// `renewInterval` and `slack`.
    pub watchdog: (Duration, Duration),
    /// Whether a controller is started.
    pub controller: bool,
    /// Between two runs of each machine's backstop.
    pub check_every: Duration,
    /// Between two heartbeats of each machine.
    pub heartbeat: Duration,
    /// What the lease is called, and with a number the machines.
    pub name: String,
    /// Whether the lease rents its machines, or finds them rented.
    pub rents: bool,
}

impl Setup {
    /// One machine, and the shortest renewals there are.
    #[must_use]
    pub fn new(programs: Programs, lease: Duration) -> Self {
        let watchdog = (Duration::from_secs(10), Duration::from_secs(11));
        let (check_every, heartbeat) = (Duration::from_secs(5), Duration::from_secs(1));
        let name = unique("stage");
        Self {
            programs,
            kubeconfig: None,
            machines: 1,
            lease,
            watchdog,
            controller: true,
            check_every,
            heartbeat,
            name,
            rents: false,
        }
    }
}

/// A name that no other stage of this or another process uses.
fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("{prefix}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
