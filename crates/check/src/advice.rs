// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPUs to keep for what is to be on time: an answer from topology and from where interrupts
//! go.

use super::KernelConfig;
use super::machine::{CheckOptions, Machine};
use super::recommended::{condition, isolable_cpus, joined, recommended_arguments};
use super::set_apart::SetApart;
use super::sets::sorted;
use super::topology::{Core, cores};
use super::words::cpu_words;
use host::HostRoot;
use plan::CpuId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Those that everything else runs on.
    pub housekeeping: Vec<CpuId>,
    pub isolated: Vec<CpuId>,
    /// The one of them to measure, or to run what is most urgent.
    pub measured: CpuId,
    /// Second threads of their cores, to be left idle or switched off.
    pub idle: Vec<CpuId>,
    pub reasons: Vec<String>,
    /// The kernel's arguments for it, those of them that this kernel knows.
    pub arguments: String,
}

/// One core of so many is left for everything else.
const CORES_OF_ONE_LEFT: usize = 4;

impl Advice {
    /// Which CPUs to isolate and to measure, with the arguments for another kernel configuration
    /// than the running one's where one is given. None on a machine with one core, where nothing
    /// can be set apart.
    pub fn for_machine(root: &HostRoot, config: Option<KernelConfig>) -> Option<Advice> {
        let options = CheckOptions { priority: 1, config, ..CheckOptions::default() };
        advice(&Machine::new(root, &options))
    }
}

/// CPUs to isolate, where some can be.
pub(crate) fn isolated(machine: &Machine<'_>) -> Option<Vec<CpuId>> {
    Some(advice(machine)?.isolated)
}

/// Cores for everything else and for what is to be on time, and why these.
struct Division {
    housekeeping: Vec<Core>,
    isolated: Vec<Core>,
    reason: String,
}

/// As somebody divided them already. None where nothing can be isolated so.
fn as_set_apart(machine: &Machine<'_>, cores: &[Core]) -> Option<Division> {
    let SetApart { cpus, by } = machine.set_apart()?;
    let apart = isolable_cpus(cpus);
    let part = |is_apart: bool| -> Vec<Core> {
        let part = cores.iter().map(|core| core.with(|cpu| apart.contains(&cpu) == is_apart));
        part.filter(|core| !core.cpus.is_empty()).collect()
    };
    let (housekeeping, isolated) = (part(false), part(true));
    let reason = format!("{} set apart already, by {by}", cpu_words(&apart));
    let is_division = !housekeeping.is_empty() && !isolated.is_empty();
    is_division.then_some(Division { housekeeping, isolated, reason })
}

/// By what the cores can do and what they have to do.
fn divided(
    mut cores: Vec<Core>,
    capacities: &Capacities,
    of_core: &impl Fn(&Core) -> u64,
) -> Option<Division> {
    // The kernel binds work of its own to CPU 0, so its core is the first that stays.
    let boot_core =
        cores.remove(cores.iter().position(|core| core.cpus.contains(&CpuId(0))).unwrap_or(0));
    cores.sort_by_key(|core| {
        let is_near = (core.shares_cache_with(&boot_core), core.node == boot_core.node);
        (!capacities.is_little(core), Reverse(is_near), Reverse(of_core(core)), core.cpus[0])
    });
    let (all, little) =
        (cores.len() + 1, cores.iter().filter(|core| capacities.is_little(core)).count());
    let left = (all / CORES_OF_ONE_LEFT).max(little + 1).min(cores.len());
    let mut housekeeping = vec![boot_core];
    housekeeping.extend(cores.drain(..left.checked_sub(1)?));
    let verb = if left == 1 { "is" } else { "are" };
    let reason = format!(
        "{left} of {all} cores {verb} for everything else, that of CPU 0 first, to which the \
         kernel binds work"
    );
    Some(Division { housekeeping, isolated: cores, reason })
}

