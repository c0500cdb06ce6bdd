//! Promises of the loopback cluster, over real TLS sockets with a real client.

mod bench;
mod faults;
mod kubelet;
mod watches;
