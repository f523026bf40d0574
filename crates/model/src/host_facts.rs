// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine a run was measured on, before and after.

use crate::phrase::Phrase;
use plan::CpuId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine before and after; what differs is what happened meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// When measuring began: once the loads, if any, had settled.
    pub before: HostFacts,
    /// When it had ended, before the loads were stopped; null during the run.
    pub after: Option<HostFacts>,
    /// CPU time of processes between the two snapshots; absent where it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub processes: Option<Processes>,
}

/// Where processes spent CPU time between the two snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processes {
    /// CPU time of the measuring process itself, ms.
    pub own_ms: u64,
    /// CPU time of all other processes together, loads and threads of the kernel left out, ms;
    /// absent where not recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub others_ms: Option<u64>,
    /// CPU time of all threads of the kernel together, ms; absent where not recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel_ms: Option<u64>,
    /// Over how long all of these were counted, ms: from one reading of processes to the other,
    /// which is longer than between the snapshots; absent where not recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub elapsed_ms: Option<u64>,
    /// The processes that used most CPU time, neither this one nor a load, the busiest first.
    /// Those of another container or of another user may be hidden.
    pub busiest: Vec<BusyProcess>,
}

/// A process that used CPU time while it was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyProcess {
    pub pid: u32,
    /// Its name as the kernel has it: at most 15 characters, without arguments.
    pub name: String,
    /// CPU time meanwhile, ms.
    pub cpu_ms: u64,
    /// Whether it is a thread of the kernel.
    pub kernel_thread: bool,
}

/// One snapshot of the machine. What could not be read is null, with the reason in
/// [`HostFacts::unreadable`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The machine's name.
    pub hostname: Option<String>,
    /// `uname -m`.
    pub architecture: String,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// /proc/version.
    pub kernel_version: Option<String>,
    /// How the kernel may be preempted.
    pub preemption: Option<String>,
    /// The kernel's command line.
    pub kernel_command_line: Option<String>,
    /// The CPU's name, or the board's where the CPU has none.
    pub cpu_model: Option<String>,
    /// Whether the machine is a virtual machine.
    pub hypervisor: Option<bool>,
    /// One entry per online CPU.
    pub cpus: Vec<CpuFacts>,
    /// What the kernel keeps time with.
    pub clocksource: Option<String>,
    /// What it could use instead.
    pub clocksources_available: Vec<String>,
    /// CPUs taken out of the scheduler's balancing, as a list.
    pub isolated_cpus: Option<String>,
    /// CPUs without a tick, as a list.
    pub nohz_full_cpus: Option<String>,
    /// µs of each period that real-time tasks may use; -1: all.
    pub rt_runtime_us: Option<i64>,
    /// That period, µs.
    pub rt_period_us: Option<i64>,
    /// Transparent huge pages: always, madvise or never.
    pub transparent_hugepages: Option<String>,
    /// Memory in all, KiB.
    pub memory_total_kib: Option<u64>,
    /// Memory available without swapping, KiB.
    pub memory_available_kib: Option<u64>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Since boot, s.
    pub uptime_s: Option<f64>,
    /// /proc/interrupts: counts since boot, per CPU in the order of [`HostFacts::cpus`].
    pub interrupts: Vec<EventCounts>,
    /// /proc/softirqs, the same way.
    pub softirqs: Vec<EventCounts>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// One CPU of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuFacts {
    pub cpu: CpuId,
    /// What decides its frequency.
    pub governor: Option<String>,
    /// Its frequency just then, kHz.
    pub frequency_khz: Option<u64>,
    /// Lowest frequency allowed, kHz.
    pub frequency_min_khz: Option<u64>,
    /// Highest frequency allowed, kHz.
    pub frequency_max_khz: Option<u64>,
    /// Where its time went since boot, by name as in /proc/stat, ms.
    pub time_ms: BTreeMap<String, u64>,
}

/// Counts of one kind of interrupt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCounts {
    /// Its number or short name.
    pub name: String,
    /// What the kernel says it is for; may be empty.
    pub description: String,
    /// Per CPU.
    pub counts: Vec<u64>,
}

/// A fact that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    pub path: String,
    /// Its line, from 1, where a line could not be understood.
    pub line: Option<usize>,
    pub item: String,
    pub error: String,
}

/// Kernel arguments that matter for latency.
pub const LATENCY_ARGUMENTS: [&str; 40] = [
    "isolcpus",
    "nohz_full",
    "nohz",
    "rcu_nocbs",
    "rcu_nocb_poll",
    "irqaffinity",
    "skew_tick",
    "nosoftlockup",
    "nowatchdog",
    "nmi_watchdog",
    "threadirqs",
    "tsc",
    "clocksource",
    "idle",
    "preempt",
    "highres",
    "mitigations",
    "intel_idle.max_cstate",
    "processor.max_cstate",
    "intel_pstate",
    "amd_pstate",
    "cpufreq.default_governor",
    "transparent_hugepage",
    "workqueue.power_efficient",
    "dwc_otg.fiq_enable",
    "dwc_otg.fiq_fsm_enable",
    "dwc_otg.nak_holdoff",
    "dwc_otg.speed",
    "pcie_aspm",
    "nosmt",
    "irqpoll",
    "mce",
    "numa_balancing",
    "audit",
    "acpi_irq_nobalance",
    "cpuidle.off",
    "cpufreq.off",
    "workqueue.unbound_cpus",
    "rcutree.kthread_prio",
    "rcupdate.rcu_normal_after_boot",
];

/// Kernel arguments that say where a system lies, not how it runs.
const OF_THE_PLACE: [&str; 10] = [
    "BOOT_IMAGE",
    "initrd",
    "root",
    "rootfstype",
    "rootflags",
    "rootwait",
    "resume",
    "ro",
    "rw",
    "quiet",
];

/// A kernel's command line without what says only where the system lies.
pub fn kernel_arguments(command_line: &str) -> String {
    let key = |word: &&str| !OF_THE_PLACE.contains(&word.split('=').next().unwrap_or_default());
    command_line.split_whitespace().filter(key).collect::<Vec<_>>().join(" ")
}

/// How a kernel can be preempted where nothing tells the two apart.
pub const VOLUNTARY_OR_NONE: &str = "voluntary or none";

/// How the kernel can be preempted, to be said.
pub fn preemption_phrase(preemption: &str) -> Phrase {
    let mode = preemption.strip_prefix("PREEMPT_DYNAMIC (");
    let mode = mode.and_then(|mode| mode.strip_suffix(')'));
    if let Some(mode) = mode.and_then(|mode| mode.strip_suffix(" by default")) {
        crate::phrase!("preempt-by-default", mode)
    } else if let Some(mode) = mode.and_then(|mode| mode.strip_prefix("booted with preempt=")) {
        crate::phrase!("preempt-booted", mode)
    } else if preemption == VOLUNTARY_OR_NONE {
        crate::phrase!("voluntary-or-none")
    } else {
        preemption.into()
    }
}
