//! Look-up of a host's addresses, with addresses that worked before for when the look-up does not. A stale address is
//! harmless: the certificate decides who is there.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs},
    sync::Arc,
    thread,
    time::Duration,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::{sync::oneshot, time::timeout};

/// Asks the system first.
#[derive(Debug)]
pub(super) struct Resolver {
    fallback: Arc<[SocketAddr]>,
}

impl Resolver {
    pub(super) fn new(fallback: &[SocketAddr]) -> Self {
        Self { fallback: fallback.into() }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let fallback = Arc::clone(&self.fallback);
        Box::pin(async move {
            let found = timeout(LOOK_UP, look_up(name.as_str().to_owned())).await;
            let addresses = match found.unwrap_or_else(|late| Err(late.into())) {
                // A resolver that is wrong, not dead, must not hide an address that works.
                Ok(fresh) => with(fresh, &fallback),
                Err(fault) if fallback.is_empty() => return Err(fault.into()),
                Err(_dead) => with(Vec::new(), &fallback),
            };
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// The C library's look-up, which may hang, in a thread that is left behind if it does. Not the runtime's own: that one
/// panics where no thread can be had, and the addresses that are known would never be tried.
async fn look_up(host: String) -> io::Result<Vec<SocketAddr>> {
    let (answer, answered) = oneshot::channel();
    thread::Builder::new().name("look-up".into()).stack_size(STACK).spawn(move || {
        let _ = answer.send((host.as_str(), 0).to_socket_addrs().map(Iterator::collect));
    })?;
    answered.await.map_err(io::Error::other)?
}

/// `fresh`, then those of `known` that are not in it. The port is the address bar's to say, hence zero.
fn with(mut fresh: Vec<SocketAddr>, known: &[SocketAddr]) -> Vec<SocketAddr> {
    for address in known {
        let address = SocketAddr::new(address.ip(), 0);
        if !fresh.contains(&address) {
            fresh.push(address);
        }
    }
    fresh
}

/// Shorter than any call's time-out, so that a dead resolver leaves time for the addresses that are known.
const LOOK_UP: Duration = Duration::from_secs(3);

const STACK: usize = 256 * 1024;
