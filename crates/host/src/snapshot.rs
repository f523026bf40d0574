// SPDX-License-Identifier: MIT OR Apache-2.0
//! One look at the machine.
//!
//! It is taken before and after every run, and a run must begin soon after it was asked for; so each file is read once, and
//! nothing is looked for where its absence has already been seen.

use crate::root::{Fault, HostRoot, Look, one_number};
use crate::{cpu, interrupts, kernel, proc_stat, usage};
use model::{CpuFacts, EventCounts, HostFacts};
use plan::CpuId;
use std::collections::BTreeMap;

/// What QEMU's `virt` board calls itself: no board that one could hold.
const QEMU_BOARD: &str = "linux,dummy-virt";

/// CPUs outside of the scheduler's balancing, on which nothing runs that does not ask for them.
const ISOLATED: &str = "sys/devices/system/cpu/isolated";
const ISOLATED_ITEM: &str = "isolated CPUs";

impl HostRoot {
    /// The isolated CPUs; none where the kernel does not say.
    #[must_use]
    pub fn isolated_cpus(&self) -> Vec<CpuId> {
        let text = Look::new(self).optional(ISOLATED, ISOLATED_ITEM).unwrap_or_default();
        cpu::listed(&kernel::cpu_list(&text), ISOLATED_ITEM).unwrap_or_default()
    }

    /// Looks at the machine. Never fails: what cannot be read is none, and stands in [`HostFacts::unreadable`] unless the
    /// machine simply does not have it.
    #[must_use]
    pub fn snapshot(&self) -> HostFacts {
        let mut look = Look::new(self);
        let mut facts = HostFacts { architecture: architecture(self, &mut look), ..HostFacts::default() };
        kernel_facts(&mut look, &mut facts);
        timekeeping(&mut look, &mut facts);
        usage_facts(&mut look, &mut facts);
        cpus(&mut look, &mut facts);
        let known: Vec<CpuId> = facts.cpus.iter().map(|cpu| cpu.cpu).collect();
        facts.interrupts = events(&mut look, "proc/interrupts", &known);
        facts.softirqs = events(&mut look, "proc/softirqs", &known);
        facts.unreadable = look.unreadable;
        facts
    }
}

/// `uname -m`. The file came with Linux 6.1; the system call speaks of the running machine only.
fn architecture(root: &HostRoot, look: &mut Look<'_>) -> String {
    const FILE: &str = "proc/sys/kernel/arch";
    if let Some(name) = look.optional(FILE, "architecture").as_deref().and_then(kernel::one_line) {
        return name;
    }
    if root.is_system() {
        return rustix::system::uname().machine().to_string_lossy().into_owned();
    }
    look.fault(FILE, Fault::whole("architecture", "there is no such file, and uname speaks of another machine"));
    String::new()
}

fn kernel_facts(look: &mut Look<'_>, facts: &mut HostFacts) {
    let mut line = |file, item| look.expected(file, item).as_deref().and_then(kernel::one_line);
    facts.hostname = line("proc/sys/kernel/hostname", "hostname");
    facts.kernel = line("proc/sys/kernel/osrelease", "kernel release");
    facts.kernel_version = line("proc/version", "kernel version");
    facts.kernel_command_line = line("proc/cmdline", "kernel command line");
    let realtime = look.optional("sys/kernel/realtime", "real-time flag");
    let mode = look.privileged("sys/kernel/debug/sched/preempt", "preemption mode");
    let (version, command_line) = (facts.kernel_version.as_deref(), facts.kernel_command_line.as_deref());
    facts.preemption = kernel::preemption(version, realtime.as_deref(), mode.as_deref(), command_line);

    let mut list = |file, item| look.optional(file, item).as_deref().map(kernel::cpu_list);
    facts.isolated_cpus = list(ISOLATED, ISOLATED_ITEM);
    facts.nohz_full_cpus = list("sys/devices/system/cpu/nohz_full", "CPUs without a tick");
    facts.rt_runtime_us = number(look, "proc/sys/kernel/sched_rt_runtime_us", "time for real-time tasks");
    facts.rt_period_us = number(look, "proc/sys/kernel/sched_rt_period_us", "period for real-time tasks");

    const PAGES: &str = "sys/kernel/mm/transparent_hugepage/enabled";
    const PAGES_ITEM: &str = "transparent huge pages";
    if let Some(text) = look.optional(PAGES, PAGES_ITEM) {
        let chosen = kernel::chosen(&text).map(str::to_owned).ok_or_else(|| Fault::at(1, PAGES_ITEM, "no choice in brackets"));
        facts.transparent_hugepages = look.keep(PAGES, chosen);
    }
}

