//! `run`: the service. Arms first, then finds out everything else, then stays.
//!
//! The order is the point: the lifetime clock runs before any option is parsed, any file is read and any packet is sent.
//! From then on every part retries for ever and reports, and none of them can stop the fuse.

use std::{ffi::OsString, process::ExitCode, sync::Arc};

use curfew_contract::Note;
use nix::sys::mman::{MlockAllFlags, mlockall};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use crate::{
    args::{self, Complaint},
    bootstrap, clocks,
    config::{BUILT_IN_LIFETIME, Config},
    drain::Drainer,
    follow::{self, Follower},
    fuse::{self, ClusterClock, Fuse, FuseHandle, Tell},
    heartbeat::Pulse,
    ledger::{Found, Machine, Restored, Scribe},
    net::BestTime,
    notify,
    parts::Parts,
    standing::{self, Standing},
    time::Reading,
};

/// Runs until the machine is gone or the service is stopped.
pub fn run(args: &[OsString]) -> ExitCode {
    let best_time = Arc::new(BestTime::new());
    let fuse = match fuse::light(clocks::read().boot.plus(BUILT_IN_LIFETIME), Arc::clone(&best_time)) {
        Ok(fuse) => fuse,
        Err(error) => {
            // Nothing is armed. The service manager starts us again, and the backstop still stands.
            tracing::error!(%error, "the fuse cannot be lit: no thread or timer can be had");
            return ExitCode::FAILURE;
        }
    };
    notify::ready();
    let (options, mut complaints) = args::lenient(args);
    let (config, more) = Config::from_options(&options);
    complaints.extend(more);
    let notes = notes(complaints);
    let parts = Parts::new(&config, best_time);
    // Before any disk is read: from here on the machine is deleted when its lifetime ends, whatever hangs.
    fuse.tell(Tell::Equip(Box::new(parts.weapon(config.observe))));
    fuse.tell(Tell::Machine(parts.machine()));
    fuse.tell(Tell::Restore(Box::new(first_arming(&config, clocks::read()))));
    let (machine, notes) = take_up(&config, &parts, &fuse, notes);
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(stay(&config, &parts, &fuse, machine, notes)),
        Err(error) => {
            tracing::error!(%error, "nothing can be reported or renewed; the fuse burns on");
            loop {
                std::thread::park();
            }
        }
    }
}

fn notes(complaints: Vec<Complaint>) -> Vec<Note> {
    let mut notes = Vec::new();
    for complaint in complaints {
        tracing::error!(complaint, "an option is wrong; the built-in value is in force");
        notes = vec![Note::ConfigInvalid];
    }
    // On fault only: what is never touched is never read in, and memory stays small.
    let on_fault = MlockAllFlags::from_bits_retain(libc::MCL_ONFAULT);
    if let Err(error) = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE | on_fault) {
        tracing::warn!(%error, "memory cannot be locked; under memory pressure firing may be slow");
        notes.push(Note::MemoryNotLocked);
    }
    notes
}

/// Takes up the fuse where an earlier run or boot left it.
fn take_up(config: &Config, parts: &Parts, fuse: &FuseHandle, mut notes: Vec<Note>) -> (Machine, Vec<Note>) {
    let now = parts.machine();
    let Found { record, torn, alien } = parts.ledger.read(&now);
    notes.extend(torn.then_some(Note::LedgerTorn));
    notes.extend(alien.then_some(Note::LedgerAlien));
    let boot_id = clocks::boot_id();
    let scribe = Scribe::start(&parts.ledger, record.as_ref().map_or(0, |record| record.seq));
    let machine = match record {
        Some(record) => {
            let restored = record.restore(config.max_lifetime, boot_id.as_deref(), clocks::read());
            fuse.tell(Tell::Restore(Box::new(restored)));
            record.machine_now(now, boot_id.as_deref())
        }
        None => now,
    };
    fuse.tell(Tell::Machine(machine.clone()));
    fuse.tell(Tell::Remember { boot_id, scribe });
    (machine, notes)
}

fn first_arming(config: &Config, now: Reading) -> Restored {
    let max_lifetime = config.max_lifetime.unwrap_or(BUILT_IN_LIFETIME);
    let mut fuse = Fuse::lit(now.boot.plus(max_lifetime), now.suspended);
    fuse.hold_until = Some(now.boot.plus(config.first_hold));
    Restored { fuse, clock: ClusterClock::guessing(None), born: None, max_lifetime }
}

async fn stay(
    config: &Config,
    parts: &Parts,
    fuse: &FuseHandle,
    machine: Machine,
    notes: Vec<Note>,
) -> ExitCode {
    let known = Standing { server: machine.server.clone(), ..Standing::default() };
    let (standing, watching) = watch::channel(known);
    let follower = Follower::new(fuse.clone(), watching.clone());
    let prober = parts.prober();
    let drainer = Drainer::new(fuse, &follower, config.observe);
    let pulse = Pulse {
        config,
        fuse,
        standing: watching,
        follower: &follower,
        draining: drainer.draining(),
        notes,
        boot_id: clocks::boot_id(),
        bootstrap: bootstrap::Watch::start(&config.state_dir, config.heartbeat.wait()),
        parts,
    };
    let in_the_cluster = async {
        let api = follow::api(config, parts).await;
        let node = follow::name(config, &api).await;
        tracing::info!(%node, "this machine's Node is known");
        tokio::join!(
            follower.follow(&api, &node),
            follower.confirm(&api, &node),
            pulse.run(&api, &node),
            drainer.run(&api, &node),
            async {
                follower.cordon_when_firing(&api, &node).await;
            }
        );
    };
    tokio::select! {
        () = standing::keep(&prober, config.probe, machine, fuse, &standing) => {}
        () = in_the_cluster => {}
        () = pulse.tell_the_machine() => {}
        () = terminated() => {}
    }
    tracing::info!("stopped: from here on only the backstop watches this machine");
    ExitCode::SUCCESS
}

async fn terminated() {
    match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        }
        // Without handlers the signals end the process all the same.
        _ => std::future::pending().await,
    }
}
