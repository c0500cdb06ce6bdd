//! The wall clock outside the machines: the one the cloud's ledger goes by, and by which a console's lines are stamped.

use jiff::Timestamp;

/// Now.
#[expect(
    clippy::disallowed_methods,
    reason = "the world outside the machines; somebody must look at a clock"
)]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
