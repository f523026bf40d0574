// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of CPUs, as lists.

use plan::CpuId;

/// Those of some CPUs that are not among others.
pub(crate) fn without(cpus: &[CpuId], others: &[CpuId]) -> Vec<CpuId> {
    cpus.iter().copied().filter(|cpu| !others.contains(cpu)).collect()
}

/// Each once, by its number.
pub(crate) fn sorted(cpus: impl IntoIterator<Item = CpuId>) -> Vec<CpuId> {
    let mut cpus: Vec<CpuId> = cpus.into_iter().collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}
