//! `check`: the second layer, an independent one-shot that a timer of PID 1 runs each minute.
//!
//! Own process, own reading of the ledger, own probe of the token; fires if due. It shares nothing with the daemon but
//! the ledger's files, and leaves its own record, so that the second layer is observed too.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use curfew_contract::Authority;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::{
    clocks,
    config::Config,
    follow,
    fuse::{CONFIRM_WITHIN, Verdict, verdict},
    journal,
    ledger::{Machine, Record, Restored, Scribe},
    net::BestTime,
    node::ApiError,
    parts::Parts,
    time::{Boot, Span},
};

/// What a check left behind in `/run`, for the heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Left {
    boot_id: Option<String>,
    /// When it ran.
    pub at: Boot,
    /// What its own probe of the token found.
    pub authority: Authority,
    /// When it last probed.
    probed: Option<Boot>,
}

impl Left {
    /// What the last check of this boot left, if one ran.
    #[must_use]
    pub fn read(run_dir: &Path, boot_id: Option<&str>) -> Option<Self> {
        let left: Self = serde_json::from_slice(&fs::read(path(run_dir)).ok()?).ok()?;
        (left.boot_id.as_deref() == boot_id).then_some(left)
    }

    fn write(&self, run_dir: &Path) -> io::Result<()> {
        let fresh = run_dir.join("backstop.fresh.json");
        fs::write(&fresh, serde_json::to_vec(self)?)?;
        fs::rename(fresh, path(run_dir))
    }

    /// When the next probe is due. A machine-hour costs the project three calls in all: two of the daemon's, one of
    /// this, which is why this asks half as often.
    fn probe_due(&self, every: Span) -> Boot {
        let wait = if self.authority == Authority::Verified {
            Span::from_millis(every.millis() * 2)
        } else {
            PROBE_AGAIN
        };
        self.probed.map_or(Boot::START, |at| at.plus(wait))
    }
}

/// Looks once. Does not return if the machine is due.
#[must_use]
pub fn check(config: &Config) -> ExitCode {
    let best_time = Arc::new(BestTime::new());
    let parts = Parts::new(config, Arc::clone(&best_time));
    let Some(record) = parts.ledger.read(&parts.machine()).record else {
        tracing::error!(
            "no ledger of this machine: the agent has not armed it, and the backstop has nothing to go by"
        );
        return ExitCode::from(NO_LEDGER);
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "no runtime can be built");
            return ExitCode::FAILURE;
        }
    };
    let boot_id = clocks::boot_id();
    let machine = record.machine_now(parts.machine(), boot_id.as_deref());
    let now = clocks::read();
    let mut state = record.restore(config.max_lifetime, boot_id.as_deref(), now);
    best_time.set(state.clock.offset(now));
    let remembered = state.fuse.deadline.map(|held| held.deadline);
    let due = runtime.block_on(due(config, &parts, &machine, &mut state));
    state.fuse.firing = due.filter(|_| !config.observe);
    let scribe = Scribe::start(&parts.ledger, record.seq);
    let so_far = Record::of(&state, machine.clone(), boot_id.clone(), clocks::read().boot);
    match due {
        Some(cause) if config.observe => {
            tracing::warn!(?cause, "would delete this machine now, but only observes");
        }
        Some(cause) => {
            // So that an agent that is started later resumes the deletion.
            scribe.write_before_firing(so_far);
            parts.weapon(false).fire(cause, &machine, &mut |_| {});
        }
        None => {
            let learnt = state.fuse.deadline.map(|held| held.deadline) != remembered;
            if learnt || record.is_stale(boot_id.as_deref(), now.boot) {
                // The agent is dead: the lifetime that passes without it must still be counted over reboots, and a
                // renewal that only this run has seen must be no news to the next, which would wait for another.
                scribe.write_and_end(so_far);
            }
            runtime.block_on(leave(config, &parts, boot_id));
        }
    }
    ExitCode::SUCCESS
}

