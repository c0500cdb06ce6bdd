//! The fuse against arbitrary histories: clocks that step, suspends, kills, reboots, outages, renewals, nonsense.
//!
//! The world below knows the truth; the fuse sees only what a machine would. After every turn the two promises are
//! checked: never later than the lifetime or the deadline in force plus what the design allows, never earlier than both.

use curfew_contract::Cause;
use proptest::prelude::*;

mod created;
mod missed;
mod wrong_date;

use super::super::Answered;
use super::*;

#[derive(Clone, Debug)]
enum Event {
    Advance(i64),
    StepClock(i64),
    Suspend(i64),
    Kill,
    Reboot { down: i64 },
    Renew(i64),
    NoDeadline,
    Nonsense,
    Outage(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (1..400_000_i64).prop_map(Event::Advance),
        1 => prop_oneof![-2_000_000_000_000..2_000_000_000_000_i64, -5_000..5_000_i64].prop_map(Event::StepClock),
        1 => (1..900_000_i64).prop_map(Event::Suspend),
        2 => Just(Event::Kill),
        1 => (1_000..600_000_i64).prop_map(|down| Event::Reboot { down }),
        4 => (-60_000..700_000_i64).prop_map(Event::Renew),
        1 => Just(Event::NoDeadline),
        1 => Just(Event::Nonsense),
        2 => any::<bool>().prop_map(Event::Outage),
    ]
}

/// What is on the Node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    Good(Option<i64>),
    Nonsense,
}

/// All times in milliseconds of true time since the first arming.
struct World {
    now: i64,
    booted: i64,
    suspended: i64,
    real_ahead: i64,
    reachable: bool,
    has_read: bool,
    reachable_since: i64,
    node: Node,
    next_beat: i64,
    burning: Burning,
    ledger: Option<Record>,
    boot: u32,
    /// The last good deadline the agent was given, and when.
    acknowledged: Option<(i64, i64)>,
    /// How late the fuse may be, for what it cannot have known.
    excuse: i64,
    /// Time powered off that no authenticated answer has accounted for yet, and time lost with a stale ledger.
    unaccounted: i64,
    /// Until then the lifetime may last, since it was dated only now.
    dated: i64,
    /// The last resume or start: nothing could be done before it.
    woke: i64,
}

const EPOCH: i64 = 1_796_068_800_000;
const LIFETIME: i64 = 3_600_000;
const TURN: i64 = 10_000;
const BEAT: i64 = 30_000;
/// `Date` has whole seconds, so cluster time may be behind by one of them; and the 2 s the same deadline may move.
const RESOLUTION: i64 = 1_000;
const LATER: i64 = 2_000;
const CONFIRM: i64 = 10_000;

impl World {
    fn new() -> Self {
        let now = reading(0, 0, 0, 0);
        let (burning, _) = Burning::new(Boot::from_millis(LIFETIME), Arc::new(BestTime::new()), now);
        Self {
            now: 0,
            booted: 0,
            suspended: 0,
            real_ahead: 0,
            reachable: true,
            has_read: false,
            reachable_since: 0,
            node: Node::Good(None),
            next_beat: 0,
            burning,
            ledger: None,
            boot: 0,
            acknowledged: None,
            excuse: 0,
            unaccounted: 0,
            dated: 0,
            woke: 0,
        }
    }

    fn reading(&self) -> Reading {
        reading(self.now, self.booted, self.real_ahead, self.suspended)
    }

    fn boot_id(&self) -> String {
        self.boot.to_string()
    }

    /// A consistent read, or an event of the watch: what the cluster says reaches the fuse.
    fn hear(&mut self, consistent: bool) {
        let now = self.reading();
        self.has_read |= consistent;
        if consistent {
            let date = Wall::from_millis((EPOCH + self.now).div_euclid(1000) * 1000);
            self.burning.take(Tell::Answered(Answered { date, sent: now.boot, received: now.boot }), now);
            if self.burning.state.clock.is_authenticated() {
                self.excuse = 0;
                if mem::take(&mut self.unaccounted) > 0 {
                    // The lifetime is dated again, but a bound from outside leaves a minute.
                    self.dated = self.now + RESPITE.millis();
                }
            }
        }
        match self.node {
            Node::Good(deadline) => {
                if self.acknowledged.map(|(deadline, _)| deadline) != deadline {
                    self.acknowledged = deadline.map(|deadline| (deadline, self.now));
                }
                let deadline = deadline.map(|at| Wall::from_millis(EPOCH + at));
                self.burning.take(Tell::Learnt { deadline, asked: consistent.then_some(now.boot) }, now);
            }
            Node::Nonsense if consistent => self.burning.take(Tell::NothingNew { asked: now.boot }, now),
            Node::Nonsense => {}
        }
    }

    /// One turn of the fuse's thread. Says whether it would fire.
    fn turn(&mut self) -> Result<Option<Cause>, TestCaseError> {
        self.burning.observe(self.reading());
        if self.reachable && self.now >= self.next_beat {
            self.next_beat = self.now + BEAT;
            self.hear(true);
        }
        let now = self.reading();
        self.burning.decide(now);
        if self.burning.state.fuse.confirm_by.is_some() && self.reachable {
            self.hear(true);
        }
        if let Some(mut record) = self.burning.record_due(now.boot) {
            record.boot_id = Some(self.boot_id());
            self.ledger = Some(record);
        }
        let Verdict::Fire(cause) = verdict(&self.burning.state.fuse, now.boot) else {
            self.must_not_be_late()?;
            return Ok(None);
        };
        self.must_not_be_early(cause)?;
        Ok(Some(cause))
    }

