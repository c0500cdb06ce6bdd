//! What the ledger remembers, as one JSON object, and how a fuse is rebuilt from it. Pure.
//!
//! Instants of `CLOCK_BOOTTIME` mean something only in the boot that wrote them, so each record names its boot. In the
//! same boot everything is taken up where it was; in another boot the lifetime goes on from what was spent, and the
//! deadline waits for cluster time. Nothing read here can make a machine live longer.

use curfew_contract::Cause;
use serde::{Deserialize, Serialize};

use crate::{
    fuse::{Bounds, ClusterClock, Fuse, Held},
    time::{Boot, Offset, Reading, Span, Wall},
};

/// One generation of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Version of this encoding: [`VERSION`].
    pub v: u32,
    /// Counts up with each writing: of several copies, the highest is the last.
    pub seq: u64,
    /// The machine that wrote it: a copy on another machine (a clone) is not used.
    pub machine: Machine,
    /// The boot it was written in. Null where the kernel hides it.
    pub boot_id: Option<String>,
    /// When it was written.
    pub written: Boot,
    /// The smallest maximum lifetime that was ever in force: no upgrade makes it larger.
    pub max_lifetime: Span,
    /// Lifetime spent when it was written.
    pub spent: Span,
    /// When the lifetime began, in cluster time, once that was known: counts the time powered off.
    pub born: Option<Wall>,
    /// A time that cluster time is certainly not before.
    pub high_water: Option<Wall>,
    /// Bounds of cluster time, and when they were last confirmed, in this boot.
    pub cluster: Option<(Bounds, Boot)>,
    /// The last good deadline.
    pub deadline: Option<Remembered>,
    /// End of a first arming's hold, in this boot.
    pub hold_until: Option<Boot>,
    /// Firing is final, across restarts and reboots.
    pub firing: Option<Cause>,
}

/// Which machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// DMI `product_uuid`, where there is one.
    pub product_uuid: Option<String>,
    /// The server's providerID, once known.
    pub server: Option<String>,
    /// That server said it may be deleted. Never unsaid: a label removed later does not keep a machine alive.
    pub consented: bool,
}

/// A deadline and its instant in the boot that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    deadline: Wall,
    fires: Boot,
    earliest: Option<Boot>,
    respite: bool,
}

/// What a start takes from the past.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The fuse, burning on.
    pub fuse: Fuse,
    /// Cluster time.
    pub clock: ClusterClock,
    /// When the lifetime began, if known.
    pub born: Option<Wall>,
    /// The maximum lifetime in force.
    pub max_lifetime: Span,
}

impl Machine {
    /// Whether a record of `other` is about this machine. Two unknowns do not contradict.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        let differ = |a: &Option<String>, b: &Option<String>| matches!((a, b), (Some(a), Some(b)) if a != b);
        !differ(&self.product_uuid, &other.product_uuid) && !differ(&self.server, &other.server)
    }

    /// This machine as an earlier run knew it, completed by what is known now.
    #[must_use]
    pub fn or(self, now: Self) -> Self {
        Self {
            product_uuid: self.product_uuid.or(now.product_uuid),
            server: self.server.or(now.server),
            consented: self.consented,
        }
    }
}

impl Record {
    /// What to remember of a fuse at `now`.
    #[must_use]
    pub fn of(restored: &Restored, machine: Machine, boot_id: Option<String>, now: Boot) -> Self {
        let Restored { fuse, clock, born, max_lifetime } = restored;
        Self {
            v: VERSION,
            seq: 0,
            machine,
            boot_id,
            written: now,
            max_lifetime: *max_lifetime,
            spent: spent(fuse.lifetime, *max_lifetime, now),
            born: *born,
            high_water: clock.high_water(now),
            cluster: clock.bounds(),
            deadline: fuse.deadline.map(|held| {
                let Held { deadline, fires, earliest, respite } = held;
                Remembered { deadline, fires, earliest, respite }
            }),
            hold_until: fuse.hold_until.filter(|hold| *hold > now),
            firing: fuse.firing,
        }
    }

    /// Rebuilds the fuse at a start. `max_lifetime` is the configured one, `boot_id` this boot's.
    #[must_use]
    pub fn restore(&self, max_lifetime: Span, boot_id: Option<&str>, now: Reading) -> Restored {
        let max_lifetime = self.max_lifetime.min(max_lifetime);
        let same_boot = boot_id.is_some() && boot_id == self.boot_id.as_deref() && self.written <= now.boot;
        let spent_since = if same_boot { self.written } else { Boot::START };
        let left = Span::from_millis(max_lifetime.millis().saturating_sub(self.spent.millis().max(0)));
        let mut fuse = Fuse::lit(spent_since.plus(left), now.suspended);
        fuse.firing = self.firing;
        let clock = self.clock(same_boot);
        if same_boot {
            fuse.hold_until = self.hold_until;
            fuse.deadline = self.deadline.map(|remembered| {
                let Remembered { deadline, fires, earliest, respite } = remembered;
                Held { deadline, fires, earliest, respite }
            });
        } else {
            fuse.deadline = self.deadline.map(|r| Held::remembered(r.deadline, clock.offset(now)));
        }
        Restored { fuse, clock, born: self.born, max_lifetime }
    }

    fn clock(&self, same_boot: bool) -> ClusterClock {
        match self.cluster {
            Some((bounds, at)) if same_boot => ClusterClock::restored(bounds, at),
            _ => {
                let since = if same_boot { self.written } else { Boot::START };
                ClusterClock::guessing(self.high_water.map(|wall| Offset::between(wall, since)))
            }
        }
    }
}

/// The lifetime spent at `now`, of a fuse that ends at `ends`.
#[must_use]
pub fn spent(ends: Boot, max_lifetime: Span, now: Boot) -> Span {
    Span::from_millis(max_lifetime.millis().saturating_sub(ends.since(now).millis()).max(0))
}

/// The version this module writes, and the only one it reads.
pub const VERSION: u32 = 1;
