// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel does beside: clocks, watchdogs, statistics, memory.

use super::propose_interrupts::without_measured;
use super::setting::Form;
use super::wanted::Wanted;
use check::{Machine, takes_timers_of_others};
use host::kernel;
use host::{FAST_CLOCKSOURCES, SLOW_CLOCKSOURCES};
use plan::CpuList;

pub(super) fn clocksource(machine: &Machine<'_>) -> Vec<Wanted> {
    const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";
    let file = format!("{FOLDER}/current_clocksource");
    let is_slow =
        machine.text(&file).is_some_and(|current| SLOW_CLOCKSOURCES.contains(&current.as_str()));
    let available = machine.text(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    // The kernel lists none that it found unstable.
    let fast = FAST_CLOCKSOURCES
        .into_iter()
        .find(|fast| available.split_whitespace().any(|name| name == *fast));
    fast.filter(|_| is_slow).map(|fast| Wanted::plain(file, fast)).into_iter().collect()
}

/// A number, where it is over what is good.
fn lowered(machine: &Machine<'_>, file: &str, good: i64) -> Vec<Wanted> {
    let is_more = machine.number(file).is_some_and(|value| value > good);
    if is_more { vec![Wanted::plain(file, good.to_string())] } else { Vec::new() }
}

pub(super) fn timer_migration(machine: &Machine<'_>) -> Vec<Wanted> {
    if takes_timers_of_others(machine) {
        lowered(machine, "proc/sys/kernel/timer_migration", 0)
    } else {
        Vec::new()
    }
}

pub(super) fn throttling(machine: &Machine<'_>) -> Vec<Wanted> {
    lowered(machine, "proc/sys/kernel/sched_rt_runtime_us", -1)
}

/// They stay on for the other CPUs, where there are any.
pub(super) fn watchdogs(machine: &Machine<'_>) -> Vec<Wanted> {
    const CPUS: &str = "proc/sys/kernel/watchdog_cpumask";
    let files = ["proc/sys/kernel/nmi_watchdog", "proc/sys/kernel/soft_watchdog"];
    let on: Vec<&str> = files
        .into_iter()
        .filter(|file| machine.number(file).is_some_and(|value| value != 0))
        .collect();
    if on.is_empty() {
        return Vec::new();
    }
    if let Some(watched) = machine.cpus(CPUS).filter(|_| machine.has_chosen_cpus()) {
        let left = without_measured(machine, &watched);
        let to = CpuList::format(&left);
        return if left == watched {
            Vec::new()
        } else {
            vec![Wanted { form: Form::CpuList, ..Wanted::plain(CPUS, to) }]
        };
    }
    on.into_iter().map(|file| Wanted::plain(file, "0")).collect()
}

/// An interval below the first is too short, and becomes the second. Seconds.
const SHORT_S: i64 = 10;
const INTERVAL_S: i64 = 120;

pub(super) fn statistics(machine: &Machine<'_>) -> Vec<Wanted> {
    const FILE: &str = "proc/sys/vm/stat_interval";
    let is_often = machine.number(FILE).is_some_and(|interval| (1..SHORT_S).contains(&interval));
    if is_often { vec![Wanted::plain(FILE, INTERVAL_S.to_string())] } else { Vec::new() }
}

pub(super) fn hugepages(machine: &Machine<'_>) -> Vec<Wanted> {
    const FOLDER: &str = "sys/kernel/mm/transparent_hugepage";
    // Since 6.8 each size has a file of its own. Who asks for them (madvise) gets them.
    let sizes = machine.names(FOLDER).into_iter().filter(|name| name.starts_with("hugepages-"));
    let files = sizes.map(|size| format!("{FOLDER}/{size}/enabled"));
    let files = std::iter::once(format!("{FOLDER}/enabled")).chain(files);
    let is_always =
        |file: &String| kernel::chosen(&machine.text(file).unwrap_or_default()) == Some("always");
    files
        .filter(is_always)
        .map(|file| Wanted { form: Form::Choice, ..Wanted::plain(file, "never") })
        .collect()
}

pub(super) fn merging(machine: &Machine<'_>) -> Vec<Wanted> {
    const FILE: &str = "sys/kernel/mm/ksm/run";
    if machine.number(FILE) == Some(1) { vec![Wanted::plain(FILE, "0")] } else { Vec::new() }
}

pub(super) fn numa_balancing(machine: &Machine<'_>) -> Vec<Wanted> {
    lowered(machine, "proc/sys/kernel/numa_balancing", 0)
}

pub(super) fn compaction(machine: &Machine<'_>) -> Vec<Wanted> {
    lowered(machine, "proc/sys/vm/compaction_proactiveness", 0)
}
