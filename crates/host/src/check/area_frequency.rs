// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequency and idle states of the CPUs.

use super::machine::{Machine, cpu_words};
use super::{ALL, Check, Seen};
use plan::CpuId;
use std::collections::BTreeMap;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "governor",
        why: "A governor that lowers the frequency lets a thread run slowly just after it woke: idle CPUs are the slow ones.",
        reference: "kernel: Documentation/admin-guide/pm/cpufreq.rst",
        tunable: true,
        matters: ALL,
        look: governor,
    },
    Check {
        id: "frequency-limits",
        why: "A limit below what the CPU can do is a choice, or a machine that protects itself from heat or a weak supply.",
        reference: "kernel: Documentation/admin-guide/pm/cpufreq.rst",
        tunable: false,
        matters: &[],
        look: limits,
    },
    Check {
        id: "turbo",
        why: "With turbo the frequency depends on heat and on how many CPUs are busy, so figures differ from run to run.",
        reference: "kernel: Documentation/admin-guide/pm/intel_pstate.rst, no_turbo; cpufreq.rst, boost",
        tunable: true,
        matters: &[],
        look: turbo,
    },
    Check {
        id: "idle-states",
        why: "Waking from a deep idle state takes up to some 100 µs. teiji holds them off while it measures; your own program has to.",
        reference: "kernel: Documentation/admin-guide/pm/cpuidle.rst; /dev/cpu_dma_latency",
        tunable: true,
        matters: &[],
        look: idle_states,
    },
];

/// CPUs by what each says.
fn by_value(cpus: &[CpuId], value: impl Fn(CpuId) -> Option<String>) -> BTreeMap<String, Vec<CpuId>> {
    let mut found: BTreeMap<String, Vec<CpuId>> = BTreeMap::new();
    for cpu in cpus {
        if let Some(value) = value(*cpu) {
            found.entry(value).or_default().push(*cpu);
        }
    }
    found
}

fn words(found: &BTreeMap<String, Vec<CpuId>>) -> String {
    found.iter().map(|(value, cpus)| format!("{value} on {}", cpu_words(cpus))).collect::<Vec<_>>().join(", ")
}

fn cpufreq(machine: &Machine<'_>, cpu: CpuId, file: &str) -> Option<String> {
    machine.text(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"))
}

fn governor(machine: &Machine<'_>) -> Option<Seen> {
    let found = by_value(&machine.measured(), |cpu| cpufreq(machine, cpu, "scaling_governor"));
    if found.is_empty() {
        return None;
    }
    let is_pinned = |cpu: CpuId| {
        let limit = |file| cpufreq(machine, cpu, file);
        limit("scaling_min_freq").is_some() && limit("scaling_min_freq") == limit("scaling_max_freq")
    };
    let scaling: Vec<CpuId> = found
        .iter()
        .filter(|(governor, _)| *governor != "performance")
        .flat_map(|(_, cpus)| cpus.iter().copied())
        .filter(|cpu| !is_pinned(*cpu))
        .collect();
    if scaling.is_empty() {
        return Seen::ok(words(&found));
    }
    Seen::bad(words(&found), "sudo cpupower frequency-set -g performance")
}

fn limits(machine: &Machine<'_>) -> Option<Seen> {
    let number = |cpu, file| cpufreq(machine, cpu, file)?.parse::<u64>().ok();
    let lowered = by_value(&machine.measured(), |cpu| {
        let (limit, most) = (number(cpu, "scaling_max_freq")?, number(cpu, "cpuinfo_max_freq")?);
        (limit < most).then(|| format!("at most {} of {} MHz", limit / 1_000, most / 1_000))
    });
    if !lowered.is_empty() {
        return Seen::warn(words(&lowered), "sudo cpupower frequency-set -u MAX, if nobody chose this limit");
    }
    number(*machine.measured().first()?, "scaling_max_freq")?;
    Seen::ok("up to what the CPUs can do")
}

fn turbo(machine: &Machine<'_>) -> Option<Seen> {
    const INTEL: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
    const OTHERS: &str = "sys/devices/system/cpu/cpufreq/boost";
    let (is_on, file, off) = match (machine.number(INTEL), machine.number(OTHERS)) {
        (Some(value), _) => (value == 0, INTEL, 1),
        (None, Some(value)) => (value == 1, OTHERS, 0),
        (None, None) => return None,
    };
    if is_on { Seen::warn("on", format!("echo {off} | sudo tee /{file}")) } else { Seen::ok("off") }
}

/// Exits that take longer are named, µs.
pub(crate) const SLOW_EXIT_US: i64 = 20;

fn idle_states(machine: &Machine<'_>) -> Option<Seen> {
    let mut slow: BTreeMap<String, Vec<CpuId>> = BTreeMap::new();
    let mut states = 0;
    for cpu in machine.measured() {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle");
        for state in machine.names(&folder).into_iter().filter(|name| name.starts_with("state")) {
            states += 1;
            let file = |name: &str| machine.text(&format!("{folder}/{state}/{name}"));
            let exit = file("latency").and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
            if exit > SLOW_EXIT_US && file("disable").as_deref() != Some("1") {
                slow.entry(format!("{} ({exit} µs to wake)", file("name").unwrap_or(state))).or_default().push(cpu);
            }
        }
    }
    if states == 0 {
        return None;
    }
    if slow.is_empty() {
        return Seen::ok(format!("none takes more than {SLOW_EXIT_US} µs to wake from"));
    }
    Seen::warn(
        words(&slow),
        format!("hold /dev/cpu_dma_latency open with 0 written to it, or sudo cpupower idle-set -D {SLOW_EXIT_US}"),
    )
}
