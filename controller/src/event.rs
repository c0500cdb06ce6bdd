//! Events: what changed, for people who look with `kubectl describe`. Said once, when it changes.
//!
//! Which events there are is pure; sending them is a task of its own that nothing waits for.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{NodeCondition, ObjectReference},
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
};
use kube::{
    Client,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use tokio::sync::mpsc;
use tracing::debug;

use crate::{
    crd::{CapacityLeaseStatus, EnforcedBy, Instance, Phase, ProviderConfigStatus, Receipt},
    observe::{Lease, Node, Provider},
    provider::{CAN_DELETE, CATALOGUE, READY, SWEEP},
    rent::Reason,
    status::{
        ACCEPTED, DEADLINES_WRITTEN, DEGRADED, EXPIRY_CLAMPED, INSTANCES_READY, MACHINES_DISTINCT,
        NODE_CONFLICT, NODES_SKIPPED, PROVIDER_GONE, RESIDUE_FREE, WRITE_FAILED,
    },
};

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Notice {
    about: ObjectReference,
    warning: bool,
    reason: &'static str,
    /// Tells apart what would otherwise be counted as a repetition.
    action: String,
    note: String,
}

impl Notice {
    /// A deleted lease has let go of its machines.
    pub(crate) fn released(lease: &Lease) -> Self {
        let fate = if lease.rents() { "were given back" } else { "were told to stay" };
        let note = format!("the lease is over; its machines {fate}");
        Self::on_lease(&lease.name, &lease.uid, false, "Released", "Release", note)
    }

    /// A server that outlived its lease: is it gone?
    pub(crate) fn swept(provider: &Provider, gone: bool, note: String) -> Self {
        let about = reference("curfew.dev/v1alpha1", "ProviderConfig", &provider.name, &provider.uid);
        let reason = if gone { "Swept" } else { "SweepFailed" };
        Self { about, warning: true, reason, action: "Sweep".into(), note }
    }

    /// A Node whose lease and machine are gone.
    pub(crate) fn orphan_removed(name: &str, uid: &str, lease: &str) -> Self {
        let note = format!("the lease {lease} is over and no provider has its machine any more");
        let about = reference("v1", "Node", name, uid);
        Self { about, warning: false, reason: "OrphanRemoved", action: "Sweep".into(), note }
    }

    /// A machine's work is moved away, since the machine is deleted at `end`.
    pub(crate) fn draining(node: &str, uid: &str, end: Timestamp) -> Self {
        let end = end.strftime("%FT%TZ");
        Self {
            about: reference("v1", "Node", node, uid),
            warning: false,
            reason: "Draining",
            action: "Drain".into(),
            note: format!("work is moved away: the machine is deleted at {end}"),
        }
    }

    /// What kind of event it is.
    #[cfg(test)]
    pub(crate) const fn reason(&self) -> &'static str {
        self.reason
    }

    fn on_lease(
        name: &str,
        uid: &str,
        warning: bool,
        reason: &'static str,
        action: &str,
        note: String,
    ) -> Self {
        let about = reference("curfew.dev/v1alpha1", "CapacityLease", name, uid);
        Self { about, warning, reason, action: action.into(), note }
    }
}

