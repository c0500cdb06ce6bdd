//! The fuse in use: takes what it is told, decides, publishes what it will do, and hands over to the weapon.
//!
//! Called by the fuse's thread only. Everything it starts returns at once, except firing, which never returns.

use std::{mem, sync::Arc};

use curfew_contract::Cause;
use curfew_provider::Outcome;
use tokio::sync::watch;

use super::{CONFIRM_WITHIN, ClusterClock, Fuse, RESPITE, STEP, Tell, Verdict, verdict};
use crate::{
    clocks,
    fire::Weapon,
    ledger::{Machine, Record, Restored, Scribe, spent},
    net::BestTime,
    notify,
    time::{Boot, Offset, Reading, Span, Wall},
};

/// What the fuse will do: computed by its thread, for everyone else to read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent fact that the heartbeat reports")]
pub struct View {
    /// When this was computed.
    pub now: Reading,
    /// The last heartbeat that was answered.
    pub beat: u64,
    /// When the machine will be deleted if nothing changes.
    pub fires: Boot,
    /// By which clock.
    pub cause: Cause,
    /// The deadline in force.
    pub deadline: Option<Wall>,
    /// The deadline was past when it was first learnt.
    pub respite: bool,
    /// A first arming holds the deadline back.
    pub holding: bool,
    /// When the lifetime ends.
    pub lifetime: Boot,
    /// Cluster time less boot time, once authenticated.
    pub cluster: Option<Offset>,
    /// The best guess there is.
    pub best: Offset,
    /// A step of cluster time is being confirmed.
    pub stepping: bool,
    /// The machine's own clock less cluster time.
    pub skew: Option<Span>,
    /// The deadline was read from the Node by this process since the last resume: it is no memory.
    pub confirmed: bool,
    /// The Node should be read at once: the deadline has passed by a memory.
    pub confirming: bool,
    /// The machine is being deleted.
    pub firing: bool,
    /// The ledger refuses to be written.
    pub unwritable: bool,
    /// The server said it may be deleted.
    pub consented: bool,
    /// While being deleted, the provider did not know this server: the token is of another project.
    pub alive_but_not_found: bool,
}

/// The fuse and what it needs to act.
pub(super) struct Burning {
    state: Restored,
    machine: Machine,
    boot_id: Option<String>,
    scribe: Option<Scribe>,
    recorded: Option<(Recorded, Boot)>,
    weapon: Option<Box<Weapon>>,
    would_have_fired: bool,
    created: Option<Wall>,
    alive_but_not_found: bool,
    best_time: Arc<BestTime>,
    beat: u64,
    view: watch::Sender<View>,
}

/// What is worth a new record at once.
type Recorded = (Option<Wall>, Boot, Machine, bool, Option<Wall>);

impl Burning {
    /// A fuse with nothing but a lifetime.
    pub(super) fn new(
        lifetime: Boot,
        best_time: Arc<BestTime>,
        now: Reading,
    ) -> (Self, watch::Receiver<View>) {
        let state = Restored {
            fuse: Fuse::lit(lifetime, now.suspended),
            clock: ClusterClock::guessing(None),
            born: None,
            max_lifetime: lifetime.since(now.boot),
        };
        let (view, watching) = watch::channel(look(&state, 0, now));
        let burning = Self {
            state,
            machine: Machine::default(),
            boot_id: None,
            scribe: None,
            recorded: None,
            weapon: None,
            would_have_fired: false,
            created: None,
            alive_but_not_found: false,
            best_time,
            beat: 0,
            view,
        };
        (burning, watching)
    }

    /// Takes the clocks into account. Before the messages of the same turn: a read that was made after a resume must
    /// not be taken for one from before it.
    pub(super) fn observe(&mut self, now: Reading) {
        self.state.fuse.observe(&self.state.clock, now);
    }

    /// Takes one message into account.
    pub(super) fn take(&mut self, what: Tell, now: Reading) {
        let Restored { fuse, clock, born, .. } = &mut self.state;
        match what {
            Tell::Equip(weapon) => self.weapon = Some(weapon),
            Tell::Restore(state) => self.state = *state,
            Tell::Remember { boot_id, scribe } => {
                self.boot_id = boot_id;
                self.scribe = Some(scribe);
            }
            Tell::Machine(machine) => self.machine = machine,
            Tell::Answered(answer) => {
                let before = clock.is_authenticated().then(|| clock.offset(now));
                clock.answered(answer, now);
                if before.is_none_or(|before| clock.offset(now).ahead_of(before).magnitude() > STEP) {
                    // What was concluded from a wrong time must not outlive it.
                    fuse.reconsider(clock, now);
                    *born = born.filter(|_| before.is_none());
                    self.date_lifetime(now);
                }
            }
            Tell::Learnt { deadline, asked } => fuse.learn(deadline, asked, clock, now),
            Tell::NothingNew { asked } => fuse.confirm(asked),
            Tell::Created(at) => {
                self.created = Some(at);
                self.date_lifetime(now);
            }
            Tell::Beat(beat) => self.beat = beat,
        }
    }

