//! The rows that take a real machine: what is broken, and what is then measured.

mod bootstrap;
mod containers;
mod f1;
mod f3;
mod f5;
mod f6;
mod f7;
mod f8;
mod first_boot;
mod guard;
mod join;
mod play;
mod stage;
mod verify;
mod virtual_machine;

use std::pin::Pin;

use curfew_sandbox::scenario;

use crate::{bed::BedError, document::DocumentError, evidence::Verdict, vm::Rtc, world::WorldError};
pub(crate) use play::play_all;
use stage::Stage;
use virtual_machine::ApiServer;

/// A row.
#[derive(Debug)]
pub(crate) struct Row {
    /// As the failure matrix names it. Ending in `-seen`: nothing is deleted, and the time is until it is shown.
    pub(crate) name: &'static str,
    /// What is broken.
    pub(crate) broken: &'static str,
    /// Whether it takes a kernel of the machine's own.
    pub(crate) is_virtual: bool,
    play: Play,
}

/// Why a row could not be played.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RowError {
    #[error("the machine failed")]
    Bed(#[from] BedError),
    #[error("the world outside the machine failed")]
    World(#[from] WorldError),
    #[error("there is no document for the machine")]
    Document(#[from] DocumentError),
    #[error("the witnesses disagree: {holder} deleted by the cloud's ledger, on the console: {verdict:?}")]
    Witnesses { holder: String, verdict: Verdict },
    #[error("there is no deadline on the Node")]
    NoDeadline,
    #[error("the machine did not say `{0}`")]
    Unsaid(&'static str),
    #[error("{0}")]
    Unexpected(String),
}

type Played = Result<scenario::Row, RowError>;
type Play = for<'a> fn(&'a Stage) -> Playing<'a>;
type Playing<'a> = Pin<Box<dyn Future<Output = Played> + Send + 'a>>;

/// All of them, the longest first: started in this order they end at about the same time.
pub(crate) static ROWS: &[Row] = &[
    vm("F7-pause", "paused by the hypervisor past the deadline", |stage| {
        Box::pin(f7::paused(stage, ApiServer::Up))
    }),
    vm("F5-backstop", "agent stopped, the wall clock set back by three hours", |stage| {
        Box::pin(f5::without_agent(stage))
    }),
    vm("F6-reboot", "rebooted in mid-lease, the API server gone", |stage| {
        Box::pin(f6::play(stage, f6::End::Reboot))
    }),
    vm("F6-reset", "reset in mid-lease, past the deadline, the API server gone", |stage| {
        Box::pin(f6::play(stage, f6::End::Reset))
    }),
    vm("F7-suspend", "suspended to RAM past the deadline", |stage| Box::pin(f7::suspended(stage))),
    vm("F7-backstop", "agent stopped, suspended to RAM past the deadline", |stage| {
        Box::pin(f7::suspended_without_agent(stage))
    }),
    vm("F7-pause-cut", "paused by the hypervisor past the deadline, the API server gone", |stage| {
        Box::pin(f7::paused(stage, ApiServer::Hangs))
    }),
    vm("boot-1970", "first boot with a real-time clock that says 1970", |stage| {
        Box::pin(first_boot::play(stage, Rtc::Dead))
    }),
    vm("boot-local-time", "first boot with a real-time clock three hours ahead", |stage| {
        Box::pin(first_boot::play(stage, Rtc::LocalTime))
    }),
    vm("F5-back", "the wall clock set back by three hours", |stage| {
        Box::pin(f5::play(stage, f5::Step::Back, ApiServer::Hangs))
    }),
    vm("F5-1970", "the wall clock set to 1970", |stage| {
        Box::pin(f5::play(stage, f5::Step::Epoch, ApiServer::Closed))
    }),
    vm("F5-ahead", "the wall clock set ahead by three hours", |stage| {
        Box::pin(f5::play(stage, f5::Step::Ahead, ApiServer::Hangs))
    }),
    row("F3-hung", "controller killed, agent stopped, and a check that hangs", |stage| {
        Box::pin(f3::play(stage, &f3::HUNG))
    }),
    row("F8-full", "/var full, the agent restarted; later the controller killed", |stage| {
        Box::pin(f8::play(stage, &f8::FULL))
    }),
    row("F8-read-only", "/var read-only, the agent restarted; later the controller killed", |stage| {
        Box::pin(f8::play(stage, &f8::READ_ONLY))
    }),
    row("F8-nowhere", "no ledger can be written at all; later the controller killed", |stage| {
        Box::pin(f8::play(stage, &f8::NOWHERE))
    }),
    row("F3-stopped", "controller killed, systemctl stop curfew-agent", |stage| {
        Box::pin(f3::play(stage, &f3::STOPPED))
    }),
    row("F3-masked", "controller killed, agent masked and killed", |stage| {
        Box::pin(f3::play(stage, &f3::MASKED))
    }),
    row("F3-frozen", "controller killed, systemctl freeze curfew-agent", |stage| {
        Box::pin(f3::play(stage, &f3::FROZEN))
    }),
    row("F3-sigstop", "controller killed, agent stopped by SIGSTOP", |stage| {
        Box::pin(f3::play(stage, &f3::SIGSTOP))
    }),
    row("F2-killed", "controller killed, kill -9 of the agent: systemd restarts it", |stage| {
        Box::pin(f3::play(stage, &f3::KILLED))
    }),
    row("F1", "the controller killed", |stage| Box::pin(f1::play(stage))),
    row("fetch-hangs-seen", "dead sources, one that hangs, then a good one", |stage| {
        Box::pin(bootstrap::arms(stage, &bootstrap::DEAD_SOURCES))
    }),
    row("fetch-curl-seen", "no wget", |stage| Box::pin(bootstrap::arms(stage, &bootstrap::CURL))),
    row("fetch-wget-seen", "no curl", |stage| Box::pin(bootstrap::arms(stage, &bootstrap::WGET))),
    row("fetch-python3-seen", "no curl, no wget", |stage| {
        Box::pin(bootstrap::arms(stage, &bootstrap::PYTHON3))
    }),
    row("fetch-wrong-then-good-seen", "the first source has other bytes", |stage| {
        Box::pin(bootstrap::arms(stage, &bootstrap::WRONG_FIRST))
    }),
    row("fetch-wrong-seen", "every source has other bytes: loudly not armed", |stage| {
        Box::pin(bootstrap::is_loud(stage))
    }),
    row("bootstrap-killed-seen", "the script killed half-way, twice, and run again", |stage| {
        Box::pin(bootstrap::resumes(stage))
    }),
    row("join-held-seen", "no token yet: no watchdog, no join", |stage| Box::pin(join::play(stage))),
    row("guard-seen", "a pod asks for the machine's metadata", |stage| Box::pin(guard::play(stage))),
    row("verify-seen", "an image taken from a machine in use", |stage| Box::pin(verify::play(stage))),
];

/// A row of containers.
const fn row(name: &'static str, broken: &'static str, play: Play) -> Row {
    Row { name, broken, is_virtual: false, play }
}

/// A row of virtual machines.
const fn vm(name: &'static str, broken: &'static str, play: Play) -> Row {
    Row { name, broken, is_virtual: true, play }
}
