//! The second lease: it rents its machines, and gives them back with a receipt.

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{FRAME, PATIENCE, Show, armed};
use crate::stage::{Credentials, Rental, Stage, StageError};

impl Show {
    /// Plays it. Whether every machine was given back, and the books say so.
    pub(super) async fn rented(&mut self, stage: &Stage) -> Result<bool, StageError> {
        self.screen.say(TYPED);
        stage.start_controller()?;
        Credentials::issue(PROVIDER, &stage.cloud, &stage.api).await?;
        let rental = Rental { replicas: MACHINES, ..Rental::new(PROVIDER, LASTS) };
        stage.api.add_lease(LEASE, &rental.spec()).await?;
        let begun = Instant::now();
        let machines = loop {
            let mut machines = stage.fleet.machines();
            machines.sort_by(|a, b| a.name.cmp(&b.name));
            if machines.len() < MACHINES {
                sleep(FRAME).await;
            } else if armed(&self.look(stage, LEASE, &machines).await?) {
                break machines;
            }
            if begun.elapsed() > PATIENCE {
                return Ok(self.broken("its machines are not armed"));
            }
        };
        self.screen.keep();
        let last = &machines[MACHINES - 1];
        last.kill_all();
        self.screen.say(&format!(
            "   Rented, joined and armed. Now kill -9 of agent and timer of {}: there, only the\n   \
             controller is left.",
            last.name
        ));
        let begun = Instant::now();
        let lease = loop {
            self.look(stage, LEASE, &machines).await?;
            let lease = stage.api.lease(LEASE).await?;
            if lease["status"]["releasedAt"].is_string() {
                break lease;
            }
            if begun.elapsed() > PATIENCE {
                return Ok(self.broken("it is not over"));
            }
        };
        // What is gone is drawn once more, with its end.
        self.look(stage, LEASE, &machines).await?;
        self.screen.keep();
        self.screen.say("   Given back. The receipts, out of the lease's status:");
        for line in receipts(&lease["status"]) {
            self.screen.say(&line);
        }
        let left = machines.iter().any(|machine| stage.cloud.contains(machine.id));
        Ok(!left || self.broken("a server is left"))
    }

    fn broken(&mut self, what: &str) -> bool {
        self.screen.keep();
        self.screen.say(&format!("   NOT as promised: {what}. The controller's log tells more."));
        false
    }
}

/// A line for each machine, and what all of it cost. Pure.
fn receipts(status: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let instances = status["instances"].as_array().into_iter().flatten();
    let line = |instance: &Value| {
        let receipt = &instance["receipt"];
        format!(
            "   {}  deleted by the {}, confirmed absent {} s after its end",
            text(&instance["name"]),
            text(&receipt["enforcedBy"]),
            receipt["overshootSeconds"],
        )
    };
    let cost = &status["cost"];
    let cost = cost["amount"].as_str().map(|amount| {
        format!("   Cost: {amount} {} for {} machine hours begun.", text(&cost["currency"]), cost["hours"])
    });
    instances.map(line).chain(cost).collect()
}

const TYPED: &str = "
3. The controller is back, and somebody types a lease that rents:

     kind: CapacityLease
     metadata: {name: lab}
     spec:
       duration: 35s
       rent: {providerRef: {name: hetzner}, region: fsn1, size: cpx22, replicas: 2}
";
const LEASE: &str = "lab";
const PROVIDER: &str = "hetzner";
const MACHINES: usize = 2;
const LASTS: std::time::Duration = std::time::Duration::from_secs(35);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_receipt_names_who_deleted_how_late_and_at_what_cost() {
        let receipt = json!({"enforcedBy": "controller", "overshootSeconds": 0});
        let status = json!({
            "instances": [{"name": "lab-1a2b3c4d-0", "receipt": receipt}],
            "cost": {"hours": 1, "amount": "0.0120", "currency": "EUR"},
        });
        assert_eq!(
            receipts(&status),
            [
                "   lab-1a2b3c4d-0  deleted by the controller, confirmed absent 0 s after its end",
                "   Cost: 0.0120 EUR for 1 machine hours begun.",
            ]
        );
        assert!(receipts(&status).iter().all(|line| line.len() <= 80));
    }
}
