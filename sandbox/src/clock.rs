//! The wall clock of the machine the sandbox runs on: the only place outside the doubles where it is read. The doubles
//! and every process on a stage share it.

use jiff::Timestamp;

/// Now.
#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is the world outside; somebody must look at a clock"
)]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
