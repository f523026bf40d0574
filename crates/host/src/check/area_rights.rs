// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this user may do.

use super::machine::Machine;
use super::{ALL, Check, Seen};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "rights-real-time",
        why: "Without the right to real-time priorities a program runs as any other, after all that is real-time.",
        reference: "getrlimit(2), RLIMIT_RTPRIO; capabilities(7), CAP_SYS_NICE",
        tunable: false,
        matters: ALL,
        look: real_time,
    },
    Check {
        id: "rights-locked-memory",
        why: "Memory that cannot be locked may be taken away: the next use of it is a page fault, which takes µs, or ms from a disk.",
        reference: "getrlimit(2), RLIMIT_MEMLOCK; capabilities(7), CAP_IPC_LOCK",
        tunable: false,
        matters: ALL,
        look: locked_memory,
    },
    Check {
        id: "rights-idle-states",
        why: "Who may not open /dev/cpu_dma_latency cannot hold deep idle states off.",
        reference: "kernel: Documentation/admin-guide/pm/cpuidle.rst",
        tunable: false,
        matters: &[],
        look: idle_states,
    },
];

/// Capabilities by their number (include/uapi/linux/capability.h).
const IPC_LOCK: u32 = 14;
const SYS_NICE: u32 = 23;

fn has_capability(machine: &Machine<'_>, number: u32) -> bool {
    let status = machine.text("proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & (1 << number) != 0)
}

/// The soft limit of this name, as the file has it.
fn limit(machine: &Machine<'_>, name: &str) -> Option<String> {
    let text = machine.text("proc/self/limits")?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned();
    rest.split_whitespace().next().map(str::to_owned)
}

fn real_time(machine: &Machine<'_>) -> Option<Seen> {
    if has_capability(machine, SYS_NICE) {
        return Seen::ok("any priority (CAP_SYS_NICE)");
    }
    let limit = limit(machine, "Max realtime priority")?;
    let priority = machine.options.priority;
    if limit == "unlimited" || limit.parse::<u8>().is_ok_and(|limit| limit >= priority) {
        return Seen::ok(format!("up to {limit}"));
    }
    let found = if limit == "0" { "none".to_owned() } else { format!("up to {limit}, {priority} is wanted") };
    Seen::bad(
        found,
        "echo '@realtime - rtprio 99' | sudo tee /etc/security/limits.d/realtime.conf, be in that group, and log in anew",
    )
}

fn locked_memory(machine: &Machine<'_>) -> Option<Seen> {
    if has_capability(machine, IPC_LOCK) {
        return Seen::ok("any amount (CAP_IPC_LOCK)");
    }
    let limit = limit(machine, "Max locked memory")?;
    if limit == "unlimited" {
        return Seen::ok("unlimited");
    }
    let Ok(bytes) = limit.parse::<u64>() else { return Seen::unknown(limit) };
    Seen::bad(
        format!("at most {} KiB", bytes / 1_024),
        "echo '@realtime - memlock unlimited' | sudo tee -a /etc/security/limits.d/realtime.conf, be in that group, and log in anew",
    )
}

fn idle_states(machine: &Machine<'_>) -> Option<Seen> {
    // Without idle states nothing has to be held off.
    if !machine.exists("sys/devices/system/cpu/cpu0/cpuidle/state0") {
        return None;
    }
    if !machine.exists("dev/cpu_dma_latency") {
        return Seen::warn("there is no /dev/cpu_dma_latency", "boot a kernel that has it, or limit idle states at boot");
    }
    match machine.can_write("dev/cpu_dma_latency") {
        true => Seen::ok("/dev/cpu_dma_latency can be held"),
        false => Seen::warn(
            "/dev/cpu_dma_latency cannot be written to",
            "sudo chgrp realtime /dev/cpu_dma_latency && sudo chmod g+rw /dev/cpu_dma_latency",
        ),
    }
}
