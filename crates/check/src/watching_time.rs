// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the time of each CPU went to while it was watched, from two readings of /proc/stat.

use plan::CpuId;
use std::collections::BTreeMap;

/// The time of each CPU since boot by state, ms.
pub(crate) type Times = BTreeMap<CpuId, BTreeMap<String, u64>>;

/// The shares of a CPU's time, in thousandths of what the kernel counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTime {
    pub cpu: CpuId,
    /// Programs, of any niceness, and guests.
    pub user: u64,
    pub system: u64,
    pub irq: u64,
    pub softirq: u64,
    /// Other guests of the host.
    pub steal: u64,
    /// Nothing, waiting for disks or not.
    pub idle: u64,
}

/// Of these CPUs, as far as some time was counted.
pub(crate) fn shares(before: &Times, after: &Times, cpus: &[CpuId]) -> Vec<CpuTime> {
    let of = |cpu: &CpuId| {
        let (before, after) = (before.get(cpu)?, after.get(cpu)?);
        let grown = |states: &[&str]| -> u64 {
            let grown =
                |state: &&str| Some(after.get(*state)?.saturating_sub(*before.get(*state)?));
            states.iter().filter_map(grown).sum()
        };
        // As the kernel has it, user has the time of guests in it.
        let all = grown(&["user", "nice", "system", "irq", "softirq", "steal", "idle", "iowait"]);
        let share = |states: &[&str]| (grown(states) * 1_000 + all / 2) / all;
        (all > 0).then(|| CpuTime {
            cpu: *cpu,
            user: share(&["user", "nice"]),
            system: share(&["system"]),
            irq: share(&["irq"]),
            softirq: share(&["softirq"]),
            steal: share(&["steal"]),
            idle: share(&["idle", "iowait"]),
        })
    };
    cpus.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str) -> Times {
        host::proc_stat::parse(text, &mut Vec::new())
    }

    #[test]
    fn shares_of_what_was_counted_meanwhile() {
        let before = times("cpu0 5 0 5 100 0 0 0 0 0 0\ncpu1 10 0 10 100 0 0 0 0 0 0\n");
        let after = times("cpu0 9 0 9 200 0 0 0 0 0 0\ncpu1 20 5 20 140 10 5 10 10 3 0\n");
        let expected = CpuTime {
            cpu: CpuId(1),
            user: 150,
            system: 100,
            irq: 50,
            softirq: 100,
            steal: 100,
            idle: 500,
        };
        assert_eq!(shares(&before, &after, &[CpuId(1), CpuId(7)]), [expected]);
        // Nothing was counted, and a counter went back.
        assert_eq!(shares(&after, &after, &[CpuId(1)]), []);
        assert_eq!(shares(&after, &before, &[CpuId(1)]), []);
    }

    /// Kernels before 2.6.33 have fewer columns.
    #[test]
    fn what_is_not_counted_is_no_share() {
        let found = shares(&times("cpu0 0 0 0 0\n"), &times("cpu0 1 1 1 1\n"), &[CpuId(0)]);
        assert_eq!((found[0].user, found[0].idle, found[0].steal), (500, 250, 0));
    }
}
