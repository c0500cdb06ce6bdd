//! The shape of every loop here: look at the whole world, decide, do each thing in a task of its own.
//!
//! A pass takes no hint of what changed. One job that hangs or fails holds up no other: it has a time-out, it is
//! retried on its own, and while it runs the passes go on.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::SignedDuration;
use tokio::{task::JoinSet, time};

use crate::{
    clock::{Reading, Uptime},
    observe::World,
    shared::Shared,
};

/// What a pass found to do.
#[derive(Debug)]
pub(crate) struct Plan<J> {
    /// By the key under which a job is never run twice at once.
    pub(crate) jobs: Vec<(String, J)>,
    /// When to look again although nothing happened.
    pub(crate) wake: Option<Uptime>,
}

impl<J> Plan<J> {
    pub(crate) const fn empty() -> Self {
        Self { jobs: Vec::new(), wake: None }
    }

    pub(crate) fn wake_at(&mut self, at: Option<Uptime>) {
        self.wake = [self.wake, at].into_iter().flatten().min();
    }
}

/// Passes, for ever. `act` returns whether the job was done; a job that was not is tried again, later each time.
pub(crate) async fn drive<J, F>(
    shared: Arc<Shared>,
    plan: impl Fn(&World, Reading) -> Plan<J>,
    act: impl Fn(J) -> F,
) where
    F: Future<Output = bool> + Send + 'static,
{
    let mut bell = shared.bell();
    let mut tries = Tries::default();
    let mut tasks: JoinSet<(String, bool)> = JoinSet::new();
    loop {
        bell.mark_unchanged();
        let (mut plan, up) = shared.with(|world, reading| (plan(world, reading), reading.up));
        tries.put_in_turn(&mut plan.jobs);
        for (key, job) in plan.jobs.drain(..) {
            let next = tries.0.get(&key).copied().unwrap_or_default();
            if tasks.len() >= AT_ONCE || next.running {
                continue;
            }
            if next.not_before > up {
                plan.wake = [plan.wake, Some(next.not_before)].into_iter().flatten().min();
                continue;
            }
            tries.begin(&key);
            let job = act(job);
            tasks.spawn(async move { (key, job.await) });
        }
        let wake =
            plan.wake.map_or(IDLE, |at| at.since(up).max(SignedDuration::ZERO).unsigned_abs().min(IDLE));
        tokio::select! {
            () = time::sleep(wake) => {}
            _ = bell.changed() => time::sleep(GATHER).await,
            // All that ended are taken at once: a pass for each would take longer than the jobs, where there are many.
            Some(first) = tasks.join_next() => {
                let mut ended = Some(first);
                while let Some(done) = ended {
                    if let Ok((key, done)) = done {
                        tries.end(&key, done, shared.clock.read().up);
                    }
                    ended = tasks.try_join_next();
                }
            },
        }
    }
}

/// When each job may be tried next.
#[derive(Debug, Default)]
struct Tries(BTreeMap<String, Try>);

#[derive(Clone, Copy, Debug, Default)]
struct Try {
    running: bool,
    failed: u32,
    not_before: Uptime,
}

impl Tries {
    /// Those that fail have their turn last: where one provider hangs, machines of another must not wait for it.
    fn put_in_turn<J>(&self, jobs: &mut [(String, J)]) {
        jobs.sort_by_key(|(key, _)| self.0.get(key).map_or(0, |entry| entry.failed));
    }

    fn begin(&mut self, key: &str) {
        self.0.entry(key.into()).or_default().running = true;
    }

    fn end(&mut self, key: &str, done: bool, up: Uptime) {
        self.0.retain(|_, entry| entry.running || up.since(entry.not_before) < FORGOTTEN_AFTER);
        let entry = self.0.entry(key.into()).or_default();
        entry.failed = if done { 0 } else { entry.failed.saturating_add(1) };
        let pause = FIRST_PAUSE.saturating_mul(1 << entry.failed.saturating_sub(1).min(4)).min(LAST_PAUSE);
        (entry.running, entry.not_before) = (false, up.after(pause));
    }
}

/// Jobs of one kind in flight. Each lasts at most one time-out.
const AT_ONCE: usize = 128;
/// Events that come together are looked at together.
const GATHER: Duration = Duration::from_millis(50);
/// A pass at least this often: timers stand still while the machine is suspended.
const IDLE: Duration = Duration::from_secs(15);
/// Also after success: until then the watch has brought back what was written.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_millis(500);
const LAST_PAUSE: SignedDuration = SignedDuration::from_secs(8);
const FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_mins(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_fails_is_tried_again_later_each_time_but_never_given_up() {
        let mut tries = Tries::default();
        let mut pauses = Vec::new();
        for _ in 0..7 {
            tries.begin("a");
            assert!(tries.0["a"].running);
            tries.end("a", false, Uptime::default());
            pauses.push(tries.0["a"].not_before.0.as_millis());
        }
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
    }

    #[test]
    fn jobs_that_fail_have_their_turn_after_all_others() {
        let mut tries = Tries::default();
        for (key, failures) in [("a", 3), ("b", 1)] {
            for _ in 0..failures {
                tries.begin(key);
                tries.end(key, false, Uptime::default());
            }
        }
        let mut jobs: Vec<_> = ["a", "b", "c", "d"].map(|key| (key.to_owned(), ())).into();
        tries.put_in_turn(&mut jobs);
        assert_eq!(jobs.iter().map(|(key, ())| key.as_str()).collect::<Vec<_>>(), ["c", "d", "b", "a"]);
    }

    #[tokio::test]
    async fn a_job_that_hangs_delays_no_other() {
        let shared = Arc::new(Shared::new());
        let (done, mut order) = tokio::sync::mpsc::unbounded_channel();
        let plan = |_: &World, _| Plan {
            jobs: ["hangs", "works"].map(|key| (key.to_string(), key)).into(),
            wake: None,
        };
        let act = move |job: &'static str| {
            let done = done.clone();
            async move {
                let sent = done.send(job).is_ok();
                if job == "hangs" {
                    std::future::pending::<()>().await;
                }
                sent
            }
        };
        let running = tokio::spawn(async move { drive(shared, plan, act).await });
        let mut seen = Vec::new();
        while seen.iter().filter(|job| **job == "works").count() < 3 {
            seen.extend(order.recv().await);
        }
        assert_eq!(seen.iter().filter(|job| **job == "hangs").count(), 1, "never twice at once");
        running.abort();
    }
}
