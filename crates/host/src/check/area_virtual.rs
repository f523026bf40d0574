// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has the machine: a hypervisor, a container, a quota.

use super::area_board::board;
use super::area_scheduling::own_group;
use super::machine::Machine;
use super::{ALL, Check, Seen};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "virtual-machine",
        why: "A hypervisor may run something else while a virtual CPU is due, and each timer may leave the guest.",
        reference: "kernel: Documentation/virt/kvm; systemd-detect-virt(1)",
        tunable: false,
        matters: &[],
        look: virtual_machine,
    },
    Check {
        id: "steal-time",
        why: "Steal time is time in which this machine had work and its hypervisor ran something else.",
        reference: "proc_stat(5)",
        tunable: false,
        matters: ALL,
        look: steal,
    },
    Check {
        id: "container",
        why: "A container may hide other work, settings and rights of the machine it runs on.",
        reference: "systemd-detect-virt(1)",
        tunable: false,
        matters: &[],
        look: container,
    },
    Check {
        id: "cpu-quota",
        why: "A group that has used up its quota waits for the next period: some 10 ms, whatever is due.",
        reference: "kernel: Documentation/admin-guide/cgroup-v2.rst, cpu.max",
        tunable: false,
        matters: ALL,
        look: quota,
    },
];

fn virtual_machine(machine: &Machine<'_>) -> Option<Seen> {
    let info = machine.text("proc/cpuinfo").unwrap_or_default();
    let has_flag = info
        .lines()
        .filter(|line| line.starts_with("flags"))
        .any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    let product = machine.text("sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let board = board(machine).unwrap_or_default();
    if !has_flag && board != "linux,dummy-virt" {
        return None;
    }
    let kind =
        machine.text("sys/hypervisor/type").unwrap_or_else(|| if product.is_empty() { board.clone() } else { product.clone() });
    let found = if kind.is_empty() { "yes, of an unknown kind".to_owned() } else { format!("yes ({kind})") };
    Seen::warn(found, "measure on the machine itself, or give each virtual CPU a CPU of its own")
}

/// Steal time of more than this share of what was not idle, in thousandths, is named.
const MUCH_STEAL: u64 = 10;

fn steal(machine: &Machine<'_>) -> Option<Seen> {
    let text = machine.text("proc/stat")?;
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let times: Vec<u64> = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (steal, all) = (*times.get(7)?, times.iter().take(8).sum::<u64>());
    let idle = times.get(3)? + times.get(4)?;
    let busy = all.saturating_sub(idle);
    if steal == 0 {
        return None;
    }
    let found = format!("{:.1} % of the time in which there was work, since boot", 100.0 * ratio(steal, busy));
    if steal.saturating_mul(1_000) > busy.saturating_mul(MUCH_STEAL) {
        return Seen::bad(found, "have the host give this machine CPUs of its own");
    }
    Seen::warn(found, "have the host give this machine CPUs of its own")
}

#[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn container(machine: &Machine<'_>) -> Option<Seen> {
    let environment = machine.text("proc/1/environ").unwrap_or_default();
    let named = environment.split('\0').find_map(|word| word.strip_prefix("container=")).map(str::to_owned);
    let kind = if machine.exists(".dockerenv") {
        "docker".to_owned()
    } else if machine.exists("run/.containerenv") {
        "podman".to_owned()
    } else {
        named.or_else(|| machine.text("run/systemd/container"))?
    };
    Seen::warn(
        format!("yes ({kind})"),
        "give it what it needs: --cap-add SYS_NICE --cap-add IPC_LOCK --ulimit rtprio=99 --ulimit memlock=-1 --cpuset-cpus",
    )
}

fn quota(machine: &Machine<'_>) -> Option<Seen> {
    let mut limits = Vec::new();
    if let Some(group) = own_group(machine, None) {
        // A limit of any group above counts too.
        let mut folder = group.trim_end_matches('/').to_owned();
        loop {
            if let Some(text) = machine.text(&format!("{folder}/cpu.max"))
                && let Some((quota, period)) = text.split_once(' ')
                && quota != "max"
            {
                limits.push(format!("{quota} µs of each {period} µs (/{folder}/cpu.max)"));
            }
            let Some((above, _)) = folder.rsplit_once('/').filter(|(above, _)| above.starts_with("sys/fs/cgroup")) else { break };
            folder = above.to_owned();
        }
    }
    if let Some(folder) = own_group(machine, Some("cpu"))
        && let Some(quota) = machine.number(&format!("{folder}/cpu.cfs_quota_us")).filter(|quota| *quota > 0)
    {
        let period = machine.number(&format!("{folder}/cpu.cfs_period_us")).unwrap_or(100_000);
        limits.push(format!("{quota} µs of each {period} µs (/{folder}/cpu.cfs_quota_us)"));
    }
    if limits.is_empty() {
        return None;
    }
    Seen::bad(
        limits.join(", "),
        "run without it (docker: no --cpus; systemd: CPUQuota=). Real-time threads are not held to it, all others are",
    )
}
