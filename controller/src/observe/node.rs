//! A Node as last read, and when each heartbeat was seen to change.

use std::collections::BTreeMap;

use curfew_contract::{Heartbeat, Instruction, Refusal, annotation};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1 as core;
use kube::core::ObjectMeta;

use crate::{clock::Uptime, condition::Sighting, distinct, release::Moving};

/// A Node's metadata, and what only the full object tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) version: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) deadline: Option<String>,
    pub(crate) deadline_for: Option<String>,
    pub(crate) grace: Option<String>,
    pub(crate) sighting: Option<Sighting>,
    pub(crate) full: Option<Full>,
    /// Since when this controller has known the Node.
    pub(crate) known_since: Uptime,
    /// Deadlines that stood before, and when each was replaced, oldest first.
    pub(crate) replaced: Vec<(Option<String>, Uptime)>,
    /// Why the last write of the deadline failed.
    pub(crate) write_error: Option<String>,
    /// By what overlay networks find it: annotation and value.
    pub(crate) overlay: Vec<(&'static str, String)>,
    /// [`annotation::DRAINED_FOR`]: it bears a cordon of ours.
    pub(crate) drained_for: Option<String>,
    /// How far its drain has come.
    pub(crate) moving: Moving,
    /// Since when it says that its machine is gone for good, as far as this controller has looked.
    pub(crate) out_of_service: Option<Timestamp>,
}

/// Read once per UID, and again while `provider_id` is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Full {
    pub(crate) provider_id: Option<String>,
    /// `WatchdogArmed`, as it stands.
    pub(crate) condition: Option<core::NodeCondition>,
    pub(crate) machine_id: Option<String>,
    pub(crate) system_uuid: Option<String>,
    pub(crate) internal_ips: Vec<String>,
    pub(crate) pod_cidrs: Vec<String>,
    /// Since when it is Ready, as the Node itself says.
    pub(crate) ready_since: Option<Timestamp>,
    /// Which version of the Node this is.
    pub(crate) version: String,
}

impl Node {
    /// Reads a Node's metadata. `relisted`: it comes from a list, so a change may be older than this moment.
    pub(crate) fn read(meta: ObjectMeta, known: Option<&Self>, up: Uptime, relisted: bool) -> Self {
        let uid = meta.uid.unwrap_or_default();
        let mut annotations = meta.annotations.unwrap_or_default();
        let deadline = annotations.remove(annotation::DEADLINE);
        let known = known.filter(|known| known.uid == uid).cloned();
        let new = || Self { uid, known_since: up, deadline: deadline.clone(), ..Self::default() };
        let mut node = known.unwrap_or_else(new);
        node.name = meta.name.unwrap_or_default();
        node.version = meta.resource_version.unwrap_or_default();
        node.labels = meta.labels.unwrap_or_default();
        node.overlay = distinct::overlay(&annotations);
        node.drained_for = annotations.remove(annotation::DRAINED_FOR);
        node.grace = annotations.remove(annotation::GRACE);
        let beat = annotations.remove(annotation::HEARTBEAT);
        node.sighting = beat.map(|value| Sighting::of(value, node.sighting.take(), up, relisted));
        node.take_deadline(deadline, annotations.remove(annotation::DEADLINE_FOR), up);
        node
    }

    /// The annotations say this now.
    pub(crate) fn take_deadline(&mut self, value: Option<String>, meant_for: Option<String>, up: Uptime) {
        if value != self.deadline {
            let old = std::mem::replace(&mut self.deadline, value);
            self.replaced.push((old, up));
            let surplus = self.replaced.len().saturating_sub(REMEMBERED);
            self.replaced.drain(..surplus);
        }
        self.deadline_for = meant_for;
    }

    /// How long the deadline that the agent acknowledges had been replaced when its last beat came.
    pub(crate) fn unseen_for(&self, beat: &Heartbeat, beat_came: Uptime, now: Timestamp) -> SignedDuration {
        if beat.deadline_seen == self.deadline(now) {
            return SignedDuration::ZERO;
        }
        beat_came.since(self.replaced_at(beat.deadline_seen, now).unwrap_or(self.known_since))
    }

    /// When this deadline, which stood once, was replaced, as far as is remembered.
    pub(crate) fn replaced_at(&self, deadline: Option<Timestamp>, now: Timestamp) -> Option<Uptime> {
        let meant = |value: &Option<String>| match Instruction::read(value.as_deref(), None, None, now) {
            Ok(Instruction::At(deadline)) => Some(deadline.at()),
            _ => None,
        };
        self.replaced.iter().rev().find(|(value, _)| meant(value) == deadline).map(|(_, at)| *at)
    }

    /// The providerID, once it is known.
    pub(crate) fn provider_id(&self) -> Option<&str> {
        self.full.as_ref()?.provider_id.as_deref()
    }

    /// What the annotation asks of the agent at present.
    pub(crate) fn instruction(&self, now: Timestamp) -> Result<Instruction, Refusal> {
        let meant_for = self.deadline_for.as_deref();
        Instruction::read(self.deadline.as_deref(), meant_for, self.provider_id(), now)
    }

    /// The deadline the annotation states, if it states one.
    pub(crate) fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        match self.instruction(now) {
            Ok(Instruction::At(deadline)) => Some(deadline.at()),
            _ => None,
        }
    }

    /// Whether the cluster itself would go with this machine.
    pub(crate) fn is_control_plane(&self) -> bool {
        CONTROL_PLANE.iter().any(|label| self.labels.contains_key(*label))
    }
}

impl From<&core::Node> for Full {
    fn from(node: &core::Node) -> Self {
        let (spec, status) = (node.spec.as_ref(), node.status.as_ref());
        let conditions = status.and_then(|status| status.conditions.as_deref());
        let condition = |type_: &str| conditions?.iter().find(|condition| condition.type_ == type_);
        let info = status.and_then(|status| status.node_info.as_ref());
        let addresses = status.and_then(|status| status.addresses.as_deref()).unwrap_or_default();
        let internal = addresses.iter().filter(|address| address.type_ == "InternalIP");
        Self {
            provider_id: spec.and_then(|spec| spec.provider_id.clone()).filter(|id| !id.is_empty()),
            condition: condition(annotation::WATCHDOG_ARMED).cloned(),
            ready_since: condition(READY)
                .filter(|ready| ready.status == "True")
                .and_then(|ready| ready.last_transition_time.as_ref())
                .map(|since| since.0),
            version: node.metadata.resource_version.clone().unwrap_or_default(),
            machine_id: info.and_then(|info| distinct::identifier(&info.machine_id)),
            system_uuid: info.and_then(|info| distinct::identifier(&info.system_uuid)),
            internal_ips: internal.map(|address| address.address.clone()).collect(),
            pod_cidrs: spec.and_then(|spec| spec.pod_cidrs.clone()).unwrap_or_default(),
        }
    }
}

/// Of a Node, by its kubelet.
const READY: &str = "Ready";
/// Enough for a deadline that rolls every 10 s and an agent that beats every 5 min.
const REMEMBERED: usize = 32;

/// Source: kubeadm, which sets the first and, up to 1.24, also set the second.
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
