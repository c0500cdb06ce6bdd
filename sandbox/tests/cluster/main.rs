//! Promises of the loopback cluster, over real TLS sockets with a real client.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what failed by panicking"
)]

mod address;
mod bench;
mod faults;
mod kubelet;
mod objects;
mod pods;
mod renting;
mod verdicts;
mod watches;