/// What a lease's new status says that the old one did not.
pub(crate) fn of_lease(lease: &Lease, new: &CapacityLeaseStatus) -> Vec<Notice> {
    let old = &lease.status;
    let mut notices = Vec::new();
    let mut say = |warning, reason, action: &str, note: &str| {
        notices.push(Notice::on_lease(&lease.name, &lease.uid, warning, reason, action, note.into()));
    };
    for condition in &new.conditions {
        let was = old.conditions.iter().find(|was| was.type_ == condition.type_);
        if was.is_some_and(|was| (&was.status, &was.reason) == (&condition.status, &condition.reason)) {
            continue;
        }
        let (holds, why, note) =
            (condition.status == "True", condition.reason.as_str(), condition.message.as_str());
        match condition.type_.as_str() {
            ACCEPTED if holds => say(false, "Accepted", why, note),
            // It waits, as every first lease of a ProviderConfig does.
            ACCEPTED => say(why != "ProviderNotReady", "NotAccepted", why, note),
            DEADLINES_WRITTEN if why == WRITE_FAILED => say(true, "DeadlineWriteFailed", why, note),
            NODE_CONFLICT if holds => say(true, "NodeConflict", why, note),
            NODES_SKIPPED if holds => say(true, "ControlPlaneSkipped", why, note),
            MACHINES_DISTINCT if !holds => say(true, "MachinesNotDistinct", why, note),
            RESIDUE_FREE if !holds => say(true, "ResidueLeft", why, note),
            INSTANCES_READY if holds => say(false, "InstancesReady", why, note),
            DEGRADED if why == PROVIDER_GONE => say(true, "CannotDelete", why, note),
            EXPIRY_CLAMPED if holds => say(true, "ExpiryClamped", why, note),
            curfew_contract::annotation::WATCHDOG_ARMED if holds => say(false, "Armed", why, note),
            curfew_contract::annotation::WATCHDOG_ARMED if why != "NoNodes" => {
                say(true, "Unarmed", why, note);
            }
            _ => {}
        }
    }
    if new.phase == Some(Phase::Expired) && old.phase != new.phase {
        let fate = match (lease.keeps(), lease.rents()) {
            (true, _) => "are told to stay",
            (_, true) => "are deleted",
            (false, false) => "follow their last deadline",
        };
        say(false, "Expired", "Expire", &format!("the lease has ended; its machines {fate}"));
    }
    for instance in &new.instances {
        let was = old.instances.iter().find(|was| was.slot == instance.slot);
        let (slot, name) = (format!("Slot{}", instance.slot), instance.name.as_deref().unwrap_or_default());
        let id = instance.provider_id.as_deref().unwrap_or_default();
        if !id.is_empty() && was.is_none_or(|was| was.provider_id.is_none()) {
            say(false, "MachineRented", &slot, &format!("{name} is {id}"));
        }
        if let Some(receipt) =
            concluded(instance).filter(|_| was.and_then(concluded).is_none() && !id.is_empty())
        {
            let planned = matches!(receipt.enforced_by, Some(EnforcedBy::Controller | EnforcedBy::Agent));
            say(!planned, "MachineGone", &slot, &gone(instance, receipt));
        }
        let lost = instance.releasing.as_deref().filter(|reason| Reason::is_loss(reason));
        if let Some(reason) = lost.filter(|_| was.is_none_or(|was| was.releasing.is_none())) {
            let why = instance.last_error.as_deref().unwrap_or_default();
            say(true, "MachineLost", &slot, &format!("{name} {id}: {reason}, and it is not replaced; {why}"));
        }
    }
    if new.released_at.is_some() && old.released_at.is_none() {
        say(false, "Released", "Release", "the lease is over and holds no machine any more");
    }
    notices
}

fn concluded(instance: &Instance) -> Option<&Receipt> {
    instance.receipt.as_ref().filter(|receipt| receipt.evidence.is_some())
}

/// A receipt in one line.
fn gone(instance: &Instance, receipt: &Receipt) -> String {
    let at = |time: &Option<Time>| {
        time.as_ref().map_or_else(|| "-".into(), |at| at.0.strftime("%FT%TZ").to_string())
    };
    let by = receipt.enforced_by.map_or("nobody knows whom", EnforcedBy::as_str);
    format!(
        "{} ({}): deadline {}, deleted by {by}, accepted {}, action {}, absent {}, {} s late; {}",
        instance.name.as_deref().unwrap_or("-"),
        instance.provider_id.as_deref().unwrap_or("-"),
        at(&receipt.deadline),
        at(&receipt.delete_accepted_at),
        receipt.action_id.as_deref().unwrap_or("-"),
        at(&receipt.absent_at),
        receipt.overshoot_seconds.map_or_else(|| "-".into(), |late| late.to_string()),
        receipt.evidence.as_deref().unwrap_or_default(),
    )
}

