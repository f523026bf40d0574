// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time that a hypervisor took from the CPUs that were measured. What it took from others delayed
//! no measuring thread.

use crate::{Document, Quantity, StolenTime, TakenBy, Thread, changes};
use plan::CpuId;
use std::collections::BTreeSet;

impl StolenTime {
    /// Percent of the CPU's time.
    pub fn percent(&self) -> f64 {
        100.0 * self.stolen_ms as f64 / self.elapsed_ms.max(1) as f64
    }
}

impl Document {
    /// What was taken from each measured CPU, the most first; empty: nothing. None where that is
    /// not known.
    pub fn steal(&self) -> Option<Vec<StolenTime>> {
        let after = self.host.after.as_ref();
        let after = after.filter(|_| self.probe.taken_by() != TakenBy::AnotherMachine)?;
        let times = changes(&self.host.before, after).cpu_times;
        let measured = self.measured_cpus();
        let counted: Vec<StolenTime> = times
            .into_iter()
            .filter(|time| measured.as_ref().is_none_or(|cpus| cpus.contains(&time.cpu)))
            .filter_map(|time| {
                let stolen_ms = *time.time_ms.get("steal")?;
                Some(StolenTime { cpu: time.cpu, stolen_ms, elapsed_ms: time.elapsed_ms })
            })
            .collect();
        let is_known = !counted.is_empty();
        let mut cpus: Vec<StolenTime> =
            counted.into_iter().filter(|time| time.stolen_ms > 0).collect();
        cpus.sort_by_key(|time| (std::cmp::Reverse(time.stolen_ms), time.cpu));
        is_known.then_some(cpus)
    }

    /// What was taken from the CPU of the worst latency, and from the one with most of it where
    /// that is another; from the latter alone where the former is not known. None where nothing was
    /// taken, or where that is not known.
    pub fn steal_at_worst(&self) -> Option<(StolenTime, Option<StolenTime>)> {
        let all = self.steal()?;
        let most = *all.first()?;
        let here = self.cpu_of_worst_latency().map(|cpu| {
            let known = all.iter().find(|time| time.cpu == cpu).copied();
            known.unwrap_or(StolenTime { cpu, stolen_ms: 0, ..most })
        });
        let here = here.unwrap_or(most);
        Some((here, Some(most).filter(|most| most.stolen_ms > here.stolen_ms)))
    }

    /// The CPU of the thread that had the worst latency. None where that ran on any CPU, or where
    /// nothing was measured.
    pub fn cpu_of_worst_latency(&self) -> Option<CpuId> {
        let is_own = self.probe.taken_by() == TakenBy::OwnThreads;
        if !is_own || self.probe.quantity != Quantity::Latency {
            return None;
        }
        let max = |thread: &Thread| Some(thread.latency_with_skipped_ns?.max);
        let measured = self.threads.iter().filter(|thread| max(thread).is_some());
        let worst = measured.min_by_key(|thread| std::cmp::Reverse(max(thread)))?;
        worst.pinned.then_some(worst.cpu)
    }

    /// The CPUs of measuring threads. None where any may have been: threads that are bound to none,
    /// or those of another program, were measured.
    fn measured_cpus(&self) -> Option<BTreeSet<CpuId>> {
        let is_bound = self.probe.taken_by() == TakenBy::OwnThreads
            && self.threads.iter().all(|thread| thread.pinned);
        is_bound.then(|| self.threads.iter().map(|thread| thread.cpu).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a run on CPU 0 it was told what was taken from CPU 1 too.
    #[test]
    fn steal_time_is_that_of_measured_cpus() {
        let mut document: Document =
            serde_json::from_str(include_str!("../../../fuzz/corpus/run_json/complete.json"))
                .unwrap();
        let after = document.host.after.as_mut().unwrap();
        after.cpus.clone_from(&document.host.before.cpus);
        assert!(after.cpus.len() > 1 && document.threads.len() == 1);
        for (cpu, idle, steal) in [(0, 9_900, 100), (1, 7_000, 3_000)] {
            let times = &mut after.cpus[cpu].time_ms;
            *times.get_mut("idle").unwrap() += idle;
            *times.get_mut("steal").unwrap() += steal;
        }
        let stolen = |cpu, stolen_ms| StolenTime { cpu: CpuId(cpu), stolen_ms, elapsed_ms: 10_000 };
        assert_eq!(document.steal(), Some(vec![stolen(0, 100)]));
        document.threads[0].pinned = false;
        assert_eq!(document.steal(), Some(vec![stolen(1, 3_000), stolen(0, 100)]));
        document.host.after = Some(document.host.before.clone());
        assert_eq!(document.steal(), Some(Vec::new()));
        document.host.after = None;
        assert_eq!(document.steal(), None);
    }
}
