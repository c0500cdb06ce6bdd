//! What a server has cost so far, as it is billed: every started hour in full, at least one, and within a calendar
//! month (UTC) never more than the monthly price.

use jiff::{Timestamp, ToSpan, tz::TimeZone};

use crate::Price;

/// What is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Hours, each started one in full.
    pub hours: u64,
    /// In the currency of the prices. [`Price::MAX`] if it is more than can be held.
    pub amount: Price,
}

/// The cost of a server that exists from `created` to `ended` (or until now).
///
/// Hours count from `created`; one belongs to the month in which it starts. An `ended` before `created` (two clocks)
/// costs one hour.
#[must_use]
pub fn cost(created: Timestamp, ended: Timestamp, hourly: Price, monthly: Price) -> Cost {
    let hours = started_hours(ended.as_nanosecond() - created.as_nanosecond()).max(1);
    let (mut counted, mut amount) = (0, Price::ZERO);
    while counted < hours {
        let through = hours_through_month(created, counted).unwrap_or(hours).clamp(counted + 1, hours);
        let month = hourly.checked_mul(through - counted).unwrap_or(Price::MAX).min(monthly);
        amount = amount.checked_add(month).unwrap_or(Price::MAX);
        counted = through;
    }
    Cost { hours, amount }
}

/// Counted from `created`, the hours that start before the month of hour `counted` ends.
fn hours_through_month(created: Timestamp, counted: u64) -> Option<u64> {
    let start = created.checked_add(i64::try_from(counted).ok()?.hours()).ok()?;
    let day = start.to_zoned(TimeZone::UTC).date();
    let next_month = day.last_of_month().tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(started_hours(next_month.as_nanosecond() - created.as_nanosecond()))
}

fn started_hours(nanoseconds: i128) -> u64 {
    const HOUR: u128 = 3_600_000_000_000;
    u64::try_from(u128::try_from(nanoseconds).unwrap_or(0).div_ceil(HOUR)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
