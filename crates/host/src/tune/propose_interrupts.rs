// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts and work of the kernel, off the CPUs that are to be on time.

use super::proposals::Wanted;
use super::setting::{Form, of_mask, to_mask};
use crate::check::{DeviceInterrupt, Machine, movable_interrupts};
use plan::{CpuId, CpuList};

/// What is left of these CPUs, or all others where nothing is.
fn without_measured(machine: &Machine<'_>, cpus: &[CpuId]) -> Vec<CpuId> {
    let others = machine.others();
    let left: Vec<CpuId> = cpus.iter().copied().filter(|cpu| others.contains(cpu)).collect();
    if left.is_empty() { others } else { left }
}

fn has_measured(machine: &Machine<'_>, cpus: &[CpuId]) -> bool {
    let measured = machine.measured();
    cpus.iter().any(|cpu| measured.contains(cpu))
}

pub(super) fn affinities(machine: &Machine<'_>) -> Vec<Wanted> {
    if !machine.has_chosen_cpus() {
        return Vec::new();
    }
    let wanted = |DeviceInterrupt { number, device, .. }: DeviceInterrupt| {
        let file = format!("proc/irq/{number}/smp_affinity_list");
        let cpus = machine.cpus(&file).filter(|cpus| has_measured(machine, cpus))?;
        let to = CpuList::format(&without_measured(machine, &cpus));
        Some(Wanted { subject: device, form: Form::CpuList, ..Wanted::plain(file, to) })
    };
    movable_interrupts(machine).into_iter().filter_map(wanted).collect()
}

fn mask(machine: &Machine<'_>, file: &str) -> Vec<Wanted> {
    if !machine.has_chosen_cpus() {
        return Vec::new();
    }
    let cpus = machine.text(file).and_then(|text| of_mask(&text)).filter(|cpus| has_measured(machine, cpus));
    let wanted = |cpus: Vec<CpuId>| {
        let to = to_mask(&without_measured(machine, &cpus));
        Wanted { form: Form::CpuMask, ..Wanted::plain(file, to) }
    };
    cpus.map(wanted).into_iter().collect()
}

pub(super) fn default_affinity(machine: &Machine<'_>) -> Vec<Wanted> {
    mask(machine, "proc/irq/default_smp_affinity")
}

pub(super) fn workqueues(machine: &Machine<'_>) -> Vec<Wanted> {
    mask(machine, "sys/devices/virtual/workqueue/cpumask")
}
