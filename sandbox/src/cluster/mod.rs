//! A Kubernetes API on loopback: TLS, client certificates, the permissions a kubelet really has, and faults
//! that can be switched on.
//!
//! It is a double of the API server, and of kubelets as far as they start and stop pods. No scheduler, no
//! controllers and no garbage collection run behind it: a `DaemonSet` makes no pods, and the status of a
//! disruption budget is what somebody writes. What it does not support it refuses with the real server's error,
//! never quietly.
//!
//! ```text
//! serve (TLS, HTTP) ─▶ authz ─▶ api, mutate ─▶ patch, write, removal, eviction, typed, schema, cel ─▶ store ─▶ watch ─▶ shape, table
//!        pki, fault   role                                             discovery, review, event, kubelet
//! ```

mod api;
mod authz;
mod cel;
mod discovery;
mod event;
mod eviction;
mod fault;
mod handle;
mod kubeconfig;
mod kubelet;
mod ledger;
mod mutate;
mod objects;
mod patch;
mod pki;
mod refusal;
mod removal;
mod resource;
mod review;
mod role;
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
pub use kubelet::STOPS_AFTER;
pub use ledger::Call;
pub use objects::Identity;
pub use pki::{KeyForm, Validity};