fn timekeeping(look: &mut Look<'_>, facts: &mut HostFacts) {
    const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";
    let current = look.expected(&format!("{FOLDER}/current_clocksource"), "clocksource");
    facts.clocksource = current.as_deref().and_then(kernel::one_line);
    // One missing folder is one entry.
    if current.is_some() {
        let available = look.expected(&format!("{FOLDER}/available_clocksource"), "clocksources available");
        facts.clocksources_available = available.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect();
    }
}

fn usage_facts(look: &mut Look<'_>, facts: &mut HostFacts) {
    if let Some(text) = look.expected("proc/meminfo", "memory") {
        facts.memory_total_kib = look.keep("proc/meminfo", usage::meminfo(&text, "MemTotal"));
        facts.memory_available_kib = look.keep("proc/meminfo", usage::meminfo(&text, "MemAvailable"));
    }
    if let Some(text) = look.expected("proc/loadavg", "load averages") {
        facts.load_average = look.keep("proc/loadavg", usage::load_average(&text));
    }
    if let Some(text) = look.expected("proc/uptime", "uptime") {
        facts.uptime_s = look.keep("proc/uptime", usage::uptime(&text));
    }
}

fn cpus(look: &mut Look<'_>, facts: &mut HostFacts) {
    // Before any scaling_cur_freq: x86 kernels of 4.15 to 5.17 wait 10 ms for a fresh figure, here once for all CPUs and
    // there once for each.
    let info = match look.expected("proc/cpuinfo", "CPU model") {
        Some(text) => {
            let mut faults = Vec::new();
            let info = cpu::cpuinfo(&text, &mut faults);
            look.faults("proc/cpuinfo", faults);
            info
        }
        None => cpu::CpuInfo::default(),
    };
    facts.cpu_model = info.model.or_else(|| {
        let board = look.optional("proc/device-tree/model", "board");
        board.as_deref().and_then(kernel::one_line)
    });
    facts.hypervisor = match info.hypervisor {
        None if facts.cpu_model.as_deref() == Some(QEMU_BOARD) => Some(true),
        // Dom0 of Xen hides the flag, and other architectures have none; what no file tells stays unknown.
        None | Some(false) if look.optional("sys/hypervisor/type", "hypervisor").is_some_and(|text| !text.trim().is_empty()) => {
            Some(true)
        }
        told => told,
    };
    facts.cpus = times(look).into_iter().map(|(cpu, time_ms)| one_cpu(look, cpu, time_ms, &info.frequency_khz)).collect();
}

/// The online CPUs, with their times where there are any.
fn times(look: &mut Look<'_>) -> BTreeMap<CpuId, BTreeMap<String, u64>> {
    if let Some(text) = look.expected("proc/stat", "CPUs and their times") {
        let mut faults = Vec::new();
        let times = proc_stat::parse(&text, &mut faults);
        look.faults("proc/stat", faults);
        if !times.is_empty() {
            return times;
        }
    }
    const ONLINE: &str = "sys/devices/system/cpu/online";
    let online = look.expected(ONLINE, "CPUs online").and_then(|text| look.keep(ONLINE, cpu::listed(&text, "CPUs online")));
    online.unwrap_or_default().into_iter().map(|cpu| (cpu, BTreeMap::new())).collect()
}

fn one_cpu(look: &mut Look<'_>, cpu: CpuId, time_ms: BTreeMap<String, u64>, mhz: &BTreeMap<CpuId, u64>) -> CpuFacts {
    let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
    let governor = look.optional(&format!("{folder}/scaling_governor"), &format!("governor of CPU {cpu}"));
    let mut khz = |file: &str, item: &str| {
        // Without a governor there is no driver, and none of its other files.
        governor.as_ref().and_then(|_| number(look, &format!("{folder}/{file}"), &format!("{item} of CPU {cpu}")))
    };
    CpuFacts {
        cpu,
        // A driver that does not know answers 0.
        frequency_khz: khz("scaling_cur_freq", "frequency").filter(|khz| *khz > 0).or_else(|| mhz.get(&cpu).copied()),
        frequency_min_khz: khz("scaling_min_freq", "lowest frequency"),
        frequency_max_khz: khz("scaling_max_freq", "highest frequency"),
        governor: governor.as_deref().and_then(kernel::one_line),
        time_ms,
    }
}

/// A number from a file that many machines do not have.
fn number<T: std::str::FromStr>(look: &mut Look<'_>, file: &str, item: &str) -> Option<T> {
    let text = look.optional(file, item)?;
    look.keep(file, one_number(&text, item))
}

fn events(look: &mut Look<'_>, file: &str, cpus: &[CpuId]) -> Vec<EventCounts> {
    let Some(text) = look.expected(file, "counts") else { return Vec::new() };
    let mut faults = Vec::new();
    let rows = interrupts::parse(&text, cpus, &mut faults);
    look.faults(file, faults);
    rows
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
