//! Which time to check a chain at when its dates are the only fault. Pure.

use rustls::{CertificateError, Error, pki_types::UnixTime};

/// Runs `check` at `now`; while it faults dates only, again at the bound that was overstepped.
///
/// `Ok(true)` if it passed at another time than `now`. Each certificate of a chain has bounds of its own and a check
/// names one at a time: from outside, each step moves towards the time they have in common, and past none of its
/// bounds. Where they have none the steps go to and fro until they are used up.
pub(super) fn clamped(
    now: UnixTime,
    mut check: impl FnMut(UnixTime) -> Result<(), Error>,
) -> Result<bool, Error> {
    let mut at = now;
    for _ in 0..MOST_CERTIFICATES {
        at = match check(at) {
            Ok(()) => return Ok(at != now),
            Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => not_after,
            Err(Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. })) => {
                not_before
            }
            Err(fault) => return Err(fault),
        };
    }
    check(at).map(|()| true)
}

/// Webpki refuses chains of more than six intermediates, and its own root has no dates.
const MOST_CERTIFICATES: usize = 7;
