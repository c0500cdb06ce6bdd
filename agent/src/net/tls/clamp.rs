//! Which time to check a chain at when its dates are the only fault. Pure.

use rustls::{CertificateError, Error, pki_types::UnixTime};

/// Runs `check` at `now`; while it faults dates only, again at the nearest time that the dates it named allow.
///
/// `Ok(true)` if it passed at another time than `now`. Each certificate of a chain has bounds of its own and a check
/// names one at a time, hence the repetition. Bounds that no time satisfies leave the fault as it is.
pub(super) fn clamped(
    now: UnixTime,
    mut check: impl FnMut(UnixTime) -> Result<(), Error>,
) -> Result<bool, Error> {
    let (mut earliest, mut latest, mut at) = (None, None, now);
    for _ in 0..MOST_CERTIFICATES * 2 {
        let fault = match check(at) {
            Ok(()) => return Ok(at != now),
            Err(fault) => fault,
        };
        at = match fault {
            Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. }) => {
                latest = Some(latest.map_or(not_after, |bound| not_after.min(bound)));
                not_after
            }
            Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. }) => {
                earliest = Some(earliest.map_or(not_before, |bound| not_before.max(bound)));
                not_before
            }
            _ => return Err(fault),
        };
        if earliest > latest && latest.is_some() {
            return Err(fault);
        }
    }
    check(at).map(|()| true)
}

/// Longer chains are refused by webpki itself.
const MOST_CERTIFICATES: usize = 6;
