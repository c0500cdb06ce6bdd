//! With whom machines are rented, with which credential and from which image.

#![expect(clippy::duplicated_attributes, reason = "one printcolumn after the other")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DURATION, WatchdogSpec, without_defaults};

/// One account at one provider, and what machines are made of there.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "curfew.dev",
    version = "v1alpha1",
    kind = "ProviderConfig",
    plural = "providerconfigs",
    shortname = "pcfg",
    status = "ProviderConfigStatus",
    derive = "PartialEq",
    doc = "A ProviderConfig is an account at a cloud provider, and says what the machines rented there are made of. Every Secret that it names is read in the controller's own namespace.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "CanDelete",
        type_ = "string",
        description = "Whether the credential may delete what it created.",
        json_path = ".status.conditions[?(@.type==\"CanDelete\")].status"
    ),
    printcolumn(name = "Servers", type_ = "integer", json_path = ".status.servers"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigSpec {
    /// An account at Hetzner Cloud: one of its projects.
    pub hetzner: HetznerSpec,

    /// The user-data of every machine: a template that `curfew-controller cloud-init --for-leases` prints.
    pub user_data_secret_ref: UserDataRef,

    /// The credential with which a machine deletes itself. Without it no machine is rented from a provider that
    /// bills a machine which is merely powered off, as Hetzner does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NodeCredentialSpec")]
    pub node_credential: Option<NodeCredentialSpec>,

    /// For leases that say nothing themselves, and the longest life of any machine.
    #[serde(default)]
    pub watchdog: ProviderWatchdogSpec,
}

/// An account at Hetzner Cloud. Names are those of the project that the credential belongs to.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.publicIPv4 || self.publicIPv6 || (has(self.networks) && size(self.networks) > 0)").message("a machine without publicIPv4 and publicIPv6 needs one of networks, or it can neither join nor delete itself"))]
pub struct HetznerSpec {
    /// The controller's credential: a token that may read and write.
    pub credentials_secret_ref: TokenRef,

    /// Another address of the API, for tests and proxies. Without it: `https://api.hetzner.cloud`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 253), regex(pattern = ENDPOINT))]
    pub endpoint: Option<String>,

    /// What machines boot from.
    pub image: ImageSpec,

    /// Names of the SSH keys that may enter. None: nobody can, and Hetzner mails a root password.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 128)))]
    pub ssh_keys: Vec<String>,

    /// Names of the firewalls that machines are put behind from their first second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 5), inner(length(min = 1, max = 128)))]
    pub firewalls: Vec<String>,

    /// Names of the private networks that machines are attached to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 3), inner(length(min = 1, max = 128)))]
    pub networks: Vec<String>,

    /// Whether machines have a public IPv4 address. It costs extra. Without it: yes.
    #[serde(rename = "publicIPv4", default = "yes")]
    pub public_ipv4: bool,

    /// Whether machines have a public IPv6 network. Without it: yes.
    #[serde(rename = "publicIPv6", default = "yes")]
    pub public_ipv6: bool,
}

/// Exactly one of the three.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("(has(self.name) ? 1 : 0) + (has(self.id) ? 1 : 0) + (has(self.selector) ? 1 : 0) == 1").message("exactly one of name, id and selector must be set"))]
pub struct ImageSpec {
    /// Name of an image that the provider offers: `debian-12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 128))]
    pub name: Option<String>,

    /// Number of an image or a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", range(min = 1, max = 9_007_199_254_740_991_i64))]
    pub id: Option<i64>,

    /// The newest snapshot that carries these labels and fits the machine: `role=worker,release=stable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 256))]
    pub selector: Option<String>,
}

/// Exactly one of the two.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.secretRef) != has(self.onImage)").message("exactly one of secretRef and onImage must be set"))]
pub struct NodeCredentialSpec {
    /// The token, put into the user-data of each machine where the template says `@CURFEW_TOKEN@`. Whoever can read
    /// a machine's user-data can read it: on Hetzner every process on that machine, unless it is kept from
    /// 169.254.169.254.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TokenRef")]
    pub secret_ref: Option<TokenRef>,

    /// The image brings the token, or the user-data fetches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    #[x_kube(validation = Rule::new("self").message("onImage can only be true: without a credential leave nodeCredential out"))]
    pub on_image: Option<bool>,
}

/// A token in a Secret of the controller's own namespace.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Which of its keys. Without it: `token`.
    #[serde(default = "token")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// A user-data template in a Secret of the controller's own namespace.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserDataRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Which of its keys. Without it: `user-data`.
    #[serde(default = "user_data")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// How far ahead deadlines are written for leases that do not say, and the longest life of any machine.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderWatchdogSpec {
    /// As a lease would say it.
    #[serde(flatten)]
    pub policy: WatchdogSpec,

    /// No machine lives longer, whatever its lease says, counted from the acceptance of the lease: the machine knows
    /// it from its first second, before it has joined. From 5 min to 400 days (9600h). Without it: 24 h.
    #[serde(default = "one_day")]
    #[schemars(extend("format" = "duration"), regex(pattern = DURATION), length(max = 32))]
    #[x_kube(validation = Rule::new("self >= duration('5m') && self <= duration('9600h')").message("maxLifetime must be from 5m to 9600h (400 days)"))]
    pub max_lifetime: String,
}

impl Default for ProviderWatchdogSpec {
    fn default() -> Self {
        Self { policy: WatchdogSpec::default(), max_lifetime: one_day() }
    }
}

/// What is. Written by the controller only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults)]
pub struct ProviderConfigStatus {
    /// `Ready`, `CanDelete`, `Catalogue`, `Sweep`.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What the provider offers, as last fetched.
    pub catalogue: Option<CatalogueStatus>,
    /// Servers of this cluster that the provider lists.
    pub servers: Option<i32>,
}

/// What a provider offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults)]
pub struct CatalogueStatus {
    /// Currency of its prices.
    pub currency: String,
    /// How many sizes.
    pub sizes: i32,
    /// Where.
    pub regions: Vec<String>,
    /// When it was fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched_at: Option<Time>,
}

fn one_day() -> String {
    "24h".into()
}

fn token() -> String {
    "token".into()
}

fn user_data() -> String {
    "user-data".into()
}

const fn yes() -> bool {
    true
}

/// Nothing but where: a path or a query would end up in the middle of every request.
const ENDPOINT: &str = r"^https?://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._/-]*)?$";
