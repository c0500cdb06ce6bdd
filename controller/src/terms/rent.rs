//! What a lease rents, parsed.

use curfew_provider::{Architecture, CpuKind, Requirements, Strategy};

use crate::crd::{self, RentSpec, RequirementsSpec};

use super::Problem;

/// What is to be rented, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RentTerms {
    /// Name of the `ProviderConfig`.
    pub(crate) provider: String,
    /// In the provider's words.
    pub(crate) region: String,
    pub(crate) want: Want,
    /// How many machines.
    pub(crate) replicas: u32,
}

/// Which machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// The best one that has at least this.
    Requirements(Requirements),
    /// This one, in the provider's words.
    Size(String),
}

impl RentTerms {
    pub(super) fn read(spec: &RentSpec) -> Result<Self, Problem> {
        let want = match (&spec.size, &spec.requirements) {
            (Some(size), None) => Want::Size(size.clone()),
            (None, Some(requirements)) => Want::Requirements(read(requirements)?),
            (None, None) | (Some(_), Some(_)) => {
                return Err(Problem::NotOne("rent", "size and requirements"));
            }
        };
        Ok(Self {
            provider: spec.provider_ref.name.clone(),
            region: spec.region.clone(),
            want,
            replicas: count("rent.replicas", spec.replicas)?,
        })
    }
}

fn read(spec: &RequirementsSpec) -> Result<Requirements, Problem> {
    Ok(Requirements {
        min_cpu: count("rent.requirements.minCpu", spec.min_cpu)?,
        min_memory_mib: spec.min_memory.as_deref().map_or(Ok(0), mebibytes)?,
        architecture: spec.architecture.map(|architecture| match architecture {
            crd::Architecture::Amd64 => Architecture::Amd64,
            crd::Architecture::Arm64 => Architecture::Arm64,
        }),
        cpu: spec.cpu_type.map(|cpu| match cpu {
            crd::CpuType::Dedicated => CpuKind::Dedicated,
            crd::CpuType::Shared => CpuKind::Shared,
        }),
        strategy: match spec.strategy {
            crd::Strategy::LowestPrice => Strategy::LowestPrice,
            crd::Strategy::LowestPricePerCore => Strategy::LowestPricePerCore,
        },
    })
}

/// 1 to 64.
fn count(field: &'static str, n: i32) -> Result<u32, Problem> {
    let bounds = 1..=64;
    let refused = || Problem::NotInRange(field, n.into(), bounds.clone());
    u32::try_from(n).ok().filter(|_| bounds.contains(&n.into())).ok_or_else(refused)
}

/// Rounded up: a machine with less would not do.
fn mebibytes(text: &str) -> Result<u64, Problem> {
    let units = UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)));
    let bytes = units.and_then(|(digits, bytes)| {
        let whole = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|n| whole && *n > 0)?.checked_mul(bytes)
    });
    bytes.map(|bytes| bytes.div_ceil(1 << 20)).ok_or_else(|| Problem::NotMemory(text.into()))
}

/// As Kubernetes writes quantities.
const UNITS: [(&str, u64); 6] = [
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];
