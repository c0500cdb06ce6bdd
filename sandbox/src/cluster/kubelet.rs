//! A stand-in for every Node's kubelet, as far as pods go: those of a Node run and are ready at once, and one that is being
//! deleted is removed when its containers have stopped. Knows nothing of machines: it goes on for one that is gone.

use std::{sync::Arc, time::Duration};

use curfew_contract::duration;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    shared::Shared,
    store::{Key, Store},
    write::stamp,
};

/// Runs the pods of every Node, for ever.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut changes = shared.changes();
    loop {
        let now = shared.now();
        shared.write(|store| tend(store, now));
        // Between changes it looks again, since pods stop with time.
        if let Ok(Err(_closed)) = timeout(TURN, changes.changed()).await {
            return;
        }
    }
}

fn tend(store: &mut Store, now: Timestamp) {
    let own = store.list("pods", "").filter(|pod| pod["spec"]["nodeName"].is_string());
    let due: Vec<(Key, Due)> = own.map(|pod| (key(pod), due(pod, now))).collect();
    for (key, due) in due {
        match due {
            Due::Run(running) => drop(store.put(key, running)),
            Due::Remove => drop(store.remove(&key)),
            Due::Nothing => {}
        }
    }
}

fn key(pod: &Value) -> Key {
    let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
    ("pods".into(), text("namespace"), text("name"))
}

/// What a kubelet does about a pod.
enum Due {
    Nothing,
    Run(Value),
    Remove,
}

fn due(pod: &Value, now: Timestamp) -> Due {
    let meta = &pod["metadata"];
    if let Some(until) = meta["deletionTimestamp"].as_str().and_then(|text| text.parse::<Timestamp>().ok()) {
        let period = SignedDuration::from_secs(meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0));
        let stops_after =
            meta["annotations"][STOPS_AFTER].as_str().and_then(|text| duration::parse(text).ok());
        let stopped = until - period + stops_after.unwrap_or(AT_ONCE).min(period);
        let is_held = meta["finalizers"].as_array().is_some_and(|held| !held.is_empty());
        return if now >= stopped && !is_held { Due::Remove } else { Due::Nothing };
    }
    if pod["status"]["phase"] != "Pending" {
        return Due::Nothing;
    }
    let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": stamp(now)});
    let mut running = pod.clone();
    running["status"] = json!({"phase": "Running", "startTime": stamp(now), "conditions": [ready]});
    Due::Run(running)
}

/// Annotation of a pod whose containers take their time to stop, as a duration.
pub const STOPS_AFTER: &str = "sandbox.curfew.dev/stops-after";

/// What a container that heeds SIGTERM takes.
const AT_ONCE: SignedDuration = SignedDuration::from_millis(300);
const TURN: Duration = Duration::from_millis(200);
