//! What the ledger remembers, as one JSON object, and how a fuse is rebuilt from it. Pure.
//!
//! Instants of `CLOCK_BOOTTIME` mean something only in the boot that wrote them, so each record names its boot. In the
//! same boot everything is taken up where it was; in another boot the lifetime goes on from what was spent, and the
//! deadline waits for cluster time. Nothing read here can make a machine live longer.

use std::net::SocketAddr;

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
    /// Version of this encoding: 1.
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
    /// Where the provider answered last, for a day when the name service does not.
    pub provider_address: Option<SocketAddr>,
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
    /// Whether a record of `other` is about this machine. Where both know their server, that decides; a firmware's UUID
    /// may change when a machine is moved. Two unknowns do not contradict.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        match (&self.server, &other.server) {
            (Some(one), Some(another)) => one == another,
            _ => !matches!((&self.product_uuid, &other.product_uuid), (Some(a), Some(b)) if a != b),
        }
    }
}

impl Record {
    /// Whether every number can be: a file that was tampered with is as good as torn.
    #[must_use]
    pub fn is_sane(&self) -> bool {
        let lifetime = SHORTEST_LIFETIME..=LONGEST_LIFETIME;
        self.v == VERSION
            && self.seq < LARGEST_SEQ
            && self.written >= Boot::START
            && self.spent >= Span::ZERO
            && lifetime.contains(&self.max_lifetime)
    }

    /// The machine as the record's writer knew it, completed by what the firmware says now. Where the firmware is silent,
    /// a server and its consent are taken over within the same boot only: a disk image does not say whose it is.
    #[must_use]
    pub fn machine_now(&self, now: Machine, boot_id: Option<&str>) -> Machine {
        let earlier = &self.machine;
        let provider_address = earlier.provider_address.or(now.provider_address);
        let same_boot = boot_id.is_some() && boot_id == self.boot_id.as_deref();
        if now.server.is_some() {
            let consented = earlier.consented && earlier.server == now.server;
            Machine { consented, provider_address, ..now }
        } else if same_boot {
            Machine {
                product_uuid: now.product_uuid.or_else(|| earlier.product_uuid.clone()),
                ..earlier.clone()
            }
        } else {
            Machine { provider_address, ..now }
        }
    }

    /// Whether it is of another boot, or older than the agent lets it become.
    #[must_use]
    pub fn is_stale(&self, boot_id: Option<&str>, now: Boot) -> bool {
        self.boot_id.as_deref() != boot_id || now.since(self.written) > STALE_AFTER
    }

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

    /// Rebuilds the fuse at a start. `max_lifetime` is the configured one, if any; `boot_id` this boot's.
    #[must_use]
    pub fn restore(&self, max_lifetime: Option<Span>, boot_id: Option<&str>, now: Reading) -> Restored {
        let max_lifetime = max_lifetime.map_or(self.max_lifetime, |given| given.min(self.max_lifetime));
        let same_boot = boot_id.is_some() && boot_id == self.boot_id.as_deref() && self.written <= now.boot;
        let spent_since = if same_boot { self.written } else { Boot::START };
        let left = Span::from_millis(max_lifetime.millis().saturating_sub(self.spent.millis()));
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

/// The shortest lifetime that can be asked for.
pub const SHORTEST_LIFETIME: Span = Span::from_secs(5 * 60);
/// The longest.
pub const LONGEST_LIFETIME: Span = Span::from_secs(400 * 86_400);

/// The version this module writes, and the only one it reads.
const VERSION: u32 = 1;
/// One record a millisecond for longer than any machine lives.
const LARGEST_SEQ: u64 = 1 << 53;
/// Two of the agent's writings were missed.
const STALE_AFTER: Span = Span::from_secs(125);
