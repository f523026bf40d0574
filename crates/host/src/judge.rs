// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a reader should know of the machine before believing its figures.
//!
//! A pure judgement on two looks. A warning is raised only where latencies are affected or cannot be compared; everything
//! else is a fact and stays one. (Real-time throttling, for one: every machine is set up so, and it bites only programs
//! that leave the CPU no rest.)

use model::{CpuFacts, HostFacts, Warning, changes};
use plan::{CpuId, CpuList};
use std::collections::BTreeMap;

/// The stable names of the warnings.
pub mod code {
    /// CPUs may change their frequency.
    pub(crate) const GOVERNOR_NOT_PERFORMANCE: &str = "governor-not-performance";
    /// The kernel gave up one clocksource for another.
    pub(crate) const CLOCKSOURCE_CHANGED: &str = "clocksource-changed";
    /// Reading the clock takes about a microsecond or more.
    pub(crate) const CLOCKSOURCE_SLOW: &str = "clocksource-slow";
    /// The hypervisor ran something else.
    pub(crate) const STEAL_TIME: &str = "steal-time";
    /// A virtual machine.
    pub const HYPERVISOR: &str = "hypervisor";
    /// CPUs did change their frequency.
    pub(crate) const FREQUENCY_CHANGED: &str = "frequency-changed";
    /// Isolated CPUs that nobody asked for.
    pub(crate) const ISOLATED_NOT_MEASURED: &str = "isolated-not-measured";
    /// Something else kept CPUs busy.
    pub(crate) const OTHER_WORK: &str = "other-work";
    /// CPUs came or went.
    pub(crate) const CPU_OFFLINE_CHANGED: &str = "cpu-offline-changed";
}

/// Clocks behind a bus, read by slow input or output, or counted by the tick.
const SLOW_CLOCKSOURCES: [&str; 5] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
/// Fast clocks, best first, by the architecture that has them.
const FAST_CLOCKSOURCES: [&str; 3] = ["tsc", "kvm-clock", "arch_sys_counter"];
/// A frequency that differs by more than this share is another frequency; less is the reading's noise.
const FREQUENCY_TOLERANCE_PERCENT: u64 = 10;
/// As many as a tired engineer reads; the recording holds them all.
const MAX_NAMED: usize = 8;

/// What to warn of, given the looks before and after a run.
#[must_use]
pub fn warnings(before: &HostFacts, after: &HostFacts) -> Vec<Warning> {
    let all = [
        governor(before, after),
        frequency(before, after),
        clocksource_changed(before, after),
        clocksource_slow(before, after),
        hypervisor(before, after),
        steal(before, after),
        cpus_changed(before, after),
    ];
    all.into_iter().flatten().collect()
}

/// Warns of isolated CPUs that were left out of `measured` although they are `usable`. For runs whose CPUs nobody named: those
/// take the affinity they inherited, and isolated CPUs, which people isolate to measure them, are never in it.
#[must_use]
pub fn isolated_not_measured(isolated: &[CpuId], measured: &[CpuId], usable: &[CpuId]) -> Option<Warning> {
    let left_out: Vec<CpuId> = isolated.iter().filter(|cpu| usable.contains(cpu) && !measured.contains(cpu)).copied().collect();
    let (list, plural) = (CpuList::format(&left_out), if left_out.len() == 1 { "" } else { "s" });
    (!left_out.is_empty()).then(|| {
        warning(
            code::ISOLATED_NOT_MEASURED,
            format!("Isolated CPU{plural} {list} not measured: add -a {list}."),
            format!(
                "isolated: CPU {}; measured, by inherited affinity: CPU {}",
                CpuList::format(isolated),
                CpuList::format(measured)
            ),
            format!("Name the CPUs to measure: -a {list}, or in a plan cpus = \"{list}\"."),
        )
    })
}

pub(crate) fn warning(code: &str, message: String, evidence: String, next_step: String) -> Warning {
    Warning { code: code.to_owned(), message, evidence, next_step }
}

fn governor(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let mut found: BTreeMap<&str, Vec<CpuId>> = BTreeMap::new();
    for cpu in before.cpus.iter().chain(&after.cpus) {
        // Between equal limits no governor has a choice.
        let pinned = cpu.frequency_min_khz.is_some() && cpu.frequency_min_khz == cpu.frequency_max_khz;
        if let Some(governor) = cpu.governor.as_deref().filter(|governor| *governor != "performance" && !pinned) {
            found.entry(governor).or_default().push(cpu.cpu);
        }
    }
    let evidence = found.iter().map(|(governor, cpus)| format!("{governor} on CPU {}", CpuList::format(cpus)));
    let evidence = evidence.collect::<Vec<_>>().join("; ");
    (!found.is_empty()).then(|| {
        warning(
            code::GOVERNOR_NOT_PERFORMANCE,
            "The frequency of idle CPUs may drop, which makes wake-ups slower.".to_owned(),
            evidence,
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor".to_owned(),
        )
    })
}

fn frequency(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let changed: Vec<(CpuId, u64, u64)> = both(before, after)
        .filter(|(was, is)| was.governor.is_some() && is.governor.is_some())
        .filter_map(|(was, is)| Some((was.cpu, was.frequency_khz?, is.frequency_khz?)))
        .filter(|(_, was, is)| was.abs_diff(*is).saturating_mul(100) > was.saturating_mul(FREQUENCY_TOLERANCE_PERCENT))
        .collect();
    let highest = changed.iter().map(|(_, was, is)| *was.max(is)).max()?;
    Some(warning(
        code::FREQUENCY_CHANGED,
        "CPU frequency changed during the run: latencies were not measured at one speed.".to_owned(),
        list(changed.iter().map(|(cpu, was, is)| format!("CPU {cpu}: {} MHz before, {} MHz after", was / 1_000, is / 1_000))),
        format!("sudo cpupower frequency-set --governor performance --min {highest} --max {highest}"),
    ))
}

