//! Pods of the machine under test, a budget that covers them, and what was asked of them.

use curfew_sandbox::cluster::{Call, STOPS_AFTER};
use curfew_tests::{Kept, World};
use serde_json::{Value, json};

const PODS: (&str, &str, &str) = ("", "v1", "pods");
const BUDGETS: (&str, &str, &str) = ("policy", "v1", "poddisruptionbudgets");
const BUDGET: &str = "work";

/// Adds a pod to the first machine, and waits until it runs. `more` is merged into it.
pub(super) async fn add(world: &World, name: &str, more: &Value) -> Kept {
    let mut pod = json!({
        "metadata": {"name": name, "labels": {"app": "work"}},
        "spec": {"nodeName": world.machine().name, "containers": [{"name": "c", "image": "pause"}]},
    });
    for half in ["metadata", "spec"] {
        for (key, value) in more[half].as_object().into_iter().flatten() {
            pod[half][key] = value.clone();
        }
    }
    world.cluster().create(PODS, "default", &pod)?;
    world.becomes("a running pod", || runs(world, name).then_some(())).await
}

/// As [`add`]'s `more`: it has an hour to stop, and takes it.
pub(super) fn slow() -> Value {
    json!({"metadata": {"annotations": {STOPS_AFTER: "1h"}}, "spec": {"terminationGracePeriodSeconds": 3600}})
}

pub(super) fn of(world: &World, name: &str) -> Option<Value> {
    world.cluster().object("pods", "default", name)
}

/// Whether it runs and is not on its way out.
pub(super) fn runs(world: &World, name: &str) -> bool {
    of(world, name).is_some_and(|pod| {
        pod["status"]["phase"] == "Running" && pod["metadata"].get("deletionTimestamp").is_none()
    })
}

/// A budget that covers every pod of [`add`], and whose status nobody has written yet.
pub(super) fn budget(world: &World) -> Kept {
    let spec = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "work"}}});
    world.cluster().create(BUDGETS, "default", &json!({"metadata": {"name": BUDGET}, "spec": spec}))?;
    Ok(())
}

/// As the disruption controller writes it.
pub(super) async fn allow(world: &World, disruptions: u32) -> Kept {
    Ok(world.api.allow_disruptions(BUDGET, disruptions).await?)
}

/// Every eviction that was asked for and answered, oldest first.
pub(super) fn evictions(world: &World) -> Vec<Call> {
    let is = |call: &Call| call.subresource.as_deref() == Some("eviction") && call.code != 0;
    world.cluster().calls().into_iter().filter(is).collect()
}