    fn must_not_be_late(&self) -> Result<(), TestCaseError> {
        let lifetime = (LIFETIME + RESOLUTION + self.unaccounted).max(self.dated).max(self.woke);
        prop_assert!(self.now <= lifetime, "alive at {} with a lifetime of {lifetime}", self.now);
        if let Some((deadline, learnt)) = self.acknowledged {
            let respite = if deadline <= learnt + RESOLUTION { learnt + RESPITE.millis() } else { deadline };
            let latest = (deadline.max(respite) + RESOLUTION + LATER + self.excuse).max(self.woke + CONFIRM);
            prop_assert!(self.now <= latest, "alive at {}, deadline {deadline} learnt at {learnt}", self.now);
        }
        Ok(())
    }

    fn must_not_be_early(&self, cause: Cause) -> Result<(), TestCaseError> {
        match cause {
            Cause::Lifetime => {
                prop_assert!(self.now >= LIFETIME - RESOLUTION, "lifetime ended at {}", self.now);
            }
            Cause::Deadline => {
                let deadline = self.acknowledged.map(|(deadline, _)| deadline);
                let guessed_ahead = !self.burning.state.clock.is_authenticated() && self.real_ahead > 0;
                prop_assert!(deadline.is_some(), "no deadline was ever given");
                prop_assert!(
                    guessed_ahead || deadline.is_some_and(|at| self.now >= at - RESOLUTION),
                    "fired at {} for the deadline {deadline:?}",
                    self.now
                );
                // Once it could have read the Node, it has.
                if self.reachable && self.now > self.reachable_since + BEAT {
                    prop_assert!(!matches!(self.node, Node::Good(Some(at)) if at > self.now + RESOLUTION));
                }
            }
        }
        Ok(())
    }

    fn advance(&mut self, mut span: i64) -> Result<Option<Cause>, TestCaseError> {
        loop {
            if let Some(cause) = self.turn()? {
                return Ok(Some(cause));
            }
            if span == 0 {
                return Ok(None);
            }
            let until = self.burning.state.fuse.fires().0.since(self.reading().boot).millis();
            let step = if until > 0 { until.min(TURN) } else { TURN.min(1_000) }.min(span);
            self.now += step;
            span -= step;
        }
    }

    fn start_again(&mut self) {
        let now = self.reading();
        let (mut burning, _) =
            Burning::new(now.boot.plus(Span::from_millis(LIFETIME)), Arc::new(BestTime::new()), now);
        if let Some(record) = &self.ledger {
            burning.state = record.restore(Some(Span::from_millis(LIFETIME)), Some(&self.boot_id()), now);
        }
        self.burning = burning;
        self.has_read = false;
        self.next_beat = self.now;
        self.excuse += CONFIRM;
        self.woke = self.now;
    }

    fn happen(&mut self, event: &Event) -> Result<Option<Cause>, TestCaseError> {
        match *event {
            Event::Advance(span) => return self.advance(span),
            Event::StepClock(span) => self.real_ahead = (self.real_ahead + span).clamp(-EPOCH, 4 * EPOCH),
            Event::Suspend(span) => {
                self.now += span;
                self.suspended += span;
                self.woke = self.now;
                // The network comes back after the machine.
                self.next_beat = self.now + 5_000;
                self.excuse += CONFIRM;
            }
            Event::Kill => self.start_again(),
            Event::Reboot { down } => {
                // What was not yet in the ledger is forgotten: up to a minute of lifetime and of cluster time.
                let lost = down + RECORD_EVERY.millis() + TURN;
                self.now += down;
                self.booted = self.now;
                self.suspended = 0;
                self.boot += 1;
                self.unaccounted += lost;
                self.dated += lost; // of the minute that a bound from outside leaves, too
                self.excuse += lost;
                self.start_again();
            }
            Event::Renew(span) => self.node = Node::Good(Some((self.now + span).div_euclid(1000) * 1000)),
            Event::NoDeadline => self.node = Node::Good(None),
            Event::Nonsense => self.node = Node::Nonsense,
            Event::Outage(outage) => {
                self.reachable = !outage;
                self.reachable_since = self.now;
            }
        }
        // A watch continues from a read.
        if self.reachable
            && self.has_read
            && matches!(event, Event::Renew(_) | Event::NoDeadline | Event::Nonsense)
        {
            self.hear(false);
        }
        self.turn()
    }
}

fn reading(now: i64, booted: i64, real_ahead: i64, suspended: i64) -> Reading {
    Reading {
        boot: Boot::from_millis(now - booted),
        real: Wall::from_millis(EPOCH + now + real_ahead),
        suspended: Span::from_millis(suspended),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_it_fires_neither_late_nor_early(events in prop::collection::vec(event(), 1..60)) {
        let mut world = World::new();
        world.turn()?;
        for event in &events {
            if world.happen(event)?.is_some() {
                return Ok(());
            }
        }
        // However the history went, the lifetime ends it.
        prop_assert!(world.advance(2 * LIFETIME)?.is_some());
    }
}
