//! What a lease rents.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which machines to rent, and where. Nothing of it can be changed but `replicas`, which can only be lowered: for
/// anything else create another lease.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.size) != has(self.requirements)").message("exactly one of size and requirements must be set"))]
#[x_kube(validation = Rule::new("has(self.size) == has(oldSelf.size)").message("size and requirements cannot be exchanged: create another lease"))]
pub struct RentSpec {
    /// With whom, with which credential and from which image.
    #[x_kube(validation = Rule::new("self == oldSelf").message("providerRef cannot be changed: create another lease"))]
    pub provider_ref: ProviderRef,

    /// Where, in the provider's own words. Hetzner: a location such as `fsn1`.
    #[schemars(length(min = 1, max = 63), regex(pattern = NAME))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("region cannot be changed: create another lease"))]
    pub region: String,

    /// The provider's name of a size. Hetzner: a server type such as `cpx22`. Either this or `requirements`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 63), regex(pattern = NAME))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("size cannot be changed: create another lease"))]
    pub size: Option<String>,

    /// What a machine must have at least: the cheapest size that has it, and is to be had in the region, is taken
    /// when the lease is accepted. `status.selection` says which, and why no other. Either this or `size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RequirementsSpec")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("requirements cannot be changed: create another lease"))]
    pub requirements: Option<RequirementsSpec>,

    /// How many machines, 1 to 64. Without it: 1. May be lowered: the surplus is released, newest first. A machine that is lost or
    /// that never came is not replaced.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    #[x_kube(validation = Rule::new("self <= oldSelf").message("replicas can only be lowered: for more machines create another lease"))]
    pub replicas: i32,
}

/// Refers to a `ProviderConfig`.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderRef {
    /// Name of the `ProviderConfig`.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// What a machine must have at least. Of the sizes that fit, the one that `strategy` prefers is rented; of equal ones
/// the one with less memory, then the first by name.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequirementsSpec {
    /// Cores, 1 to 64. Without it: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    pub min_cpu: i32,

    /// Memory, a whole number with a unit: `8Gi`, `16384Mi`, `16G`. Without it: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = MEMORY))]
    pub min_memory: Option<String>,

    /// Without it: either. Mind that the image must exist for the one that is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Architecture")]
    pub architecture: Option<Architecture>,

    /// Cores shared with other customers, or not. Without it: either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CpuType")]
    pub cpu_type: Option<CpuType>,

    /// `LowestPrice`: the lowest price of the machine. `LowestPricePerCore`: of each of its cores; the machine may
    /// be larger than asked for, and dearer. Without it: `LowestPrice`.
    #[serde(default)]
    pub strategy: Strategy,
}

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// x86-64.
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

/// Whose the cores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CpuType {
    /// Shared with other customers.
    Shared,
    /// The machine's own.
    Dedicated,
}

/// Which of the sizes that fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Strategy {
    /// The cheapest machine.
    #[default]
    LowestPrice,
    /// The cheapest core.
    LowestPricePerCore,
}

const fn one() -> i32 {
    1
}

/// No space, no slash: these become part of a request.
const NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]*$";
const MEMORY: &str = "^[1-9][0-9]{0,6}(Mi|Gi|Ti|M|G|T)$";
