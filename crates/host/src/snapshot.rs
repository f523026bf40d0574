// SPDX-License-Identifier: MIT OR Apache-2.0
//! One snapshot of the machine.
//!
//! It is taken before and after every run, and a run must begin soon after it was asked for; so
//! each file is read once, and nothing is looked for where its absence has already been seen.

use crate::root::{FactReader, Fault, HostRoot, one_number};
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
    pub fn isolated_cpus(&self) -> Vec<CpuId> {
        let text = FactReader::new(self).optional(ISOLATED, ISOLATED_ITEM).unwrap_or_default();
        cpu::listed(&kernel::cpu_list(&text), ISOLATED_ITEM).unwrap_or_default()
    }

    /// The CPUs that are online; CPU 0 where the kernel does not say.
    pub fn online_cpus(&self) -> Vec<CpuId> {
        let text = FactReader::new(self)
            .optional("sys/devices/system/cpu/online", "CPUs online")
            .unwrap_or_default();
        cpu::listed(&text, "CPUs online").unwrap_or_else(|_| vec![CpuId(0)])
    }

    /// Looks at the machine, but not at how its kernel can be preempted, which the crate `check`
    /// finds out. Never fails: what cannot be read is none, and stands in
    /// [`HostFacts::unreadable`] unless the machine simply does not have it.
    pub fn snapshot(&self) -> HostFacts {
        let mut reader = FactReader::new(self);
        let mut facts =
            HostFacts { architecture: architecture(self, &mut reader), ..HostFacts::default() };
        kernel_facts(&mut reader, &mut facts);
        timekeeping(&mut reader, &mut facts);
        usage_facts(&mut reader, &mut facts);
        cpus(&mut reader, &mut facts);
        let known: Vec<CpuId> = facts.cpus.iter().map(|cpu| cpu.cpu).collect();
        facts.interrupts = events(&mut reader, "proc/interrupts", &known);
        facts.softirqs = events(&mut reader, "proc/softirqs", &known);
        facts.unreadable = reader.unreadable;
        facts
    }
}

/// `uname -m`. The file came with Linux 6.1; the system call speaks of the running machine only.
fn architecture(root: &HostRoot, reader: &mut FactReader<'_>) -> String {
    const FILE: &str = "proc/sys/kernel/arch";
    if let Some(name) = reader.optional(FILE, "architecture").as_deref().and_then(kernel::one_line)
    {
        return name;
    }
    if root.is_system() {
        return rustix::system::uname().machine().to_string_lossy().into_owned();
    }
    reader.fault(
        FILE,
        Fault::without_line(
            "architecture",
            "there is no such file, and uname speaks of another machine",
        ),
    );
    String::new()
}

fn kernel_facts(reader: &mut FactReader<'_>, facts: &mut HostFacts) {
    let mut line = |file, item| reader.expected(file, item).as_deref().and_then(kernel::one_line);
    facts.hostname = line("proc/sys/kernel/hostname", "hostname");
    facts.kernel = line("proc/sys/kernel/osrelease", "kernel release");
    facts.kernel_version = line("proc/version", "kernel version");
    facts.kernel_command_line = line("proc/cmdline", "kernel command line");

    let mut list = |file, item| reader.optional(file, item).as_deref().map(kernel::cpu_list);
    facts.isolated_cpus = list(ISOLATED, ISOLATED_ITEM);
    facts.nohz_full_cpus = list("sys/devices/system/cpu/nohz_full", "CPUs without a tick");
    facts.rt_runtime_us =
        number(reader, "proc/sys/kernel/sched_rt_runtime_us", "time for real-time tasks");
    facts.rt_period_us =
        number(reader, "proc/sys/kernel/sched_rt_period_us", "period for real-time tasks");

    const PAGES: &str = "sys/kernel/mm/transparent_hugepage/enabled";
    const PAGES_ITEM: &str = "transparent huge pages";
    if let Some(text) = reader.optional(PAGES, PAGES_ITEM) {
        let chosen = kernel::chosen(&text)
            .map(str::to_owned)
            .ok_or_else(|| Fault::at(1, PAGES_ITEM, "no choice in brackets"));
        facts.transparent_hugepages = reader.record(PAGES, chosen);
    }
}

