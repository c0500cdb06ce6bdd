//! How long to wait before trying again. Pure: delays out, nothing slept.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// Delays that double from `first` to `most` and go on for ever, each shortened by up to a quarter so that a fleet
/// does not retry in step. Never longer than `most`: the bounds of the failure matrix count on it.
#[derive(Debug)]
pub struct Backoff {
    delays: ExponentialBackoff,
    most: Duration,
}

impl Backoff {
    /// Delays from `first` to `most`.
    #[must_use]
    pub fn new(first: Duration, most: Duration) -> Self {
        let delays = ExponentialBuilder::default()
            .with_min_delay(first)
            .with_max_delay(most)
            .with_factor(2.0)
            .without_max_times()
            .build();
        Self { delays, most }
    }

    /// The next delay.
    pub fn next_delay(&mut self) -> Duration {
        let full = self.delays.next().unwrap_or(self.most).min(self.most);
        full.mul_f64(1.0 - 0.25 * fastrand::f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_to_a_cap_and_jitter_only_shortens_them() {
        let mut backoff = Backoff::new(Duration::from_secs(5), Duration::from_mins(1));
        let mut full = 5.0_f64;
        for _ in 0..10_000 {
            let delay = backoff.next_delay().as_secs_f64();
            assert!(delay <= full && delay >= full * 0.749, "{delay} of {full}");
            full = (full * 2.0).min(60.0);
        }
    }
}
