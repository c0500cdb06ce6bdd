//! Who may call: projects, tokens, and the request budget that all tokens of a project share.
//!
//! Never shows a token: the ledger names a token's holder instead.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

/// A project: what one token can see. Servers of another project do not exist for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Project(pub u32);

impl Project {
    /// The sandbox's own project.
    pub const OURS: Self = Self(1);
    /// Somebody else's.
    pub const FOREIGN: Self = Self(2);
}

/// The two kinds of token there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// GET only.
    Read,
    /// Everything.
    ReadWrite,
}

/// What the cloud knows of a token. The token itself is the key under which this is kept.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) project: Project,
    pub(crate) access: Access,
    /// For whom it was issued, as the ledger shows it.
    pub(crate) holder: String,
    pub(crate) revoked: bool,
}

/// The kind of token a call carried, as the ledger keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// No `Authorization: Bearer` header.
    Anonymous,
    /// A token that was never issued.
    Unknown,
    /// A token that is good no longer.
    Revoked {
        /// For whom it was issued.
        holder: String,
    },
    /// A good token.
    Known {
        /// For whom it was issued.
        holder: String,
        /// The project it opens.
        project: Project,
        /// What it allows.
        access: Access,
    },
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("no token"),
            Self::Unknown => f.write_str("unknown token"),
            Self::Revoked { holder } => write!(f, "{holder} (revoked)"),
            Self::Known { holder, access: Access::Read, .. } => write!(f, "{holder} (read)"),
            Self::Known { holder, .. } => f.write_str(holder),
        }
    }
}

/// A token bucket, kept as the one instant at which it is full again: `RateLimit-Reset`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    full_at: Timestamp,
}

/// What the `RateLimit-*` headers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    /// UNIX seconds at which the bucket is full again.
    pub(crate) reset: i64,
}

impl Bucket {
    /// Takes one request out of the bucket; `false` if there was none left.
    pub(crate) fn take(&mut self, limit: u32, now: Timestamp) -> bool {
        let allowed = self.budget(limit, now).remaining > 0;
        if allowed {
            self.full_at = self.full_at.max(now) + cost(limit);
        }
        allowed
    }

    pub(crate) fn budget(self, limit: u32, now: Timestamp) -> Budget {
        let debt = self.full_at.duration_since(now).as_micros().max(0);
        let used = debt.unsigned_abs().div_ceil(cost(limit).as_micros().max(1));
        let used = u32::try_from(used).unwrap_or(u32::MAX);
        let reset = self.full_at.max(now).as_second() + i64::from(debt > 0);
        Budget { limit, remaining: limit.saturating_sub(used), reset }
    }
}

/// The time in which one request grows back.
fn cost(limit: u32) -> Duration {
    Duration::from_hours(1) / limit.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_burst_up_to_the_limit_is_allowed_and_one_more_is_not() {
        let mut bucket = Bucket::default();
        assert!((0..10).all(|_| bucket.take(10, at(1_000_000))));
        assert!(!bucket.take(10, at(1_000_000)));
        assert_eq!(bucket.budget(10, at(1_000_000)).reset, 1_003_601);
    }

    #[test]
    fn the_bucket_refills_continuously() {
        let mut bucket = Bucket::default();
        assert!((0..3600).all(|_| bucket.take(3600, at(1_000_000))));
        assert!(!bucket.take(3600, at(1_000_000)));
        assert!(bucket.take(3600, at(1_000_001)));
        assert!(!bucket.take(3600, at(1_000_001)));
    }
}
