// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPUs to keep for what is to be on time: an answer from topology and from where interrupts go.

use super::machine::Machine;
use super::{CheckOptions, Purpose};
use crate::HostRoot;
use plan::{CpuId, CpuList};
use std::collections::BTreeMap;

/// Which CPUs do what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Those that everything else runs on.
    pub housekeeping: Vec<CpuId>,
    /// Those to isolate.
    pub isolated: Vec<CpuId>,
    /// The one of them to measure, or to run what is most urgent.
    pub measured: CpuId,
    /// Second threads of their cores, to be left idle or switched off.
    pub idle: Vec<CpuId>,
    /// Why.
    pub reasons: Vec<String>,
}

impl Advice {
    /// The kernel's arguments for it.
    #[must_use]
    pub fn arguments(&self) -> String {
        let (list, others) = (CpuList::format(&self.isolated), CpuList::format(&self.housekeeping));
        format!("isolcpus=managed_irq,domain,{list} nohz_full={list} rcu_nocbs={list} irqaffinity={others}")
    }
}

/// One core of so many is left for everything else.
const CORES_OF_ONE_LEFT: usize = 4;

impl HostRoot {
    /// Which CPUs to isolate and to measure. None on a machine with one core, where nothing can be set apart.
    #[must_use]
    pub fn advise(&self) -> Option<Advice> {
        let options = CheckOptions { purpose: Purpose::Measure, cpus: None, priority: 1, config: None };
        advise(&Machine::new(self, &options))
    }
}

fn advise(machine: &Machine<'_>) -> Option<Advice> {
    let cores = cores(machine);
    let boot_core = cores.iter().position(|core| core.contains(&CpuId(0))).unwrap_or(0);
    let others = cores.len().checked_sub(1).filter(|others| *others > 0)?;
    let interrupts = interrupts(machine);
    let of_core = |core: &Vec<CpuId>| core.iter().map(|cpu| interrupts.get(cpu).copied().unwrap_or(0)).sum::<u64>();
    // The kernel binds work of its own to CPU 0, so its core is the first that stays.
    let mut order: Vec<usize> = (0..cores.len()).filter(|core| *core != boot_core).collect();
    let node = |core: usize| node(machine, cores[core][0]);
    order.sort_by_key(|core| (std::cmp::Reverse((node(*core) == node(boot_core), of_core(&cores[*core]))), *core));
    let left = (cores.len() / CORES_OF_ONE_LEFT).clamp(1, others);
    let housekeeping_cores: Vec<usize> = std::iter::once(boot_core).chain(order.iter().copied().take(left - 1)).collect();
    let isolated_cores: Vec<usize> = order.into_iter().skip(left - 1).collect();
    // The one with the fewest interrupts, and of those the last.
    let measured_core = isolated_cores.iter().copied().min_by_key(|core| (of_core(&cores[*core]), std::cmp::Reverse(*core)))?;
    let all_of = |list: &[usize]| {
        let mut cpus: Vec<CpuId> = list.iter().flat_map(|core| cores[*core].iter().copied()).collect();
        cpus.sort_unstable();
        cpus
    };
    let measured = cores[measured_core][0];
    let everything_else =
        format!("{left} of {} cores is for everything else, that of CPU 0 first, to which the kernel binds work", cores.len());
    let counted = of_core(&cores[measured_core]);
    let fewest = if isolated_cores.len() > 1 { ", the fewest of these" } else { "" };
    let mut reasons =
        vec![everything_else, format!("the core of CPU {measured} had {counted} device interrupts since boot{fewest}")];
    let mut idle: Vec<CpuId> = isolated_cores.iter().flat_map(|core| cores[*core].iter().copied().skip(1)).collect();
    idle.sort_unstable();
    if !idle.is_empty() {
        reasons.push(format!("CPUs {} are second threads of these cores", CpuList::format(&idle)));
    }
    if node(measured_core) != node(boot_core) {
        reasons.push("it is on another memory node than CPU 0: bind memory to that too".to_owned());
    }
    Some(Advice { housekeeping: all_of(&housekeeping_cores), isolated: all_of(&isolated_cores), measured, idle, reasons })
}

