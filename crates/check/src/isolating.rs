// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's arguments that isolate CPUs.

use super::arguments::known_flags;
use super::machine::Machine;
use plan::CpuId;

/// The CPU with the highest number that this machine can have.
pub fn highest_cpu(machine: &Machine<'_>) -> CpuId {
    let present =
        machine.cpus("sys/devices/system/cpu/possible").and_then(|cpus| cpus.last().copied());
    present.or_else(|| machine.online.last().copied()).unwrap_or(CpuId(0))
}

/// The CPUs of an argument that can be read.
pub(crate) fn cpus_of(machine: &Machine<'_>, name: &str) -> Option<Vec<CpuId>> {
    machine.arguments.cpus(name, highest_cpu(machine))?.ok()
}

/// Arguments that isolate.
pub(crate) const ISOLATING: [&str; 4] = ["isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity"];

/// Whether an isolcpus isolates from the scheduler's balancing: with flags, only where `domain` is
/// one of them. Flags that the kernel does not know are none.
pub(crate) fn is_of_balancing(written: &str) -> bool {
    let flags = known_flags(written.split_once('=').map_or("", |(_, value)| value));
    flags.is_empty() || flags.contains(&"domain")
}