fn clocksource_changed(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let (was, is) = (before.clocksource.as_deref()?, after.clocksource.as_deref()?);
    (was != is).then(|| {
        warning(
            code::CLOCKSOURCE_CHANGED,
            "The clocksource changed during the run: times before and after are not comparable.".to_owned(),
            format!("{was} before, {is} after"),
            "See the kernel log: sudo dmesg | grep -i clocksource".to_owned(),
        )
    })
}

fn clocksource_slow(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let looks = [after, before];
    let slow = looks.iter().find_map(|look| look.clocksource.as_deref().filter(|name| SLOW_CLOCKSOURCES.contains(name)))?;
    let available = looks.iter().map(|look| &look.clocksources_available).find(|names| !names.is_empty());
    let fast = FAST_CLOCKSOURCES.into_iter().find(|fast| available.is_some_and(|names| names.iter().any(|name| name == fast)));
    let next_step = match fast {
        Some(fast) => format!("echo {fast} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"),
        None => "See the kernel log for why there is no faster one: sudo dmesg | grep -iE 'clocksource|tsc'".to_owned(),
    };
    let available = available.map_or("unknown".to_owned(), |names| names.join(" "));
    Some(warning(
        code::CLOCKSOURCE_SLOW,
        format!("Slow clocksource {slow}: every latency includes the cost of reading it."),
        format!("clocksource {slow}, available: {available}"),
        next_step,
    ))
}

fn hypervisor(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    (before.hypervisor == Some(true) || after.hypervisor == Some(true)).then(|| {
        warning(
            code::HYPERVISOR,
            "Virtual machine: every latency includes the delays of the hypervisor and its other guests.".to_owned(),
            format!("hypervisor on {}", before.cpu_model.as_deref().unwrap_or("CPU of unknown model")),
            "To judge the hardware, measure on it. To judge the guest, measure on the hypervisor's host at the same time."
                .to_owned(),
        )
    })
}

fn steal(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let times = changes(before, after).cpu_times.into_iter();
    let mut stolen: Vec<(CpuId, u64, u64)> = times
        .filter_map(|time| Some((time.cpu, *time.time_ms.get("steal")?, time.elapsed_ms)))
        .filter(|(_, stolen, _)| *stolen > 0)
        .collect();
    if stolen.is_empty() {
        return None;
    }
    stolen.sort_by_key(|(cpu, stolen, _)| (std::cmp::Reverse(*stolen), *cpu));
    let total = stolen.iter().fold(0_u64, |sum, (_, ms, _)| sum.saturating_add(*ms));
    let cpus: Vec<CpuId> = stolen.iter().map(|(cpu, ..)| *cpu).collect();
    Some(warning(
        code::STEAL_TIME,
        format!(
            "Steal time: the hypervisor took CPU {} away for {total} ms. Wake-ups in that time were late.",
            CpuList::format(&cpus)
        ),
        list(stolen.iter().map(|(cpu, ms, elapsed)| format!("CPU {cpu}: {ms} ms, {} of its time", percent(*ms, *elapsed)))),
        "On the hypervisor's host, pin each virtual CPU to a physical CPU: virsh vcpupin DOMAIN VCPU CPU".to_owned(),
    ))
}

fn cpus_changed(before: &HostFacts, after: &HostFacts) -> Option<Warning> {
    let ids = |facts: &HostFacts| facts.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>();
    let (was, is) = (ids(before), ids(after));
    // An empty set is a look that failed, not a machine without CPUs.
    (was != is && !was.is_empty() && !is.is_empty()).then(|| {
        warning(
            code::CPU_OFFLINE_CHANGED,
            "CPUs went offline or came online during the run. The kernel stops all other CPUs for that, and moves their work."
                .to_owned(),
            format!("CPUs {} online before, {} after", CpuList::format(&was), CpuList::format(&is)),
            "Find the cause (sudo dmesg | grep -i -E 'cpu ?[0-9]+'), stop it, and measure again.".to_owned(),
        )
    })
}

/// The CPUs seen both times.
fn both<'a>(before: &'a HostFacts, after: &'a HostFacts) -> impl Iterator<Item = (&'a CpuFacts, &'a CpuFacts)> {
    before.cpus.iter().filter_map(|was| after.cpus.iter().find(|is| is.cpu == was.cpu).map(|is| (was, is)))
}

/// `part` of `whole` to a tenth of a percent, rounded.
fn percent(part: u64, whole: u64) -> String {
    let Some(per_mille) = u128::from(part).saturating_mul(1_000).saturating_add(u128::from(whole / 2)).checked_div(whole.into())
    else {
        return "an unknown share".to_owned();
    };
    if part > 0 && per_mille == 0 { "below 0.1 %".to_owned() } else { format!("{}.{} %", per_mille / 10, per_mille % 10) }
}

pub(crate) fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(MAX_NAMED);
    let named = items.take(MAX_NAMED).collect::<Vec<_>>().join("; ");
    if more == 0 { named } else { format!("{named}; and {more} more") }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
