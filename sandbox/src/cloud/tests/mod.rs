//! Promises of the loopback cloud, kept over real sockets.
