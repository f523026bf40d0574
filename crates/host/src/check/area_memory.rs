// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that the kernel moves, joins or swaps out meanwhile.

use super::machine::{Machine, Purpose};
use super::{ALL, Check, Seen};
use crate::kernel;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "transparent-hugepages",
        why: "khugepaged joins pages of running programs, which faults them anew; compaction for it moves memory.",
        reference: "kernel: Documentation/admin-guide/mm/transhuge.rst",
        tunable: true,
        matters: &[],
        look: hugepages,
    },
    Check {
        id: "same-page-merging",
        why: "KSM scans memory and write-protects what it merges, which faults at the next write.",
        reference: "kernel: Documentation/admin-guide/mm/ksm.rst",
        tunable: true,
        matters: ALL,
        look: merging,
    },
    Check {
        id: "swap",
        why: "What is not locked may be swapped out: the next use of it waits for the disk. Lock memory (mlockall) or have no swap.",
        reference: "mlockall(2), swapoff(8)",
        tunable: false,
        matters: &[],
        look: swap,
    },
    Check {
        id: "numa-balancing",
        why: "NUMA balancing unmaps pages to see who uses them, and moves them: page faults in running threads.",
        reference: "kernel: Documentation/admin-guide/sysctl/kernel.rst, numa_balancing",
        tunable: true,
        matters: &[Purpose::Telco, Purpose::Measure, Purpose::Robotics],
        look: numa_balancing,
    },
    Check {
        id: "compaction",
        why: "Proactive compaction moves memory of running programs in the background.",
        reference: "kernel: Documentation/admin-guide/sysctl/vm.rst, compaction_proactiveness",
        tunable: true,
        matters: &[],
        look: compaction,
    },
];

fn hugepages(machine: &Machine<'_>) -> Option<Seen> {
    const FILE: &str = "sys/kernel/mm/transparent_hugepage/enabled";
    let text = machine.text(FILE)?;
    match kernel::chosen(&text)? {
        "always" => Seen::warn("always", format!("echo never | sudo tee /{FILE}")),
        choice => Seen::ok(choice),
    }
}

fn merging(machine: &Machine<'_>) -> Option<Seen> {
    match machine.number("sys/kernel/mm/ksm/run")? {
        1 => Seen::bad("runs", "echo 2 | sudo tee /sys/kernel/mm/ksm/run"),
        _ => Seen::ok("off"),
    }
}

fn swap(machine: &Machine<'_>) -> Option<Seen> {
    let text = machine.text("proc/swaps")?;
    let places: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    if places.is_empty() {
        return Seen::ok("none");
    }
    Seen::warn(places.join(", "), "sudo swapoff -a, or lock the program's memory with mlockall")
}

fn numa_balancing(machine: &Machine<'_>) -> Option<Seen> {
    match machine.number("proc/sys/kernel/numa_balancing")? {
        0 => Seen::ok("off"),
        _ => Seen::bad("on", "sudo sysctl kernel.numa_balancing=0"),
    }
}

fn compaction(machine: &Machine<'_>) -> Option<Seen> {
    match machine.number("proc/sys/vm/compaction_proactiveness")? {
        0 => Seen::ok("off"),
        _ if machine.options.purpose == Purpose::Audio => Seen::ok("on"),
        level => Seen::warn(format!("on ({level})"), "sudo sysctl vm.compaction_proactiveness=0"),
    }
}
