// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel lets run when: throttling, watchdogs, statistics.

use super::machine::{Machine, Purpose};
use super::{ALL, Check, Seen};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "rt-throttling",
        why: "Real-time threads that use up their share of a period are stopped until the next: up to 50 ms by default.",
        reference: "kernel: Documentation/scheduler/sched-rt-group.rst",
        tunable: true,
        matters: &[],
        look: throttling,
    },
    Check {
        id: "rt-group-scheduling",
        why: "With RT_GROUP_SCHED a control group whose share is 0 can have no real-time thread at all.",
        reference: "kernel: Documentation/scheduler/sched-rt-group.rst",
        tunable: false,
        matters: ALL,
        look: group_scheduling,
    },
    Check {
        id: "watchdogs",
        why: "The watchdogs wake a thread of the highest priority on each CPU every few seconds, and use a counter that interrupts.",
        reference: "kernel: Documentation/admin-guide/lockup-watchdogs.rst",
        tunable: true,
        matters: &[Purpose::Telco],
        look: watchdogs,
    },
    Check {
        id: "statistics-interval",
        why: "Every interval the kernel gathers memory statistics on each CPU that has some.",
        reference: "kernel: Documentation/admin-guide/sysctl/vm.rst, stat_interval",
        tunable: true,
        matters: &[],
        look: statistics,
    },
];

fn throttling(machine: &Machine<'_>) -> Option<Seen> {
    let runtime = machine.number("proc/sys/kernel/sched_rt_runtime_us")?;
    let period = machine.number("proc/sys/kernel/sched_rt_period_us")?;
    if runtime < 0 || runtime >= period {
        return Seen::ok("off: a real-time thread that does not sleep stops its CPU for everything else");
    }
    let found = format!("{runtime} µs of each {period} µs");
    if machine.options.purpose == Purpose::Telco {
        return Seen::warn(found, "sudo sysctl kernel.sched_rt_runtime_us=-1, where threads poll on CPUs of their own");
    }
    Seen::ok(format!("{found}, which protects the machine"))
}

/// The control group of this process in version 2 or, for one controller, in version 1: its folder.
pub(super) fn own_group(machine: &Machine<'_>, controller: Option<&str>) -> Option<String> {
    let text = machine.text("proc/self/cgroup")?;
    let line = text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_it = match controller {
            None => controllers.is_empty(),
            Some(name) => controllers.split(',').any(|one| one == name),
        };
        is_it.then(|| path.trim_matches('/').to_owned())
    })?;
    Some(match controller {
        None => format!("sys/fs/cgroup/{line}"),
        Some(name) => format!("sys/fs/cgroup/{name}/{line}"),
    })
}

fn group_scheduling(machine: &Machine<'_>) -> Option<Seen> {
    if !machine.config().ok()?.has("RT_GROUP_SCHED") {
        return None;
    }
    let share = own_group(machine, Some("cpu")).and_then(|group| machine.number(&format!("{group}/cpu.rt_runtime_us")));
    match share {
        Some(0) => Seen::bad(
            "built in, and this control group's share is 0",
            "echo 950000 | sudo tee /sys/fs/cgroup/cpu/GROUP/cpu.rt_runtime_us, or boot with rt_group_sched=0",
        ),
        Some(share) => Seen::warn(
            format!("built in, {share} µs for this control group"),
            "boot with rt_group_sched=0, or build without RT_GROUP_SCHED",
        ),
        None => Seen::warn("built in", "boot with rt_group_sched=0, or build without RT_GROUP_SCHED"),
    }
}

fn watchdogs(machine: &Machine<'_>) -> Option<Seen> {
    let is_on = |name: &str| machine.number(&format!("proc/sys/kernel/{name}")).map(|value| value != 0);
    let known: Vec<(&str, bool)> =
        ["nmi_watchdog", "soft_watchdog"].into_iter().filter_map(|name| Some((name, is_on(name)?))).collect();
    if known.is_empty() {
        return None;
    }
    let on: Vec<&str> = known.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| *name).collect();
    if on.is_empty() {
        return Seen::ok("off");
    }
    if machine.has_chosen_cpus() {
        let measured = machine.measured();
        let watched = machine.cpus("proc/sys/kernel/watchdog_cpumask");
        if watched.is_some_and(|watched| measured.iter().all(|cpu| !watched.contains(cpu))) {
            return Seen::ok(format!("{} on, on other CPUs", on.join(" and ")));
        }
    }
    Seen::bad(format!("{} on", on.join(" and ")), "sudo sysctl kernel.watchdog=0")
}

fn statistics(machine: &Machine<'_>) -> Option<Seen> {
    let interval = machine.number("proc/sys/vm/stat_interval")?;
    let found = format!("every {interval} s");
    if interval < 10 && machine.options.purpose == Purpose::Telco {
        return Seen::warn(found, "sudo sysctl vm.stat_interval=120");
    }
    Seen::ok(found)
}
