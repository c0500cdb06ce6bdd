//! Evictions and disruption budgets: what the API server itself does, which only reads and spends what a budget's status
//! allows. Whoever counts healthy pods and writes that status is somebody else. Pure.

use serde_json::{Value, json};

use super::{
    refusal::Refusal,
    store::{Key, Store},
    write::stamp,
};
use jiff::Timestamp;

/// What stands in the way of an eviction.
#[derive(Debug, PartialEq)]
pub(crate) enum Permit {
    /// Nothing.
    Free,
    /// A budget that allows it, as it is once this eviction has been spent.
    Spends(Key, Value),
    /// More than one budget: the server says 201, and that it failed.
    Failed(Value),
}

/// Whether `pod` may be evicted now.
pub(crate) fn permit(store: &Store, pod: &Value, now: Timestamp) -> Result<Permit, Refusal> {
    let deleting = pod["metadata"].get("deletionTimestamp").is_some();
    if deleting || matches!(pod["status"]["phase"].as_str(), Some("Pending" | "Succeeded" | "Failed")) {
        return Ok(Permit::Free);
    }
    let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default();
    let budgets = store.list("poddisruptionbudgets.policy", namespace);
    let budgets: Vec<&Value> = budgets.filter(|budget| covers(&budget["spec"]["selector"], pod)).collect();
    match budgets.as_slice() {
        [] => Ok(Permit::Free),
        [budget] => spend(budget, pod, now),
        _ => Ok(Permit::Failed(json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 500,
            "message": "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        }))),
    }
}

fn spend(budget: &Value, pod: &Value, now: Timestamp) -> Result<Permit, Refusal> {
    let meta = &budget["metadata"];
    let (name, status) = (meta["name"].as_str().unwrap_or_default(), &budget["status"]);
    let number = |field: &str| status[field].as_i64().unwrap_or(0);
    let (healthy, desired) = (number("currentHealthy"), number("desiredHealthy"));
    if !is_ready(pod) && healthy >= desired && desired > 0 {
        return Ok(Permit::Free);
    }
    if number("observedGeneration") < meta["generation"].as_i64().unwrap_or(0) {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(Refusal::disruption_budget(&why, Some(10)));
    }
    let allowed = number("disruptionsAllowed");
    if allowed < 0 {
        let what = format!("poddisruptionbudgets.policy {name:?}");
        return Err(Refusal::forbidden(&what, "pdb disruptions allowed is negative"));
    }
    if allowed == 0 {
        let why =
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently");
        return Err(Refusal::disruption_budget(&why, None));
    }
    let mut spent = budget.clone();
    spent["status"]["disruptionsAllowed"] = (allowed - 1).into();
    spent["status"]["disruptedPods"][pod["metadata"]["name"].as_str().unwrap_or_default()] =
        stamp(now).into();
    let namespace = meta["namespace"].as_str().unwrap_or_default();
    Ok(Permit::Spends(("poddisruptionbudgets.policy".into(), namespace.into(), name.into()), spent))
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|c| c["type"] == "Ready" && c["status"] == "True")
}

/// A selector's `matchLabels`; one that is empty covers nothing here, as with the eviction API. Expressions are beyond
/// this double, and cover nothing either.
fn covers(selector: &Value, pod: &Value) -> bool {
    let wanted = selector["matchLabels"].as_object().filter(|labels| !labels.is_empty());
    let labels = &pod["metadata"]["labels"];
    selector.get("matchExpressions").is_none()
        && wanted.is_some_and(|wanted| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)))
}
