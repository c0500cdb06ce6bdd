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