fn advice(machine: &Machine<'_>) -> Option<Advice> {
    let cores = cores(machine);
    let interrupts = interrupts(machine);
    let of_core = |core: &Core| {
        core.cpus.iter().map(|cpu| interrupts.get(cpu).copied().unwrap_or(0)).sum::<u64>()
    };
    let capacities = Capacities::of(&cores);
    let division = match as_set_apart(machine, &cores) {
        Some(division) => division,
        None => divided(cores, &capacities, &of_core)?,
    };
    let Division { housekeeping, isolated, reason } = division;
    // The biggest whose cache the others leave alone, with the fewest interrupts, and of those the
    // last.
    let is_disturbed = |core: &Core| housekeeping.iter().any(|other| core.shares_cache_with(other));
    let measured = isolated.iter().min_by_key(|core| {
        (Reverse(capacities.step(core)), is_disturbed(core), of_core(core), Reverse(core.cpus[0]))
    })?;
    let idle = sorted(isolated.iter().flat_map(|core| core.cpus.iter().copied().skip(1)));

    let mut reasons = vec![reason];
    reasons.extend(capacities.reason(&housekeeping, measured));
    let fewest =
        if isolated.len() > 1 && isolated.iter().all(|core| of_core(core) >= of_core(measured)) {
            ", the fewest of these"
        } else {
            ""
        };
    if !interrupts.is_empty() {
        reasons.push(format!(
            "the core of CPU {} had {} device interrupts since boot{fewest}",
            measured.cpus[0],
            of_core(measured)
        ));
    }
    reasons.extend(cache_reason(&housekeeping, measured));
    if !idle.is_empty() {
        let (are, threads) =
            if idle.len() == 1 { ("is the", "thread") } else { ("are", "threads") };
        reasons.push(format!("{} {are} second {threads} of these cores", cpu_words(&idle)));
    }
    if measured.node != housekeeping[0].node {
        reasons.push("it is on another memory node than CPU 0: bind memory to that too".to_owned());
    }
    let isolated_cpus = all_of(&isolated);
    let arguments = recommended_arguments(machine, &isolated_cpus);
    reasons.extend(condition(machine, &arguments).map(|needs| needs.to_string()));
    Some(Advice {
        housekeeping: all_of(&housekeeping),
        measured: measured.cpus[0],
        isolated: isolated_cpus,
        idle,
        reasons,
        arguments: joined(&arguments),
    })
}

fn all_of<'a>(cores: impl IntoIterator<Item = &'a Core>) -> Vec<CpuId> {
    sorted(cores.into_iter().flat_map(|core| core.cpus.iter().copied()))
}

/// What the last level cache of the measured CPU suffers.
fn cache_reason(housekeeping: &[Core], measured: &Core) -> Option<String> {
    if measured.cache.is_empty() {
        return None;
    }
    let (cpu, cache) = (measured.cpus[0], cpu_words(&measured.cache));
    let sharing: Vec<CpuId> =
        all_of(housekeeping).into_iter().filter(|cpu| measured.cache.contains(cpu)).collect();
    Some(if sharing.is_empty() {
        format!(
            "the last level cache of CPU {cpu}, that of {cache}, is used by none of the CPUs for \
             everything else"
        )
    } else {
        format!(
            "CPU {cpu} shares its last level cache with {}: what runs there takes room in it",
            cpu_words(&sharing)
        )
    })
}

/// How much cores of different kinds can do.
struct Capacities {
    biggest: u64,
    /// Cores below this are little ones, which are kept for everything else.
    little_below: u64,
}

impl Capacities {
    fn of(cores: &[Core]) -> Capacities {
        let biggest = |cores: &mut dyn Iterator<Item = &Core>| {
            cores.filter_map(|core| core.capacity).max().unwrap_or_default()
        };
        // Cores of one kind differ by little. Where only that of CPU 0 is bigger, there is nothing
        // to choose.
        let others = biggest(&mut cores.iter().filter(|core| !core.cpus.contains(&CpuId(0))));
        Capacities { biggest: biggest(&mut cores.iter()), little_below: others * 4 / 5 }
    }

