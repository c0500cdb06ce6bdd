//! The agent's side of every connection: TLS, proxies, look-ups, one HTTP exchange within a hard time-out.
//!
//! Owns what is trusted and for how long it is waited. Knows nothing of Kubernetes or of any cloud, decides nothing
//! about deadlines, and never shows a credential.

mod best_time;
pub(crate) mod client;
mod error;
pub(crate) mod http;
mod pem;
mod proxies;
mod resolver;
pub(crate) mod tls;

pub use best_time::BestTime;
pub use error::{HttpError, SetupError};
pub use http::{Options, Transport};
pub use pem::{Pem, PemError};
pub use proxies::{Proxies, ProxyError};
pub use tls::{Dates, DatesIgnored};

#[cfg(test)]
pub(crate) mod testing;
