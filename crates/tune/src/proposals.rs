// SPDX-License-Identifier: MIT OR Apache-2.0
//! The changes, one line for each check that they mend.

use super::wanted::Proposal;
use super::{
    propose_frequency, propose_groups, propose_interrupts, propose_kernel, propose_threads,
};
use check::{Advice, Machine};
use host::HostRoot;
use plan::{CpuId, CpuList};

/// All of them, in the order in which they are written.
pub(super) const PROPOSALS: &[Proposal] = &[
    Proposal::new(
        "governor",
        propose_frequency::governor,
        "More power and heat. A board with weak cooling or supply may throttle, which is \
         worse.",
    ),
    Proposal::new(
        "turbo",
        propose_frequency::turbo,
        "Everything runs slower, in exchange for a frequency that stays the same.",
    )
    .only_when_asked(),
    Proposal::new(
        "idle-states",
        propose_frequency::idle_states,
        "More power and heat, and less turbo for the other CPUs.",
    ),
    Proposal::new(
        "interrupts-on-measured-cpus",
        propose_interrupts::affinities,
        "The other CPUs serve the device. Those that the kernel places itself (managed \
         ones, per-CPU ones) stay where they are.",
    )
    .that_may_be_refused(),
    Proposal::new(
        "interrupt-default",
        propose_interrupts::default_affinity,
        "None for interrupts that are already set up.",
    ),
    Proposal::new("workqueues", propose_interrupts::workqueues, "The other CPUs do this work."),
    Proposal::new(
        "control-groups",
        propose_groups::control_groups,
        "Services share the other CPUs. Kernels before 6.2 forget to which CPUs their \
         threads had bound themselves.",
    ),
    Proposal::new(
        "threads-above",
        propose_threads::threads,
        "Somebody gave the thread this priority, and what it serves comes later now.",
    )
    .only_when_asked(),
    Proposal::new(
        "interrupt-threads",
        propose_threads::interrupt_threads,
        "Somebody gave the thread this priority: its device is served later now.",
    )
    .only_when_asked(),
    Proposal::new(
        "clocksource",
        propose_kernel::clocksource,
        "Somebody may have chosen the slow one because the fast one is wrong on this \
         machine: look in dmesg.",
    ),
    Proposal::new(
        "timer-migration",
        propose_kernel::timer_migration,
        "CPUs that sleep are woken by their own timers: some more power.",
    ),
    Proposal::new(
        "rt-throttling",
        propose_kernel::throttling,
        "A real-time thread that never sleeps then stops its CPU for everything else. teiji \
         measure has a guard that ends such a run; your own program has none.",
    )
    .only_when_asked(),
    Proposal::new(
        "watchdogs",
        propose_kernel::watchdogs,
        "A kernel that hangs on these CPUs is not reported.",
    ),
    Proposal::new(
        "statistics-interval",
        propose_kernel::statistics,
        "Counters in /proc/vmstat are up to two minutes old.",
    ),
    Proposal::new(
        "transparent-hugepages",
        propose_kernel::hugepages,
        "Programs with large memory, such as databases, get slower.",
    ),
    Proposal::new(
        "same-page-merging",
        propose_kernel::merging,
        "Virtual machines that share pages need more memory.",
    ),
    Proposal::new(
        "numa-balancing",
        propose_kernel::numa_balancing,
        "Programs that are not bound to a node read more remote memory.",
    ),
    Proposal::new(
        "compaction",
        propose_kernel::compaction,
        "Huge pages are found more slowly when a program asks for them.",
    ),
];

/// The file behind links: CPUs of one frequency domain have one.
pub(super) fn real_file(root: &HostRoot, file: String) -> String {
    let real = || {
        let (folder, name) = file.rsplit_once('/')?;
        let folder = root.path(folder).canonicalize().ok()?;
        let below = folder.strip_prefix(root.path("").canonicalize().ok()?).ok()?;
        Some(below.join(name).to_str()?.to_owned())
    };
    real().unwrap_or(file)
}

/// CPUs that could be named on this machine: those that `check --advise` would isolate, or else the
/// last one.
pub(super) fn example_cpus(machine: &Machine<'_>) -> Vec<CpuId> {
    let advised = Advice::for_machine(machine.root(), None)
        .map(|advice| advice.isolated)
        .filter(|cpus| !cpus.is_empty());
    advised.unwrap_or_else(|| machine.online.last().copied().into_iter().collect())
}

/// What works against the changes.
pub(super) fn notes(machine: &Machine<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let is_isolated = machine.measured().iter().all(|cpu| machine.isolated.contains(cpu));
    if machine.has_chosen_cpus() && !is_isolated && !machine.processes("irqbalance").is_empty() {
        notes.push(
            "irqbalance runs, and may move interrupts back: sudo systemctl stop irqbalance"
                .to_owned(),
        );
    }
    if !machine.has_chosen_cpus() && machine.online.len() > 1 {
        let example = CpuList::format(&example_cpus(machine));
        notes.push(format!(
            "all CPUs are to be on time, so nothing is moved to others: name some, as in --cpus \
             {example}"
        ));
    }
    notes.extend(propose_groups::left_alone(machine));
    notes.extend(propose_threads::left_alone(machine));
    notes
}
