//! Money, exact: a decimal that is never rounded in anybody's favour but the bill's.

use std::{fmt, str::FromStr};

/// An amount of money of 0 or more, in units of 10⁻¹⁰ of its currency. The currency stands beside it, never in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(u64);

/// A text that is no price.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a price: a decimal like 0.0128, below 1844674407")]
pub struct NotAPrice(String);

/// Decimals that are kept.
const DECIMALS: usize = 10;
const UNIT: u64 = 10_000_000_000;

impl Price {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The sum, unless it is too much to be held.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// So many times this, unless it is too much to be held.
    #[must_use]
    pub const fn checked_mul(self, times: u64) -> Option<Self> {
        match self.0.checked_mul(times) {
            Some(product) => Some(Self(product)),
            None => None,
        }
    }

    /// The most that can be held.
    pub const MAX: Self = Self(u64::MAX);

    /// Compares `self / own` with `other / others` without dividing. A share among none is more than any other.
    #[must_use]
    pub fn cmp_per(self, own: u32, other: Self, others: u32) -> std::cmp::Ordering {
        let crossed = |price: Self, share: u32| u128::from(price.0) * u128::from(share);
        (own == 0, crossed(self, others)).cmp(&(others == 0, crossed(other, own)))
    }
}

impl FromStr for Price {
    type Err = NotAPrice;

    /// Digits beyond the tenth decimal round up: an estimate must not promise less than the bill.
    fn from_str(text: &str) -> Result<Self, NotAPrice> {
        let refuse = || NotAPrice(text.chars().take(40).collect());
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return Err(refuse());
        }
        let (kept, beyond) = fraction.split_at(fraction.len().min(DECIMALS));
        let kept: u64 = format!("{kept:0<DECIMALS$}").parse().map_err(|_| refuse())?;
        let up = u64::from(beyond.bytes().any(|b| b != b'0'));
        let whole: u64 = whole.parse().map_err(|_| refuse())?;
        let sum = whole.checked_mul(UNIT).and_then(|units| units.checked_add(kept + up));
        sum.map(Self).ok_or_else(refuse)
    }
}

impl fmt::Display for Price {
    /// At least two decimals, and as many more as it needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:0DECIMALS$}", self.0 % UNIT);
        let shown = fraction.trim_end_matches('0').len().max(2);
        write!(f, "{}.{}", self.0 / UNIT, &fraction[..shown])
    }
}

#[cfg(test)]
mod tests;