/// What a provider's new status says that the old one did not.
pub(crate) fn of_provider(provider: &Provider, new: &ProviderConfigStatus) -> Vec<Notice> {
    let about = reference("curfew.dev/v1alpha1", "ProviderConfig", &provider.name, &provider.uid);
    let reason = |condition: &Condition| match (condition.type_.as_str(), condition.status.as_str()) {
        (READY, "True") => Some((false, "Ready")),
        (READY, "False") => Some((true, "NotReady")),
        (CAN_DELETE, "True") => Some((false, "CanDelete")),
        (CAN_DELETE, "False") => Some((true, "CannotDelete")),
        (CATALOGUE, "True") => Some((false, "CatalogueFetched")),
        (CATALOGUE, "False") => Some((true, "CatalogueOutdated")),
        (SWEEP, "True") => Some((false, "SweepGoesOn")),
        (SWEEP, "False") => Some((true, "SweepFrozen")),
        _ => None,
    };
    let notice = |condition: &Condition| {
        let (warning, reason) = reason(condition)?;
        let (action, note) = (condition.reason.clone(), condition.message.clone());
        Some(Notice { about: about.clone(), warning, reason, action, note })
    };
    changed(&provider.status.conditions, &new.conditions).filter_map(notice).collect()
}

/// The conditions that say something else than before.
pub(crate) fn changed<'c>(old: &'c [Condition], new: &'c [Condition]) -> impl Iterator<Item = &'c Condition> {
    let same = |a: &Condition, b: &Condition| (&a.status, &a.reason) == (&b.status, &b.reason);
    new.iter().filter(move |new| {
        let was = old.iter().find(|was| was.type_ == new.type_);
        was.is_none_or(|was| !same(was, new))
    })
}

/// What a Node's new condition says that the old one did not.
pub(crate) fn of_node(node: &Node, new: &NodeCondition) -> Option<Notice> {
    let old = node.full.as_ref().and_then(|full| full.condition.as_ref());
    if old.is_some_and(|old| (&old.status, &old.reason) == (&new.status, &new.reason)) {
        return None;
    }
    let armed = new.status == "True";
    Some(Notice {
        about: reference("v1", "Node", &node.name, &node.uid),
        warning: !armed,
        reason: if armed { "Armed" } else { "Unarmed" },
        action: new.reason.clone().unwrap_or_default(),
        note: format!(
            "{}: {}",
            new.reason.as_deref().unwrap_or_default(),
            new.message.as_deref().unwrap_or_default()
        ),
    })
}

fn reference(api_version: &str, kind: &str, name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(api_version.into()),
        kind: Some(kind.into()),
        name: Some(name.into()),
        uid: Some(uid.into()),
        ..ObjectReference::default()
    }
}

/// Where events are handed in. Never waits; when too many wait already, the event is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Events(mpsc::Sender<Notice>);

impl Events {
    /// The way in, and what is to be given to [`send`].
    pub(crate) fn new() -> (Self, mpsc::Receiver<Notice>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    pub(crate) fn publish(&self, notice: Notice) {
        if let Err(error) = self.0.try_send(notice) {
            debug!(%error, "event dropped");
        }
    }
}

/// Sends events, for ever.
pub(crate) async fn send(client: Client, mut notices: mpsc::Receiver<Notice>) {
    let recorder = Recorder::new(client, Reporter::from("curfew-controller"));
    while let Some(Notice { about, warning, reason, action, note }) = notices.recv().await {
        let type_ = if warning { EventType::Warning } else { EventType::Normal };
        let note = Some(note.chars().take(LONGEST_NOTE).collect());
        let event = Event { type_, reason: reason.into(), note, action, secondary: None };
        let sent = tokio::time::timeout(CALL, recorder.publish(&event, &about)).await;
        if !matches!(sent, Ok(Ok(()))) {
            debug!(reason, "event not sent");
        }
    }
}

const WAITING: usize = 1024;
const CALL: Duration = Duration::from_secs(8);
/// The API server refuses notes beyond 1 kB. Source: events.k8s.io/v1, Event.note.
const LONGEST_NOTE: usize = 1000;
