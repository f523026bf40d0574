// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts and work of the kernel, off the CPUs that are to be on time.

use super::setting::{self, Form};
use super::wanted::Wanted;
use check::{DeviceInterrupt, Machine, movable_interrupts};
use host::cpu::{of_mask, to_mask};
use plan::{CpuId, CpuList};

/// What is left of these CPUs, or all others where nothing is.
pub(super) fn without_measured(machine: &Machine<'_>, cpus: &[CpuId]) -> Vec<CpuId> {
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
    let cpus = machine
        .text(file)
        .and_then(|text| of_mask(&text))
        .filter(|cpus| has_measured(machine, cpus));
    let wanted = |cpus: Vec<CpuId>| {
        let to = to_mask(&without_measured(machine, &cpus));
        Wanted { form: Form::CpuMask, ..Wanted::plain(file, to) }
    };
    cpus.map(wanted).into_iter().collect()
}

pub(super) fn default_affinity(machine: &Machine<'_>) -> Vec<Wanted> {
    mask(machine, "proc/irq/default_smp_affinity")
}

/// What is asked for, and not what the kernel left of it beside isolated partitions: those may go,
/// and the CPUs come back.
pub(super) fn workqueues(machine: &Machine<'_>) -> Vec<Wanted> {
    const FILE: &str = "sys/devices/virtual/workqueue/cpumask";
    let mut wanted = mask(machine, FILE);
    let requested =
        setting::requested(machine.root(), FILE).and_then(|file| of_mask(&machine.text(&file)?));
    for one in &mut wanted {
        one.form = Form::RequestedMask;
        if let Some(requested) = &requested {
            one.to = to_mask(&without_measured(machine, requested));
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use crate::tests::files::lay;
    use crate::{Change, TuningOptions};
    use crate::{Tuning, TuningPlan};
    use plan::CpuId;
    use std::fs;

    /// CPU 2 is in an isolated partition, which may go before the tuning is undone.
    #[test]
    fn what_was_asked_of_workqueues_comes_back() {
        let folder = "sys/devices/virtual/workqueue";
        let requested = format!("{folder}/cpumask_requested");
        for (has_requested, to) in [(true, "5"), (false, "1")] {
            let (_dir, root) = lay(&[
                ("proc/sys/kernel/random/boot_id", "first\n"),
                ("proc/stat", "btime 1000\n"),
                ("sys/devices/system/cpu/online", "0-2\n"),
                (&format!("{folder}/cpumask"), "3\n"),
                (&requested, "7\n"),
            ]);
            if !has_requested {
                fs::remove_file(root.path(&requested)).unwrap();
            }
            let only = vec!["workqueues".to_owned()];
            let options =
                TuningOptions { cpus: Some(vec![CpuId(1)]), only, ..TuningOptions::default() };
            let plan = TuningPlan::new(&root, &options).unwrap();
            let [Change { file, from, to: planned, .. }] = &plan.changes[..] else {
                panic!("{:?}", plan.changes)
            };
            let before = if has_requested { "7\n" } else { "3\n" };
            assert_eq!(
                (file.as_str(), from.as_str(), planned.as_str()),
                ("sys/devices/virtual/workqueue/cpumask", before, to)
            );
            Tuning::begin(&root).unwrap().apply(&plan, true, &|| false).unwrap();
            assert_eq!(fs::read_to_string(root.path(file)).unwrap(), to);
            // The kernel's, as long as the partition is there.
            fs::write(root.path(file), "1\n").unwrap();
            let undone = Tuning::begin(&root).unwrap().undo(false).unwrap();
            assert!(undone.len() == 1 && undone[0].obstacle.is_none(), "{undone:?}");
            assert_eq!(fs::read_to_string(root.path(file)).unwrap(), before, "what is written");
        }
    }
}