/// The CPUs of each core, by the first of them.
fn cores(machine: &Machine<'_>) -> Vec<Vec<CpuId>> {
    let mut cores: Vec<Vec<CpuId>> = Vec::new();
    for cpu in &machine.online {
        let siblings =
            machine.cpus(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")).unwrap_or_default();
        match cores.iter_mut().find(|core| siblings.contains(&core[0])) {
            Some(core) => core.push(*cpu),
            None => cores.push(vec![*cpu]),
        }
    }
    cores
}

/// The memory node of a CPU.
fn node(machine: &Machine<'_>, cpu: CpuId) -> Option<String> {
    machine.names(&format!("sys/devices/system/cpu/cpu{cpu}")).into_iter().find(|name| name.starts_with("node"))
}

/// Interrupts of devices since boot, by CPU: rows with a number, timers left out.
fn interrupts(machine: &Machine<'_>) -> BTreeMap<CpuId, u64> {
    let text = machine.text("proc/interrupts").unwrap_or_default();
    let rows = crate::interrupts::parse(&text, &machine.online, &mut Vec::new());
    let mut counts: BTreeMap<CpuId, u64> = BTreeMap::new();
    let is_device = |name: &str, description: &str| name.parse::<u32>().is_ok() && !description.contains("timer");
    for row in rows.iter().filter(|row| is_device(&row.name, &row.description)) {
        for (cpu, count) in machine.online.iter().zip(&row.counts) {
            *counts.entry(*cpu).or_default() += count;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn advised(cpus: &str, siblings: &dyn Fn(u32) -> String, interrupts: &str) -> Option<Advice> {
        let dir = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        file("sys/devices/system/cpu/online", cpus);
        file("proc/interrupts", interrupts);
        let last: u32 = cpus.rsplit('-').next().unwrap().parse().unwrap();
        for cpu in 0..=last {
            file(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), &siblings(cpu));
        }
        HostRoot::at(dir.path()).advise()
    }

    #[test]
    fn a_board_of_four_cores_keeps_cpu_0() {
        let interrupts = "  CPU0 CPU1 CPU2 CPU3\n 33: 900 0 5 0 dwc_otg\n 162: 9 9 9 900000 arch_timer\n";
        let advice = advised("0-3", &|cpu| cpu.to_string(), interrupts).unwrap();
        assert_eq!((CpuList::format(&advice.isolated), advice.measured), ("1-3".to_owned(), CpuId(3)));
        let expected = "isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3 irqaffinity=0";
        assert_eq!(advice.arguments(), expected);
        assert!(advice.idle.is_empty());
    }

    /// The core with the most interrupts joins CPU 0, and second threads are left idle.
    #[test]
    fn siblings_stay_together() {
        let interrupts = "  CPU0 CPU1 CPU2 CPU3 CPU4 CPU5 CPU6 CPU7 CPU8 CPU9 CPU10 CPU11 CPU12 CPU13 CPU14 CPU15\n 5: 0 0 0 70 0 0 0 1 0 0 0 0 0 0 0 0 nvme\n";
        let siblings = |cpu: u32| format!("{},{}", cpu % 8, cpu % 8 + 8);
        let advice = advised("0-15", &siblings, interrupts).unwrap();
        assert_eq!(CpuList::format(&advice.housekeeping), "0,3,8,11");
        assert_eq!(CpuList::format(&advice.idle), "9-10,12-15");
        assert_eq!(advice.measured, CpuId(6));
    }

    #[test]
    fn one_core_cannot_be_divided() {
        assert_eq!(advised("0-1", &|_| "0-1".to_owned(), ""), None);
        assert_eq!(advised("0-0", &|_| "0".to_owned(), ""), None);
    }
}
