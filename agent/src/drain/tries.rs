//! When a pod that could not be evicted is asked for again. Pure.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    node::ApiError,
    time::{Boot, Span},
};

/// Pods whose eviction was refused, by uid, and when each may be tried again.
#[derive(Debug, Default)]
pub(super) struct Tries(BTreeMap<String, Boot>);

impl Tries {
    /// How long it is still to be left alone, if it is.
    pub(super) fn left(&self, uid: &str, now: Boot) -> Option<Duration> {
        let not_before = self.0.get(uid).filter(|not_before| **not_before > now)?;
        Some(not_before.since(now).wait())
    }

    /// Notes a refusal. Whether it is the first one of this pod.
    pub(super) fn put_off(&mut self, uid: &str, until: Boot) -> bool {
        self.0.insert(uid.to_owned(), until).is_none()
    }
}

/// How long to wait after an error, with so much left: what the server asks for, but never so long that there is no second
/// try. Lengthened by up to a quarter, so that a fleet does not ask in step.
pub(super) fn wait_after(error: &ApiError, left: Span) -> Duration {
    let asked = match error {
        ApiError::Busy { retry_after: Some(asked), .. } => *asked,
        // Somebody else has changed it: what is there now is known with the next look.
        ApiError::Status { code: 409, .. } => SHORTEST,
        _ => USUAL,
    };
    let most = LONGEST.min(left.wait() / 2).max(SHORTEST);
    asked.clamp(SHORTEST, most).mul_f64(1.0 + 0.25 * fastrand::f64())
}

const SHORTEST: Duration = Duration::from_secs(1);
/// As `kubectl drain` waits.
const USUAL: Duration = Duration::from_secs(5);
/// A budget that is not up to date makes the API server ask for 10 s; nothing asks for more with good reason.
const LONGEST: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(seconds: u64) -> ApiError {
        ApiError::Busy { retry_after: Some(Duration::from_secs(seconds)), message: String::new() }
    }

    #[test]
    fn retry_after_is_honoured_and_never_obeyed_beyond_the_time_that_is_left() {
        let conflict = ApiError::Status { code: 409, message: String::new() };
        let lost = ApiError::NotFound { message: String::new() };
        for (error, left, least) in [
            (busy(10), 120, 10.0),
            (busy(0), 120, 1.0),
            (busy(86_400), 120, 20.0),
            (busy(10), 12, 6.0),
            (busy(10), -5, 1.0),
            (conflict, 120, 1.0),
            (lost, 120, 5.0),
        ] {
            for _ in 0..100 {
                let wait = wait_after(&error, Span::from_secs(left)).as_secs_f64();
                assert!((least..=least * 1.25).contains(&wait), "{error:?} with {left} s left: {wait} s");
            }
        }
    }

    #[test]
    fn a_pod_that_was_refused_is_left_alone_until_its_time() {
        let (mut tries, at) = (Tries::default(), Boot::from_millis);
        assert_eq!(tries.left("u", at(0)), None);
        assert!(tries.put_off("u", at(5_000)));
        assert_eq!(tries.left("u", at(1_000)), Some(Duration::from_secs(4)));
        assert_eq!(tries.left("u", at(5_000)), None);
        assert!(!tries.put_off("u", at(9_000)), "told once");
    }
}
