// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened between two snapshots of a machine: interrupts, softirqs, CPU time, and every fact
//! that changed.
//!
//! It is beside the snapshots themselves because two crates need it: `host` to warn during the run,
//! `report` to show it later. Counters are compared by CPU and wrap; columns say nothing.

use crate::{CpuFacts, EventCounts, HostFacts};
use plan::{CpuId, CpuList};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The differences between two snapshots of one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Interrupts that occurred, most frequent first.
    pub interrupts: Vec<EventChange>,
    /// Softirqs that ran, most frequent first.
    pub softirqs: Vec<EventChange>,
    /// Where the time of each CPU seen both times went, in order of CPU.
    pub cpu_times: Vec<CpuTimeChange>,
    /// Facts with another value now: the machine's, then each CPU's.
    pub facts: Vec<FactChange>,
}

/// How often one kind of interrupt or softirq occurred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventChange {
    /// Its number or short name.
    pub name: String,
    /// What the kernel says it is for; may be empty.
    pub description: String,
    /// Occurrences on all CPUs together that were online both times.
    pub total: u64,
    /// Occurrences per CPU, in order of CPU; those without any are left out. Empty where the
    /// kernel counts for the whole machine only, as with `ERR`.
    pub per_cpu: Vec<(CpuId, u64)>,
}

/// Where one CPU's time went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTimeChange {
    /// The CPU.
    pub cpu: CpuId,
    /// All its states together, ms: about the time between the snapshots.
    pub elapsed_ms: u64,
    /// By name as in /proc/stat, ms, also where it is 0. `user` contains `guest`, `nice` contains
    /// `guest_nice`.
    pub time_ms: BTreeMap<String, u64>,
}

/// A fact that is another one now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactChange {
    /// The CPU it is a fact of; none: the machine.
    pub cpu: Option<CpuId>,
    /// The field of [`HostFacts`] or [`CpuFacts`], which also says the unit; `cpus` is the list of
    /// those online.
    pub name: &'static str,
    /// Its value before, as text; `unknown` where it could not be read.
    pub before: String,
    pub after: String,
}

/// What is different in the second snapshot.
pub fn changes(before: &HostFacts, after: &HostFacts) -> Changes {
    let pairs: Vec<(&CpuFacts, &CpuFacts)> = after
        .cpus
        .iter()
        .filter_map(|is| before.cpus.iter().find(|was| was.cpu == is.cpu).map(|was| (was, is)))
        .collect();
    Changes {
        interrupts: events(&before.interrupts, &after.interrupts, before, after),
        softirqs: events(&before.softirqs, &after.softirqs, before, after),
        cpu_times: pairs.iter().filter_map(|(was, is)| cpu_time(was, is)).collect(),
        facts: machine_facts(before, after)
            .into_iter()
            .chain(pairs.iter().flat_map(|(was, is)| cpu_facts(was, is)))
            .collect(),
    }
}

/// The ms of all states together, between two snapshots of one CPU.
fn elapsed_ms(was: &CpuFacts, is: &CpuFacts) -> u64 {
    // The kernel counts these two within `user` and `nice` as well.
    let counted = |state: &str| state != "guest" && state != "guest_nice";
    states(was, is)
        .filter(|(state, _)| counted(state))
        .fold(0, |sum, (_, ms)| sum.saturating_add(ms))
}

/// The ms per state, for the states seen both times.
fn states<'a>(was: &'a CpuFacts, is: &'a CpuFacts) -> impl Iterator<Item = (&'a String, u64)> {
    // `idle` and `iowait` are estimates and are known to step back a little.
    is.time_ms
        .iter()
        .filter_map(|(state, ms)| Some((state, ms.saturating_sub(*was.time_ms.get(state)?))))
}

fn cpu_time(was: &CpuFacts, is: &CpuFacts) -> Option<CpuTimeChange> {
    let time_ms: BTreeMap<String, u64> =
        states(was, is).map(|(state, ms)| (state.clone(), ms)).collect();
    (!time_ms.is_empty()).then(|| CpuTimeChange {
        cpu: is.cpu,
        elapsed_ms: elapsed_ms(was, is),
        time_ms,
    })
}

fn events(
    was: &[EventCounts],
    is: &[EventCounts],
    before: &HostFacts,
    after: &HostFacts,
) -> Vec<EventChange> {
    // Nothing to compare with: the counts since boot are not what happened meanwhile.
    if was.is_empty() {
        return Vec::new();
    }
    let earlier: BTreeMap<&str, &EventCounts> =
        was.iter().map(|row| (row.name.as_str(), row)).collect();
    let places: Vec<(CpuId, Option<usize>)> = after
        .cpus
        .iter()
        .map(|is| (is.cpu, before.cpus.iter().position(|was| was.cpu == is.cpu)))
        .collect();
    let mut changes: Vec<EventChange> = is
        .iter()
        .map(|row| event(earlier.get(row.name.as_str()).copied(), row, &places))
        .filter(|change| change.total > 0)
        .collect();
    // By name where the totals are equal, so that one recording always reads the same.
    changes.sort_by(|a, b| (Reverse(a.total), &a.name).cmp(&(Reverse(b.total), &b.name)));
    changes
}