fn timekeeping(reader: &mut FactReader<'_>, facts: &mut HostFacts) {
    const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";
    let current = reader.expected(&format!("{FOLDER}/current_clocksource"), "clocksource");
    facts.clocksource = current.as_deref().and_then(kernel::one_line);
    // One missing folder is one entry.
    if current.is_some() {
        let available =
            reader.expected(&format!("{FOLDER}/available_clocksource"), "clocksources available");
        facts.clocksources_available =
            available.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect();
    }
}

fn usage_facts(reader: &mut FactReader<'_>, facts: &mut HostFacts) {
    if let Some(text) = reader.expected("proc/meminfo", "memory") {
        facts.memory_total_kib = reader.record("proc/meminfo", usage::meminfo(&text, "MemTotal"));
        facts.memory_available_kib =
            reader.record("proc/meminfo", usage::meminfo(&text, "MemAvailable"));
    }
    facts.load_average = reader.parsed("proc/loadavg", "load averages", usage::load_average);
    facts.uptime_s = reader.parsed("proc/uptime", "uptime", usage::uptime);
}

fn cpus(reader: &mut FactReader<'_>, facts: &mut HostFacts) {
    // Before any scaling_cur_freq: x86 kernels of 4.15 to 5.17 wait 10 ms for a fresh figure, here
    // once for all CPUs and there once for each.
    let info = reader.lines_of("proc/cpuinfo", "CPU model", cpu::cpuinfo).unwrap_or_default();
    facts.cpu_model = info.model.or_else(|| {
        let board = reader.optional("proc/device-tree/model", "board");
        board.as_deref().and_then(kernel::one_line)
    });
    facts.hypervisor = match info.hypervisor {
        None if facts.cpu_model.as_deref() == Some(QEMU_BOARD) => Some(true),
        // Dom0 of Xen hides the flag, and other architectures have none; what is in no file stays
        // unknown.
        None | Some(false)
            if reader
                .optional("sys/hypervisor/type", "hypervisor")
                .is_some_and(|text| !text.trim().is_empty()) =>
        {
            Some(true)
        }
        known => known,
    };
    facts.cpus = times(reader)
        .into_iter()
        .map(|(cpu, time_ms)| one_cpu(reader, cpu, time_ms, &info.frequency_khz))
        .collect();
}

/// The online CPUs, with their times where there are any.
fn times(reader: &mut FactReader<'_>) -> BTreeMap<CpuId, BTreeMap<String, u64>> {
    let times = reader.lines_of("proc/stat", "CPUs and their times", proc_stat::parse);
    if let Some(times) = times.filter(|times| !times.is_empty()) {
        return times;
    }
    const ONLINE: &str = "sys/devices/system/cpu/online";
    let online = reader.parsed(ONLINE, "CPUs online", |text| cpu::listed(text, "CPUs online"));
    online.unwrap_or_default().into_iter().map(|cpu| (cpu, BTreeMap::new())).collect()
}

fn one_cpu(
    reader: &mut FactReader<'_>,
    cpu: CpuId,
    time_ms: BTreeMap<String, u64>,
    mhz: &BTreeMap<CpuId, u64>,
) -> CpuFacts {
    let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
    let governor =
        reader.optional(&format!("{folder}/scaling_governor"), &format!("governor of CPU {cpu}"));
    let mut khz = |file: &str, item: &str| {
        // Without a governor there is no driver, and none of its other files.
        governor.as_ref().and_then(|_| {
            number(reader, &format!("{folder}/{file}"), &format!("{item} of CPU {cpu}"))
        })
    };
    CpuFacts {
        cpu,
        // A driver that does not know answers 0.
        frequency_khz: khz("scaling_cur_freq", "frequency")
            .filter(|khz| *khz > 0)
            .or_else(|| mhz.get(&cpu).copied()),
        frequency_min_khz: khz("scaling_min_freq", "lowest frequency"),
        frequency_max_khz: khz("scaling_max_freq", "highest frequency"),
        governor: governor.as_deref().and_then(kernel::one_line),
        time_ms,
    }
}

/// A number from a file that many machines do not have.
fn number<T: std::str::FromStr>(reader: &mut FactReader<'_>, file: &str, item: &str) -> Option<T> {
    let text = reader.optional(file, item)?;
    reader.record(file, one_number(&text, item))
}

fn events(reader: &mut FactReader<'_>, file: &str, cpus: &[CpuId]) -> Vec<EventCounts> {
    let parse = |text: &str, faults: &mut _| interrupts::parse(text, cpus, faults);
    reader.lines_of(file, "counts", parse).unwrap_or_default()
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
