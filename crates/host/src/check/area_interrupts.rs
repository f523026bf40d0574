// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts: where they may go, and who moves them.

use super::machine::{Machine, Purpose, cpu_words};
use super::{Check, Seen, listed};
use crate::tune::{of_mask, to_mask};
use plan::{CpuId, CpuList};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "interrupts-on-measured-cpus",
        why: "An interrupt on the CPU delays whatever runs there: some µs each, more where its handler is slow.",
        reference: "kernel: Documentation/core-api/irq/irq-affinity.rst",
        tunable: true,
        matters: &[Purpose::Robotics, Purpose::Telco, Purpose::Measure],
        look: on_measured_cpus,
    },
    Check {
        id: "interrupt-default",
        why: "A device that is set up later gets its interrupts where this mask allows them.",
        reference: "kernel: Documentation/core-api/irq/irq-affinity.rst, default_smp_affinity",
        tunable: true,
        matters: &[],
        look: default_affinity,
    },
    Check {
        id: "irqbalance",
        why: "irqbalance moves interrupts to CPUs that have little to do, which are those that wait to be on time.",
        reference: "irqbalance(1), IRQBALANCE_BANNED_CPULIST",
        tunable: false,
        matters: &[Purpose::Robotics, Purpose::Telco],
        look: irqbalance,
    },
    Check {
        id: "workqueues",
        why: "Work of the kernel that is bound to no CPU runs on any in this mask.",
        reference: "kernel: Documentation/core-api/workqueue.rst",
        tunable: true,
        matters: &[Purpose::Telco],
        look: workqueues,
    },
];

/// What an interrupt is for, from /proc/interrupts: the last words of its line.
fn devices(machine: &Machine<'_>) -> Vec<(String, String)> {
    let text = machine.text("proc/interrupts").unwrap_or_default();
    let row = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim();
        number.parse::<u32>().ok()?;
        Some((number.to_owned(), rest.split_whitespace().last().unwrap_or_default().to_owned()))
    };
    text.lines().filter_map(row).collect()
}

/// Interrupts of the timers of all CPUs, which belong there.
const TIMERS: [&str; 5] = ["timer", "arch_timer", "hpet", "arm-pmu", "pmu"];

/// Interrupts that belong to no CPU: their number, and what they are for.
pub(crate) fn moved_interrupts(machine: &Machine<'_>) -> Vec<(String, String)> {
    let mut devices = devices(machine);
    devices.retain(|(_, device)| !TIMERS.contains(&device.as_str()));
    devices
}

fn on_measured_cpus(machine: &Machine<'_>) -> Option<Seen> {
    if !machine.has_chosen_cpus() {
        return None;
    }
    let measured = machine.measured();
    let mut there = Vec::new();
    for (number, device) in moved_interrupts(machine) {
        let list = |name: &str| machine.cpus(&format!("proc/irq/{number}/{name}")).filter(|cpus| !cpus.is_empty());
        let allowed = list("smp_affinity_list");
        // Where it comes to now; it goes where it is allowed to with the next one.
        let mut cpus = list("effective_affinity_list").or_else(|| allowed.clone()).unwrap_or_default();
        cpus.retain(|cpu| allowed.as_ref().is_none_or(|allowed| allowed.contains(cpu)));
        let shared: Vec<CpuId> = cpus.iter().copied().filter(|cpu| measured.contains(cpu)).collect();
        if !shared.is_empty() {
            there.push((number, device, shared));
        }
    }
    let Some((first, ..)) = there.first() else {
        return Seen::ok(format!("none may come to {}", cpu_words(&measured)));
    };
    let named: Vec<String> =
        there.iter().take(8).map(|(number, device, cpus)| format!("{number} ({device}) on {}", cpu_words(cpus))).collect();
    let further = if there.len() > named.len() { format!(", and {} more", there.len() - named.len()) } else { String::new() };
    let others = CpuList::format(&machine.others());
    Seen::bad(
        format!("{}{further}", named.join(", ")),
        format!("echo {others} | sudo tee /proc/irq/{first}/smp_affinity_list, and so for each"),
    )
}

/// What a mask says of the measured CPUs.
fn mask(machine: &Machine<'_>, file: &str) -> Option<Seen> {
    if !machine.has_chosen_cpus() {
        return None;
    }
    let measured = machine.measured();
    let cpus = of_mask(&machine.text(file)?)?;
    let shared: Vec<CpuId> = cpus.into_iter().filter(|cpu| measured.contains(cpu)).collect();
    if shared.is_empty() {
        return Seen::ok(format!("without {}", cpu_words(&measured)));
    }
    Seen::bad(format!("allows {}", cpu_words(&shared)), format!("echo {} | sudo tee /{file}", to_mask(&machine.others())))
}

fn default_affinity(machine: &Machine<'_>) -> Option<Seen> {
    mask(machine, "proc/irq/default_smp_affinity")
}

fn workqueues(machine: &Machine<'_>) -> Option<Seen> {
    mask(machine, "sys/devices/virtual/workqueue/cpumask")
}

fn irqbalance(machine: &Machine<'_>) -> Option<Seen> {
    if machine.processes("irqbalance").is_empty() {
        return None;
    }
    let files = ["etc/default/irqbalance", "etc/sysconfig/irqbalance"];
    let settings: String = files.iter().filter_map(|file| machine.text(file)).collect::<Vec<_>>().join("\n");
    let banned = |line: &str| line.trim().strip_prefix("IRQBALANCE_BANNED_CPU").map(str::to_owned);
    let banned: Vec<String> = settings.lines().filter_map(banned).collect();
    // It leaves isolated CPUs alone by itself.
    if !machine.has_chosen_cpus() || machine.measured().iter().all(|cpu| machine.isolated.contains(cpu)) {
        return Seen::ok("runs, and leaves isolated CPUs alone");
    }
    if !banned.is_empty() {
        return Seen::ok(format!("runs, with IRQBALANCE_BANNED_CPU{}", listed(&banned)));
    }
    Seen::bad("runs, with no CPU left out", "sudo systemctl disable --now irqbalance")
}