/// One row, given each CPU and its place in the earlier snapshot. A row that is new counts from 0:
/// the kernel shows none that has not occurred and is not in use.
fn event(
    was: Option<&EventCounts>,
    is: &EventCounts,
    places: &[(CpuId, Option<usize>)],
) -> EventChange {
    let earlier = |place: usize| was.and_then(|was| was.counts.get(place)).copied().unwrap_or(0);
    let mut change = EventChange {
        name: is.name.clone(),
        description: is.description.clone(),
        total: 0,
        per_cpu: Vec::new(),
    };
    if is.counts.len() != places.len() {
        // One count for the whole machine, or none.
        change.total = is.counts.first().map_or(0, |count| risen(earlier(0), *count));
        return change;
    }
    for (count, (cpu, place)) in is.counts.iter().zip(places) {
        // A CPU that has come online kept its counts from before it went; how many are new is
        // unknown.
        let Some(place) = *place else { continue };
        let risen = risen(earlier(place), *count);
        if risen > 0 {
            change.total = change.total.saturating_add(risen);
            change.per_cpu.push((*cpu, risen));
        }
    }
    change
}

/// How far a counter rose. The kernel's are 32 bits wide and wrap; one that fell without having
/// been near the end belongs to an interrupt that was released and set up anew, and counts from 0.
fn risen(was: u64, is: u64) -> u64 {
    const END: u64 = 1 << 32;
    match is.checked_sub(was) {
        Some(risen) => risen,
        None if was < END && END - was + is < END / 2 => END - was + is,
        None => is,
    }
}

fn machine_facts(before: &HostFacts, after: &HostFacts) -> Vec<FactChange> {
    let mut found = Vec::new();
    let mut see = |name, of: &dyn Fn(&HostFacts) -> Option<String>| {
        push(&mut found, None, name, of(before), of(after))
    };
    see("hostname", &|facts| facts.hostname.clone());
    see("architecture", &|facts| Some(facts.architecture.clone()).filter(|name| !name.is_empty()));
    see("kernel", &|facts| facts.kernel.clone());
    see("kernel_version", &|facts| facts.kernel_version.clone());
    see("preemption", &|facts| facts.preemption.clone());
    see("kernel_command_line", &|facts| facts.kernel_command_line.clone());
    see("cpu_model", &|facts| facts.cpu_model.clone());
    see("hypervisor", &|facts| {
        facts.hypervisor.map(|below| if below { "yes" } else { "no" }.to_owned())
    });
    see("cpus", &|facts| {
        let ids: BTreeSet<CpuId> = facts.cpus.iter().map(|cpu| cpu.cpu).collect();
        (!ids.is_empty()).then(|| CpuList::format(&ids.into_iter().collect::<Vec<_>>()))
    });
    see("clocksource", &|facts| facts.clocksource.clone());
    see("clocksources_available", &|facts| {
        Some(facts.clocksources_available.join(" ")).filter(|names| !names.is_empty())
    });
    see("isolated_cpus", &|facts| facts.isolated_cpus.clone());
    see("nohz_full_cpus", &|facts| facts.nohz_full_cpus.clone());
    see("rt_runtime_us", &|facts| facts.rt_runtime_us.map(|us| us.to_string()));
    see("rt_period_us", &|facts| facts.rt_period_us.map(|us| us.to_string()));
    see("transparent_hugepages", &|facts| facts.transparent_hugepages.clone());
    see("memory_total_kib", &|facts| facts.memory_total_kib.map(|kib| kib.to_string()));
    see("memory_available_kib", &|facts| facts.memory_available_kib.map(|kib| kib.to_string()));
    see("load_average", &|facts| {
        facts.load_average.map(|[one, five, fifteen]| format!("{one:.2} {five:.2} {fifteen:.2}"))
    });
    see("uptime_s", &|facts| facts.uptime_s.map(|s| format!("{s:.2}")));
    found
}

fn cpu_facts(was: &CpuFacts, is: &CpuFacts) -> Vec<FactChange> {
    let mut found = Vec::new();
    let mut see = |name, of: &dyn Fn(&CpuFacts) -> Option<String>| {
        push(&mut found, Some(is.cpu), name, of(was), of(is))
    };
    see("governor", &|cpu| cpu.governor.clone());
    see("frequency_khz", &|cpu| cpu.frequency_khz.map(|khz| khz.to_string()));
    see("frequency_min_khz", &|cpu| cpu.frequency_min_khz.map(|khz| khz.to_string()));
    see("frequency_max_khz", &|cpu| cpu.frequency_max_khz.map(|khz| khz.to_string()));
    found
}

fn push(
    found: &mut Vec<FactChange>,
    cpu: Option<CpuId>,
    name: &'static str,
    was: Option<String>,
    is: Option<String>,
) {
    if was != is {
        let text = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
        found.push(FactChange { cpu, name, before: text(was), after: text(is) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_at_32_bits_and_begin_anew() {
        assert_eq!(risen(10, 15), 5);
        assert_eq!(risen(u64::from(u32::MAX) - 4, 5), 10);
        assert_eq!(risen(1_000, 3), 3, "released and set up anew");
        assert_eq!(risen(u64::MAX, 3), 3);
        assert_eq!(risen(5_000_000_000, 5_000_000_001), 1);
    }
}
