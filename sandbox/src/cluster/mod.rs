//! A Kubernetes API on loopback: TLS, client certificates, the permissions a kubelet really has, and faults
//! that can be switched on.
//!
//! It is a double of the API server and of nothing else: no scheduler, no kubelet, no controllers and no
//! garbage collection run behind it, so a `DaemonSet` makes no pods and a deleted pod is gone at once. What it
//! does not support it refuses with the real server's error, never quietly.
//!
//! ```text
//! serve (TLS, HTTP) ─▶ authz ─▶ api, mutate ─▶ patch, write, removal, typed, schema, cel ─▶ store ─▶ watch ─▶ shape, table
//!        pki, fault                                                    discovery, review, event
//! ```

mod api;
mod authz;
mod cel;
mod discovery;
mod event;
mod fault;
mod handle;
mod kubeconfig;
mod ledger;
mod mutate;
mod objects;
mod patch;
mod pki;
mod refusal;
mod removal;
mod resource;
mod review;
mod schema;
mod selector;
mod serve;
mod shape;
mod shared;
mod store;
mod table;
mod typed;
mod watch;
mod write;

pub use authz::{CONTROLLER, NodeReads, User};
pub use fault::Outage;
pub use handle::{Cluster, Error, Options};
pub use kubeconfig::NodeForm;
pub use ledger::Call;
pub use objects::Identity;
pub use pki::{KeyForm, Validity};
