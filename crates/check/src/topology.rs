// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cores, and what they share: threads, the last level cache, a memory node.

use super::machine::Machine;
use plan::CpuId;

#[derive(Clone)]
pub(crate) struct Core {
    /// Its threads that are online.
    pub(crate) cpus: Vec<CpuId>,
    /// What it can do in a time, beside the others, where the machine says so: 1024 at most.
    pub(crate) capacity: Option<u64>,
    /// CPUs that its last level cache is of, where the machine says so.
    pub(crate) cache: Vec<CpuId>,
    pub(crate) node: Option<String>,
}

impl Core {
    /// With these of its CPUs alone.
    pub(crate) fn with(&self, is_wanted: impl Fn(CpuId) -> bool) -> Core {
        let cpus = self.cpus.iter().copied().filter(|cpu| is_wanted(*cpu)).collect();
        Core { cpus, ..self.clone() }
    }

    /// Whether a CPU uses the same last level cache.
    pub(crate) fn shares_cache_with(&self, other: &Core) -> bool {
        other.cpus.iter().any(|cpu| self.cache.contains(cpu))
    }
}

/// What an efficiency core of an x86 processor is taken for, whose capacity older kernels do not
/// show.
const EFFICIENCY_CORE: u64 = 512;
/// What the biggest core has.
const BIGGEST: u64 = 1024;

/// By the first CPU of each.
pub(crate) fn cores(machine: &Machine<'_>) -> Vec<Core> {
    let mut cores: Vec<Core> = Vec::new();
    let efficient = machine.cpus("sys/devices/cpu_atom/cpus").unwrap_or_default();
    for cpu in &machine.online {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        let siblings =
            machine.cpus(&format!("{folder}/topology/thread_siblings_list")).unwrap_or_default();
        if let Some(core) = cores.iter_mut().find(|core| siblings.contains(&core.cpus[0])) {
            core.cpus.push(*cpu);
            continue;
        }
        let capacity = machine
            .number(&format!("{folder}/cpu_capacity"))
            .and_then(|capacity| u64::try_from(capacity).ok());
        let by_kind = || {
            (!efficient.is_empty())
                .then(|| if efficient.contains(cpu) { EFFICIENCY_CORE } else { BIGGEST })
        };
        cores.push(Core {
            cpus: vec![*cpu],
            capacity: capacity.or_else(by_kind),
            cache: last_level_cache(machine, &folder),
            node: machine.names(&folder).into_iter().find(|name| is_node(name)),
        });
    }
    cores
}

fn is_node(name: &str) -> bool {
    name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok())
}

fn last_level_cache(machine: &Machine<'_>, cpu: &str) -> Vec<CpuId> {
    let caches =
        machine.names(&format!("{cpu}/cache")).into_iter().filter(|name| name.starts_with("index"));
    let last = caches
        .filter_map(|name| Some((machine.number(&format!("{cpu}/cache/{name}/level"))?, name)))
        .max();
    last.and_then(|(_, name)| machine.cpus(&format!("{cpu}/cache/{name}/shared_cpu_list")))
        .unwrap_or_default()
}
