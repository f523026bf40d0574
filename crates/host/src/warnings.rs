// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings about the machine that affect its figures.
//!
//! A pure judgement on two snapshots. A warning is raised only where latencies are affected or
//! cannot be compared; everything else is a fact and stays one. (Real-time throttling, for one:
//! every machine is set up so, and it bites only programs that leave the CPU no rest.)

use model::{CpuFacts, FrequencyChange, HostFacts, Warning};
use plan::{CpuId, MachineTime};
use std::collections::{BTreeMap, BTreeSet};

/// Clocks behind a bus, read by slow input or output, or counted by the tick.
pub const SLOW_CLOCKSOURCES: [&str; 5] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
/// Fast clocks, best first, by the architecture that has them.
pub const FAST_CLOCKSOURCES: [&str; 3] = ["tsc", "kvm-clock", "arch_sys_counter"];
/// A frequency that differs by more than this share is another frequency; less is the reading's
/// noise.
const FREQUENCY_TOLERANCE_PERCENT: u64 = 10;
/// What to warn of, given the snapshots before and after a run. In virtual time no hypervisor is
/// warned of: nothing else runs in it.
pub fn warnings(before: &HostFacts, after: &HostFacts, time: MachineTime) -> Vec<Warning> {
    let all = [
        governor(before, after),
        frequency(before, after),
        clocksource_changed(before, after),
        clocksource_slow(before, after),
        hypervisor(before, after).filter(|_| time == MachineTime::Real),
        cpus_changed(before, after),
    ];
    all.into_iter().flatten().collect()
}

/// Warns of isolated CPUs, or such that are set apart otherwise, that were left out of `measured`
/// although they are `usable`. For runs whose CPUs were not named: those take the affinity they
/// inherited, and isolated CPUs, which are isolated to be measured, are never in it.
pub fn isolated_not_measured(
    isolated: &[CpuId],
    measured: &[CpuId],
    usable: &[CpuId],
) -> Option<Warning> {
    let left_out: Vec<CpuId> = isolated
        .iter()
        .filter(|cpu| usable.contains(cpu) && !measured.contains(cpu))
        .copied()
        .collect();
    let warning = |left_out| Warning::IsolatedNotMeasured {
        isolated: isolated.to_vec(),
        measured: measured.to_vec(),
        left_out,
    };
    (!left_out.is_empty()).then(|| warning(left_out))
}

/// Warns of CPUs that are online and that the process may not ask for, as where its cpuset lacks
/// them. For runs whose CPUs were not named.
pub fn cpus_not_allowed(online: &[CpuId], usable: &[CpuId]) -> Option<Warning> {
    let left_out: Vec<CpuId> = online.iter().copied().filter(|cpu| !usable.contains(cpu)).collect();
    let warning = |left_out| Warning::CpusNotAllowed { allowed: usable.to_vec(), left_out };
    (!left_out.is_empty()).then(|| warning(left_out))
}

fn governor(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let mut found: BTreeMap<String, BTreeSet<CpuId>> = BTreeMap::new();
    for cpu in before.cpus.iter().chain(&after.cpus) {
        // Between equal limits no governor has a choice.
        let pinned =
            cpu.frequency_min_khz.is_some() && cpu.frequency_min_khz == cpu.frequency_max_khz;
        if let Some(governor) =
            cpu.governor.as_deref().filter(|governor| *governor != "performance" && !pinned)
        {
            found.entry(governor.to_owned()).or_default().insert(cpu.cpu);
        }
    }
    let governors: BTreeMap<String, Vec<CpuId>> =
        found.into_iter().map(|(governor, cpus)| (governor, cpus.into_iter().collect())).collect();
    (!governors.is_empty()).then_some(Warning::GovernorNotPerformance { governors })
}

fn frequency(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let cpus: Vec<FrequencyChange> = both(before, after)
        .filter(|(was, is)| was.governor.is_some() && is.governor.is_some())
        .filter_map(|(was, is)| {
            Some(FrequencyChange {
                cpu: was.cpu,
                before_khz: was.frequency_khz?,
                after_khz: is.frequency_khz?,
            })
        })
        .filter(|change| {
            change.before_khz.abs_diff(change.after_khz).saturating_mul(100)
                > change.before_khz.saturating_mul(FREQUENCY_TOLERANCE_PERCENT)
        })
        .collect();
    (!cpus.is_empty()).then_some(Warning::FrequencyChanged { cpus })
}

fn clocksource_changed(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let (before, after) = (before.clocksource.clone()?, after.clocksource.clone()?);
    // The same counter, until the kernel has measured its rate.
    let counter = |name: &str| if name == "tsc-early" { "tsc" } else { name }.to_owned();
    (counter(&before) != counter(&after)).then_some(Warning::ClocksourceChanged { before, after })
}

fn clocksource_slow(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let snapshots = [after, before];
    let slow = snapshots.iter().find_map(|snapshot| {
        snapshot.clocksource.as_ref().filter(|name| SLOW_CLOCKSOURCES.contains(&name.as_str()))
    })?;
    let available = snapshots
        .iter()
        .map(|snapshot| &snapshot.clocksources_available)
        .find(|names| !names.is_empty());
    let available = available.cloned().unwrap_or_default();
    let fast = FAST_CLOCKSOURCES
        .into_iter()
        .find(|fast| available.iter().any(|name| name == fast))
        .map(str::to_owned);
    Some(Warning::ClocksourceSlow { clocksource: slow.clone(), available, fast })
}

fn hypervisor(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let found = before.hypervisor == Some(true) || after.hypervisor == Some(true);
    found.then(|| Warning::Hypervisor { cpu_model: before.cpu_model.clone() })
}

fn cpus_changed(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let ids = |facts: &HostFacts| facts.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>();
    let (before, after) = (ids(before), ids(after));
    // An empty set is a failed snapshot, not a machine without CPUs.
    let changed = before != after && !before.is_empty() && !after.is_empty();
    changed.then_some(Warning::CpuOfflineChanged { before, after })
}

/// The CPUs seen both times.
fn both<'a>(
    before: &'a HostFacts,
    after: &'a HostFacts,
) -> impl Iterator<Item = (&'a CpuFacts, &'a CpuFacts)> {
    before
        .cpus
        .iter()
        .filter_map(|was| after.cpus.iter().find(|is| is.cpu == was.cpu).map(|is| (was, is)))
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