/// Whether this machine must be deleted now. Reads the Node before it acts upon a deadline out of the ledger.
async fn due(
    config: &Config,
    parts: &Parts,
    machine: &Machine,
    state: &mut Restored,
) -> Option<curfew_contract::Cause> {
    loop {
        let now = clocks::read();
        state.fuse.observe(&state.clock, now);
        // A renewal that the agent has missed is best learnt before it passes, too: then there is nothing to wait for.
        let by_the_next_run = verdict(&state.fuse, now.boot.plus(NEXT_RUN));
        match (verdict(&state.fuse, now.boot), by_the_next_run) {
            (Verdict::Fire(cause), _) => return Some(cause),
            (Verdict::Confirm, _) | (Verdict::Wait { .. }, Verdict::Confirm) => {
                tracing::warn!(
                    "the deadline in the ledger passes soon or has passed; reading the Node once before acting upon it"
                );
                if timeout(CONFIRM_WITHIN.wait(), confirm(config, parts, machine, state)).await.is_err() {
                    tracing::warn!("the Node cannot be read; the deadline in the ledger stands");
                    state.fuse.confirm(clocks::read().boot);
                }
            }
            (Verdict::Wait { .. }, _) => return None,
        }
    }
}

/// Asks until the API server answers.
async fn confirm(config: &Config, parts: &Parts, machine: &Machine, state: &mut Restored) {
    let api = follow::api(config, parts).await;
    let node = follow::name(config, &api).await;
    let seen = loop {
        match api.read(&node).await {
            Ok(seen) => break seen,
            Err(ApiError::NotFound { .. }) => return state.fuse.confirm(clocks::read().boot),
            Err(error) => tracing::warn!(error = journal::chain(&error), "the deadline cannot be confirmed"),
        }
        tokio::time::sleep(CONFIRM_AGAIN).await;
    };
    if let Some(answered) = seen.answered {
        state.clock.answered(answered, clocks::read());
    }
    let now = clocks::read();
    let own = machine.server.as_deref().unwrap_or_default();
    match follow::deadline(&seen, own, state.clock.wall(now)) {
        Ok(deadline) => state.fuse.learn(deadline, Some(now.boot), &state.clock, now),
        Err(refusal) => {
            tracing::warn!(%refusal, "the deadline on the Node is refused; the one in the ledger stands");
            state.fuse.confirm(now.boot);
        }
    }
}

/// Leaves word that the second layer ran, with its own proof that the token works.
async fn leave(config: &Config, parts: &Parts, boot_id: Option<String>) {
    let now = clocks::read().boot;
    let fresh = Left { boot_id: boot_id.clone(), at: now, authority: Authority::Unverified, probed: None };
    let mut left = Left::read(&config.run_dir, boot_id.as_deref()).unwrap_or(fresh);
    left.at = now;
    if now >= left.probe_due(config.probe) {
        left.probed = Some(now);
        left.authority = probe(parts).await;
    }
    if let Err(error) = left.write(&config.run_dir) {
        tracing::error!(%error, dir = %config.run_dir.display(), "the backstop ran, but cannot leave word of it");
    }
}

async fn probe(parts: &Parts) -> Authority {
    let prober = parts.prober();
    let looked = async { prober.probe(prober.claim().await?).await };
    match looked.await {
        Ok(_) => Authority::Verified,
        Err(error) => {
            tracing::error!(error = journal::chain(&error), "the backstop could not delete this machine");
            error.authority().unwrap_or_default()
        }
    }
}

fn path(run_dir: &Path) -> PathBuf {
    run_dir.join("backstop.json")
}

/// Exit code: the agent has never armed this machine.
const NO_LEDGER: u8 = 3;

/// From one run to the next, and what the timer may be late.
const NEXT_RUN: Span = Span::from_secs(65);

/// Between two probes while they fail.
const PROBE_AGAIN: Span = Span::from_secs(600);

const CONFIRM_AGAIN: Duration = Duration::from_millis(500);
