//! What the machines of a lease have cost so far, as the provider bills them. Pure.
//!
//! From the prices that were noted when the lease was accepted: a catalogue that changed, or cannot be read, changes no
//! bill. An estimate without taxes, traffic and what outlives a machine.

use curfew_provider::{Price, cost};
use jiff::Timestamp;

use crate::{
    crd::{Cost, Instance},
    observe::Lease,
    release,
};

/// What `lease` has cost until `now`. `None`: it rents nothing, or the price of its machines is not known.
pub(crate) fn of(lease: &Lease, instances: &[Instance], now: Timestamp) -> Option<Cost> {
    let selection = lease.status.selection.as_ref()?;
    let price = |text: &Option<String>| text.as_deref()?.parse::<Price>().ok();
    let hourly = price(&selection.hourly)?;
    let monthly = price(&selection.monthly).unwrap_or(Price::MAX);
    let (mut hours, mut amount) = (0_u64, Price::ZERO);
    for instance in instances {
        let Some(created) = instance.created_at.as_ref() else { continue };
        let machine = cost(created.0, release::absent(instance).unwrap_or(now), hourly, monthly);
        hours = hours.saturating_add(machine.hours);
        amount = amount.checked_add(machine.amount).unwrap_or(Price::MAX);
    }
    let currency = selection.currency.clone().unwrap_or_default();
    Some(Cost { hours, amount: amount.to_string(), currency })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fixture::{NOW, lease, secs};

    fn costs(selection: &Value, instances: &Value, s: i64) -> Option<Cost> {
        let lease = lease("burst", "10m", |object| {
            object["status"]["selection"] = selection.clone();
            object["status"]["instances"] = instances.clone();
        });
        of(&lease, &lease.status.instances, NOW + secs(s))
    }

    #[test]
    fn every_started_hour_of_every_machine_counts_and_no_catalogue_is_asked() {
        let selection =
            json!({ "chosen": "cpx22", "hourly": "0.0128", "monthly": "7.99", "currency": "EUR" });
        let gone = json!({ "absentAt": (NOW + secs(3601)).to_string() });
        let instances = json!([
            { "slot": 0, "createdAt": NOW.to_string(), "receipt": gone },
            { "slot": 1, "createdAt": NOW.to_string() },
            { "slot": 2, "attemptedAt": NOW.to_string() }
        ]);
        let cost = costs(&selection, &instances, 60).unwrap();
        assert_eq!((cost.hours, cost.amount.as_str(), cost.currency.as_str()), (3, "0.0384", "EUR"));
        let cost = costs(&selection, &instances, 10 * 3600).unwrap();
        assert_eq!((cost.hours, cost.amount.as_str()), (12, "0.1536"), "one that is gone costs no more");
    }

    #[test]
    fn a_price_that_is_not_known_is_no_price() {
        let instances = json!([{ "slot": 0, "createdAt": NOW.to_string() }]);
        for selection in
            [json!(null), json!({ "chosen": "cpx22" }), json!({ "chosen": "x", "hourly": "cheap" })]
        {
            assert_eq!(costs(&selection, &instances, 60), None, "{selection}");
        }
    }
}