    fn is_little(&self, core: &Core) -> bool {
        core.capacity.is_some_and(|capacity| capacity < self.little_below)
    }

    /// In steps of 5 %.
    fn step(&self, core: &Core) -> u64 {
        core.capacity
            .unwrap_or_default()
            .saturating_mul(20)
            .checked_div(self.biggest)
            .unwrap_or_default()
    }

    fn reason(&self, housekeeping: &[Core], measured: &Core) -> Option<String> {
        let little: Vec<&Core> = housekeeping.iter().filter(|core| self.is_little(core)).collect();
        let (smallest, measured) =
            (little.iter().filter_map(|core| core.capacity).min()?, measured.capacity?);
        let cpus = all_of(little);
        Some(format!(
            "little cores take longer for the same work: {} (capacity {smallest} of {measured})",
            cpu_words(&cpus)
        ))
    }
}

/// Interrupts of devices since boot, by CPU: rows with a number, timers left out.
fn interrupts(machine: &Machine<'_>) -> BTreeMap<CpuId, u64> {
    let text = machine.text("proc/interrupts").unwrap_or_default();
    let rows = host::interrupts::parse(&text, &machine.online, &mut Vec::new());
    let mut counts: BTreeMap<CpuId, u64> = BTreeMap::new();
    let is_device = |name: &str, description: &str| {
        name.parse::<u32>().is_ok() && !description.contains("timer")
    };
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
    use plan::CpuList;
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
            file(
                &format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"),
                &siblings(cpu),
            );
        }
        Advice::for_machine(&HostRoot::at(dir.path()), None)
    }

    #[test]
    fn a_board_of_four_cores_keeps_cpu_0() {
        let interrupts =
            "  CPU0 CPU1 CPU2 CPU3\n 33: 900 0 5 0 dwc_otg\n 162: 9 9 9 900000 arch_timer\n";
        let advice = advised("0-3", &|cpu| cpu.to_string(), interrupts).unwrap();
        assert_eq!(
            (CpuList::format(&advice.isolated), advice.measured),
            ("1-3".to_owned(), CpuId(3))
        );
        let expected = "isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3 irqaffinity=0";
        // What it was built with is not known.
        assert!(advice.reasons.last().unwrap().starts_with("nohz_full= needs NO_HZ_FULL and "));
        assert_eq!(advice.arguments, expected);
        assert!(advice.idle.is_empty());
    }

    /// The core with the most interrupts joins CPU 0, and second threads are left idle.
    #[test]
    fn siblings_stay_together() {
        let interrupts = "  CPU0 CPU1 CPU2 CPU3 CPU4 CPU5 CPU6 CPU7 CPU8 CPU9 CPU10 CPU11 CPU12 \
                          CPU13 CPU14 CPU15\n 5: 0 0 0 70 0 0 0 1 0 0 0 0 0 0 0 0 nvme\n";
        let siblings = |cpu: u32| format!("{},{}", cpu % 8, cpu % 8 + 8);
        let advice = advised("0-15", &siblings, interrupts).unwrap();
        assert_eq!(CpuList::format(&advice.housekeeping), "0,3,8,11");
        assert_eq!(CpuList::format(&advice.idle), "9-10,12-15");
        assert_eq!(advice.measured, CpuId(6));
    }

    /// A machine of eight cores, and what more its CPUs say of themselves.
    fn eight_cores(files: &[(u32, &str, &str)]) -> Advice {
        let dir = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        file("sys/devices/system/cpu/online", "0-7\n");
        let folder = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}");
        for cpu in 0..8 {
            file(&format!("{}/topology/thread_siblings_list", folder(cpu)), &cpu.to_string());
        }
        for (cpu, path, text) in files {
            file(&format!("{}/{path}", folder(*cpu)), text);
        }
        Advice::for_machine(&HostRoot::at(dir.path()), None).unwrap()
    }

    /// As an RK3588 says it: four Cortex-A55, four Cortex-A76, a cache of level 3 for all.
    #[test]
    fn little_cores_are_for_everything_else() {
        let capacity = |cpu: u32| if cpu < 4 { "530\n" } else { "1024\n" };
        let mut files: Vec<(u32, &str, &str)> =
            (0..8).map(|cpu| (cpu, "cpu_capacity", capacity(cpu))).collect();
        for cpu in 0..8 {
            files.push((cpu, "cache/index0/level", "1\n"));
            files.push((cpu, "cache/index0/shared_cpu_list", "0\n"));
            files.push((cpu, "cache/index3/level", "3\n"));
            files.push((cpu, "cache/index3/shared_cpu_list", "0-7\n"));
        }
        let advice = eight_cores(&files);
        assert_eq!(
            (CpuList::format(&advice.housekeeping), CpuList::format(&advice.isolated)),
            ("0-3".to_owned(), "4-7".to_owned())
        );
        assert_eq!(advice.measured, CpuId(7));
        let reasons = advice.reasons.join("\n");
        assert!(
            reasons.contains(
                "little cores take longer for the same work: CPUs 0-3 (capacity 530 of 1024)"
            ),
            "{reasons}"
        );
        assert!(reasons.contains("CPU 7 shares its last level cache with CPUs 0-3"), "{reasons}");
        // The biggest of three kinds, and where CPU 0 has the only big core.
        let capacity =
            |cpu: u32| ["250", "250", "250", "250", "870", "1024", "870", "870"][cpu as usize];
        let files: Vec<(u32, &str, &str)> =
            (0..8).map(|cpu| (cpu, "cpu_capacity", capacity(cpu))).collect();
        let advice = eight_cores(&files);
        assert_eq!(
            (CpuList::format(&advice.isolated), advice.measured),
            ("4-7".to_owned(), CpuId(5))
        );
        let files: Vec<(u32, &str, &str)> = (0..8)
            .map(|cpu| (cpu, "cpu_capacity", if cpu == 0 { "1024" } else { "400" }))
            .collect();
        let advice = eight_cores(&files);
        assert_eq!(
            (CpuList::format(&advice.isolated), advice.measured),
            ("2-7".to_owned(), CpuId(7))
        );
    }

    /// As x86 processors of both kinds have them, whose kernel shows no capacities.
    #[test]
    fn efficiency_cores_are_for_everything_else() {
        let advice = eight_cores(&[(0, "../../../cpu_atom/cpus", "4-7\n")]);
        assert_eq!(
            (CpuList::format(&advice.housekeeping), CpuList::format(&advice.isolated)),
            ("0,4-7".to_owned(), "1-3".to_owned())
        );
        assert_eq!(advice.measured, CpuId(3));
    }

    /// Two groups of four cores, each with a cache of level 3 of its own.
    #[test]
    fn caches_of_the_measured_cpu_are_left_alone() {
        let shared = |cpu: u32| if [0, 2, 5, 7].contains(&cpu) { "0,2,5,7\n" } else { "1,3-4,6\n" };
        let mut files: Vec<(u32, &str, &str)> =
            (0..8).map(|cpu| (cpu, "cache/index3/shared_cpu_list", shared(cpu))).collect();
        files.extend((0..8).map(|cpu| (cpu, "cache/index3/level", "3\n")));
        let advice = eight_cores(&files);
        assert_eq!(
            (CpuList::format(&advice.housekeeping), advice.measured),
            ("0,2".to_owned(), CpuId(6))
        );
        let reasons = advice.reasons.join("\n");
        let expected = "the last level cache of CPU 6, that of CPUs 1,3-4,6, is used by none of \
                        the CPUs for everything else";
        assert!(reasons.contains(expected), "{reasons}");
    }

    #[test]
    fn one_core_cannot_be_divided() {
        assert_eq!(advised("0-1", &|_| "0-1".to_owned(), ""), None);
        assert_eq!(advised("0-0", &|_| "0".to_owned(), ""), None);
    }
}
