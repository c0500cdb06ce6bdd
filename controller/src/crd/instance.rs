//! What has become of one rented machine.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{known, without_defaults};

/// One machine that was asked of the provider. It stays listed when it is gone: its receipt is the proof.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults, extend("required" = ["slot"]))]
pub struct Instance {
    /// Which of the lease's machines: 0 to `replicas` − 1.
    #[schemars(with = "i32", range(min = 0))]
    pub slot: u32,
    /// The server's name at the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The provider's identifier, as on the Node: `hcloud://12345`.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Name of its Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// For people only; nothing depends on it.
    #[serde(deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    pub phase: Option<InstancePhase>,
    /// When the provider was first going to be asked for it: written before the call, so that a machine whose
    /// creation nobody heard of is looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempted_at: Option<Time>,
    /// When the provider created it, by the provider's clock. It costs from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
    /// When its Node became Ready, as the Node itself says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_ready_at: Option<Time>,
    /// Until when the label at the provider shields it from the sweeper, as the provider confirmed it. No deadline
    /// is written that is later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labelled_until: Option<Time>,
    /// Why it is being given back. Final: it is not taken into use again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub releasing: Option<String>,
    /// What went wrong last, and with which call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Receipt")]
    pub receipt: Option<Receipt>,
    /// What may outlive it at the provider, as last seen while it was there. Looked up once it is gone: see `residue`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<Attachment>,
    /// `VolumeAttachments` that outlived it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_attachments: Vec<String>,
    /// When its Node was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_deleted_at: Option<Time>,
}

/// Something at the provider that is attached to a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults)]
pub struct Attachment {
    /// `Volume`, `PrimaryIP`, `FloatingIP`, `LoadBalancer`.
    pub kind: String,
    /// Its number at the provider.
    #[schemars(with = "i64", range(min = 0))]
    pub id: u64,
}

/// For display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InstancePhase {
    /// Asked for, or about to be.
    Launching,
    /// Created; its Node is not Ready yet.
    Registering,
    /// Its Node is, or was, Ready.
    Ready,
    /// Being given back.
    Releasing,
    /// Confirmed absent.
    Released,
    /// It never came.
    Failed,
}

/// How a machine ended: what was promised, who kept the promise, and what proves it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults)]
pub struct Receipt {
    /// By when it was to be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// Whose deletion it was.
    #[serde(deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    pub enforced_by: Option<EnforcedBy>,
    /// When the provider accepted the deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_accepted_at: Option<Time>,
    /// When the provider first said that there is no such machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absent_at: Option<Time>,
    /// The provider's number of the deletion, for a question to its support.
    #[serde(rename = "actionID", skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// Seconds from `deadline` to `absentAt`. Negative: it was gone before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overshoot_seconds: Option<i64>,
    /// What was seen that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// Who had the machine deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EnforcedBy {
    /// The controller, at the lease's end.
    Controller,
    /// The machine itself.
    Agent,
    /// The machine's second, independent timer.
    Backstop,
    /// The sweeper, within the cluster or outside.
    Sweeper,
    /// Somebody else.
    External,
}

impl EnforcedBy {
    /// For people.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Controller => "the controller",
            Self::Agent => "the agent",
            Self::Backstop => "the backstop",
            Self::Sweeper => "the sweeper",
            Self::External => "somebody else",
        }
    }
}
