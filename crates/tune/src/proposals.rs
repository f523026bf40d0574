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
    Proposal {
        check: "governor",
        only_when_asked: false,
        risk: "More power and heat. A board with weak cooling or supply may throttle, which is \
               worse.",
        may_be_refused: false,
        propose: propose_frequency::governor,
    },
    Proposal {
        check: "turbo",
        only_when_asked: true,
        risk: "Everything runs slower, in exchange for a frequency that stays the same.",
        may_be_refused: false,
        propose: propose_frequency::turbo,
    },
    Proposal {
        check: "idle-states",
        only_when_asked: false,
        risk: "More power and heat, and less turbo for the other CPUs.",
        may_be_refused: false,
        propose: propose_frequency::idle_states,
    },
    Proposal {
        check: "interrupts-on-measured-cpus",
        only_when_asked: false,
        risk: "The other CPUs serve the device. Those that the kernel places itself (managed \
               ones, per-CPU ones) stay where they are.",
        may_be_refused: true,
        propose: propose_interrupts::affinities,
    },
    Proposal {
        check: "interrupt-default",
        only_when_asked: false,
        risk: "None for interrupts that are already set up.",
        may_be_refused: false,
        propose: propose_interrupts::default_affinity,
    },
    Proposal {
        check: "workqueues",
        only_when_asked: false,
        risk: "The other CPUs do this work.",
        may_be_refused: false,
        propose: propose_interrupts::workqueues,
    },
    Proposal {
        check: "control-groups",
        only_when_asked: false,
        risk: "Services share the other CPUs. Kernels before 6.2 forget to which CPUs their \
               threads had bound themselves.",
        may_be_refused: false,
        propose: propose_groups::control_groups,
    },
    Proposal {
        check: "threads-above",
        only_when_asked: true,
        risk: "Somebody gave the thread this priority, and what it serves comes later now.",
        may_be_refused: false,
        propose: propose_threads::threads,
    },
    Proposal {
        check: "interrupt-threads",
        only_when_asked: true,
        risk: "Somebody gave the thread this priority: its device is served later now.",
        may_be_refused: false,
        propose: propose_threads::interrupt_threads,
    },
    Proposal {
        check: "clocksource",
        only_when_asked: false,
        risk: "Somebody may have chosen the slow one because the fast one is wrong on this \
               machine: look in dmesg.",
        may_be_refused: false,
        propose: propose_kernel::clocksource,
    },
    Proposal {
        check: "timer-migration",
        only_when_asked: false,
        risk: "CPUs that sleep are woken by their own timers: some more power.",
        may_be_refused: false,
        propose: propose_kernel::timer_migration,
    },
    Proposal {
        check: "rt-throttling",
        only_when_asked: true,
        risk: "A real-time thread that never sleeps then stops its CPU for everything else. teiji \
               measure has a guard that ends such a run; your own program has none.",
        may_be_refused: false,
        propose: propose_kernel::throttling,
    },
    Proposal {
        check: "watchdogs",
        only_when_asked: false,
        risk: "A kernel that hangs on these CPUs is not reported.",
        may_be_refused: false,
        propose: propose_kernel::watchdogs,
    },
    Proposal {
        check: "statistics-interval",
        only_when_asked: false,
        risk: "Counters in /proc/vmstat are up to two minutes old.",
        may_be_refused: false,
        propose: propose_kernel::statistics,
    },
    Proposal {
        check: "transparent-hugepages",
        only_when_asked: false,
        risk: "Programs with large memory, such as databases, get slower.",
        may_be_refused: false,
        propose: propose_kernel::hugepages,
    },
    Proposal {
        check: "same-page-merging",
        only_when_asked: false,
        risk: "Virtual machines that share pages need more memory.",
        may_be_refused: false,
        propose: propose_kernel::merging,
    },
    Proposal {
        check: "numa-balancing",
        only_when_asked: false,
        risk: "Programs that are not bound to a node read more remote memory.",
        may_be_refused: false,
        propose: propose_kernel::numa_balancing,
    },
    Proposal {
        check: "compaction",
        only_when_asked: false,
        risk: "Huge pages are found more slowly when a program asks for them.",
        may_be_refused: false,
        propose: propose_kernel::compaction,
    },
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
