//! `/livez` and `/readyz`: nothing that changes anything, nothing that needs a secret.

use std::sync::Arc;

use axum::{Router, extract::State, http::StatusCode, routing::get};

use crate::shared::Shared;

/// The pages.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new().route("/livez", get(|| async { "ok\n" })).route("/readyz", get(ready)).with_state(shared)
}

/// Ready means that deadlines are being kept: leases and Nodes are listed, and the time is known.
async fn ready(State(shared): State<Arc<Shared>>) -> (StatusCode, &'static str) {
    let (listed, time) = shared.with(|world, reading| (world.listed(), reading.now.is_some()));
    match (listed, time) {
        (true, true) => (StatusCode::OK, "ok\n"),
        (false, _) => (StatusCode::SERVICE_UNAVAILABLE, "leases and Nodes are not listed yet\n"),
        (_, false) => (StatusCode::SERVICE_UNAVAILABLE, "the API server has not told the time yet\n"),
    }
}