    /// Once there is cluster time, the lifetime is dated: the time powered off is billed, so it counts, and a server
    /// that we created has lived since then.
    fn date_lifetime(&mut self, now: Reading) {
        let Restored { fuse, clock, born, max_lifetime } = &mut self.state;
        if !clock.is_authenticated() {
            return;
        }
        let age = spent(fuse.lifetime, *max_lifetime, now.boot);
        let began = born.unwrap_or_else(|| clock.wall(now).plus(age.reversed()));
        let began = self.created.map_or(began, |created| began.min(created));
        *born = Some(began);
        fuse.cap_lifetime(began.plus(*max_lifetime).at(clock.offset(now)), now.boot);
    }

    /// Decides, publishes and records. Returns when to decide again. Fires, and then does not return.
    pub(super) fn decide(&mut self, now: Reading) -> Boot {
        self.observe(now);
        let until = match verdict(&self.state.fuse, now.boot) {
            Verdict::Wait { until, .. } => until,
            Verdict::Confirm => {
                self.state.fuse.await_confirmation(now.boot);
                now.boot.plus(CONFIRM_WITHIN)
            }
            Verdict::Fire(cause) => self.fire(cause, now),
        };
        self.publish(now);
        self.record(now.boot);
        notify::alive();
        until
    }

    /// The deadline as a wall-clock time, for a timer that also wakes when the clock is set.
    pub(super) fn deadline_wall(&self) -> Option<Wall> {
        self.state.fuse.deadline.map(|held| held.deadline)
    }

    fn fire(&mut self, cause: Cause, now: Reading) -> Boot {
        let Some(weapon) = self.weapon.clone() else {
            // The first milliseconds of a start. Equipping rings the bell.
            return now.boot.plus(RESPITE);
        };
        if weapon.observe {
            if !mem::replace(&mut self.would_have_fired, true) {
                tracing::warn!(?cause, "would delete this machine now, but only observes");
            }
            return now.boot.plus(RESPITE);
        }
        self.state.fuse.firing = Some(cause);
        self.publish(now);
        if let Some(scribe) = &self.scribe {
            scribe.write_before_firing(self.state_record(now.boot));
        }
        let machine = self.machine.clone();
        weapon.fire(cause, &machine, &mut |outcome| {
            self.alive_but_not_found |= outcome == Some(Outcome::WrongProject);
            self.publish(clocks::read());
            notify::alive();
        })
    }

    fn publish(&self, now: Reading) {
        let view = View {
            unwritable: self.scribe.as_ref().is_some_and(Scribe::unwritable),
            consented: self.machine.consented,
            alive_but_not_found: self.alive_but_not_found,
            ..look(&self.state, self.beat, now)
        };
        self.best_time.set(view.best);
        self.view.send_replace(view);
    }

    fn record(&mut self, now: Boot) {
        let Some(scribe) = self.scribe.clone() else { return };
        if let Some(record) = self.record_due(now) {
            scribe.write(record);
        }
    }

    /// What the ledger should hold from now on, if that has changed or is a minute old.
    fn record_due(&mut self, now: Boot) -> Option<Record> {
        let Restored { fuse, clock, born, .. } = &self.state;
        let (machine, deadline) = (self.machine.clone(), self.deadline_wall());
        let key = (deadline, fuse.lifetime, machine, clock.is_authenticated(), *born);
        if self.recorded.as_ref().is_some_and(|(last, at)| *last == key && now.since(*at) < RECORD_EVERY) {
            return None;
        }
        self.recorded = Some((key, now));
        Some(self.state_record(now))
    }

    fn state_record(&self, now: Boot) -> Record {
        Record::of(&self.state, self.machine.clone(), self.boot_id.clone(), now)
    }
}

fn look(state: &Restored, beat: u64, now: Reading) -> View {
    let Restored { fuse, clock, .. } = state;
    let (fires, cause) = fuse.fires();
    let offset = clock.offset(now);
    View {
        now,
        beat,
        fires,
        cause: fuse.firing.unwrap_or(cause),
        deadline: fuse.deadline.map(|held| held.deadline),
        respite: fuse.deadline.is_some_and(|held| held.respite),
        holding: fuse.hold_until.is_some_and(|hold| hold > now.boot),
        lifetime: fuse.lifetime,
        cluster: clock.is_authenticated().then_some(offset),
        best: offset,
        stepping: clock.is_stepping(),
        skew: clock.skew(now),
        confirmed: fuse.confirmed,
        confirming: fuse.confirm_by.is_some_and(|by| by > now.boot),
        firing: fuse.firing.is_some(),
        unwritable: false,
        consented: false,
        alive_but_not_found: false,
    }
}

/// Without a change, the ledger is written this often.
const RECORD_EVERY: Span = Span::from_secs(60);

#[cfg(test)]
mod tests;
