// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kept CPUs busy beside the run itself.
//!
//! A run without a load is not a run on an idle machine, and a load is not alone because it was the
//! only one asked for. The warning of a run and the report of its recording both ask here.

use crate::{BusyCpu, CpuTimeChange, Document, LoadEvidence, Processes, Thread, changes};
use plan::CpuId;

/// Less than this share of a CPU is what any machine does by itself, percent.
const MIN_PERCENT: f64 = 10.0;
/// Less time than this is a few ticks of the kernel's accounting, ms.
const MIN_MS: u64 = 100;

/// Work that was neither the run's nor its loads'.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherWork {
    /// Percent of one CPU: of the busiest one without a load, of all processes together under a
    /// load.
    pub percent: f64,
    /// CPUs that were kept busy, with their shares, the busiest first. Empty under a load, which
    /// keeps its CPUs busy itself.
    pub cpus: Vec<BusyCpu>,
    /// CPU time of it that none of the named processes used, ms. None where that is not known,
    /// or a few ticks.
    pub unnamed_ms: Option<u64>,
}

impl OtherWork {
    /// Percent of one CPU, summed over the CPUs that were kept busy: the same of a run without a
    /// load and of one under a load.
    pub fn summed_percent(&self) -> f64 {
        if self.cpus.is_empty() {
            self.percent
        } else {
            self.cpus.iter().map(|busy| busy.percent).sum()
        }
    }
}

impl Document {
    /// Work beside the run and its loads that is worth a warning; none also where it was not
    /// recorded. A guest in virtual time has nothing else in it. There the kernel, which counts
    /// CPU time by looking once in a tick, would always look at the same moment of a
    /// run's interval.
    pub fn other_work(&self) -> Option<OtherWork> {
        let in_lab = self.lab.as_ref().is_some_and(|lab| lab.ns_per_instruction.is_some());
        if in_lab || self.instrument.virtual_time {
            return None;
        }
        let after = self.host.after.as_ref()?;
        let processes = self.host.processes.as_ref()?;
        let times = changes(&self.host.before, after).cpu_times;
        let elapsed_ms =
            self.wall_ms().or_else(|| times.iter().map(|time| time.elapsed_ms).max())?;
        let other = if self.run.loads.is_empty() {
            self.without_load(&times, processes)
        } else {
            self.beside_loads(&times, processes, elapsed_ms)
        };
        let left = self.left_by_loads(&times, processes, elapsed_ms);
        let unnamed_ms = left.map(|left| left.saturating_sub(named_ms(processes)));
        let unnamed_ms = unnamed_ms.filter(|ms| *ms >= MIN_MS);
        other.map(|other| OtherWork { unnamed_ms, ..other })
    }

    /// The larger of what two observers saw: processes, which miss those that ended meanwhile and
    /// those of other containers, and CPU times, which contain the loads' work.
    fn beside_loads(
        &self,
        times: &[CpuTimeChange],
        processes: &Processes,
        elapsed_ms: u64,
    ) -> Option<OtherWork> {
        let of_processes = processes.others_ms.unwrap_or_else(|| named_ms(processes));
        // Each is a share of the time that it was counted over.
        let seen = [
            (Some(of_processes), processes.elapsed_ms.unwrap_or(elapsed_ms)),
            (self.left_by_loads(times, processes, elapsed_ms), elapsed_ms),
        ];
        let is_work = |(ms, of): (Option<u64>, u64)| {
            let (ms, percent) = (ms?, percent(ms?, of));
            (ms >= MIN_MS && percent >= MIN_PERCENT).then_some(percent)
        };
        let percent = seen.into_iter().filter_map(is_work).max_by(f64::total_cmp)?;
        Some(OtherWork { percent, cpus: Vec::new(), unnamed_ms: None })
    }

    /// CPU time of tasks that neither the loads, nor this program, nor threads of the kernel used,
    /// ms. None where one of these is not known.
    fn left_by_loads(
        &self,
        times: &[CpuTimeChange],
        processes: &Processes,
        elapsed_ms: u64,
    ) -> Option<u64> {
        let known = processes.own_ms.saturating_add(processes.kernel_ms?);
        if self.load.len() != self.run.loads.len() {
            return None;
        }
        let of_load = |load: &LoadEvidence| {
            Some(load.reached?.mean / 100.0 * load.cpus.len() as f64 * elapsed_ms as f64)
        };
        let loads = self.load.iter().map(of_load).sum::<Option<f64>>()?;
        let busy: u64 = times.iter().map(|time| task_ms(time, elapsed_ms)).sum();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float's cast ends at the bounds"
        )]
        Some(busy.saturating_sub(known).saturating_sub(loads as u64))
    }

    /// The time between the two snapshots, ms.
    fn wall_ms(&self) -> Option<u64> {
        let seconds = self.host.after.as_ref()?.uptime_s? - self.host.before.uptime_s?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "above 0, and a float's cast ends at the bounds"
        )]
        (seconds > 0.0).then_some((seconds * 1_000.0).round() as u64)
    }

    fn without_load(&self, times: &[CpuTimeChange], processes: &Processes) -> Option<OtherWork> {
        let mut cpus: Vec<BusyCpu> = times
            .iter()
            .filter_map(|time| {
                let busy =
                    time.elapsed_ms.saturating_sub(state_ms(time, &["idle", "iowait", "steal"]));
                let other = busy.saturating_sub(self.own_ms(time.cpu, processes));
                let percent = percent(other, time.elapsed_ms);
                (other >= MIN_MS && percent >= MIN_PERCENT)
                    .then_some(BusyCpu { cpu: time.cpu, percent })
            })
            .collect();
        cpus.sort_by(|a, b| b.percent.total_cmp(&a.percent));
        Some(OtherWork { percent: cpus.first()?.percent, cpus, unnamed_ms: None })
    }

    /// This program's part of one CPU's time, ms. A recording holds the process's CPU time in all
    /// and not each thread's, which would say nothing of the threads that write and are bound
    /// nowhere. Nearly all of it is wake-ups, so it is shared out by how many of them were due
    /// on each CPU.
    fn own_ms(&self, cpu: CpuId, processes: &Processes) -> u64 {
        // Of threads that are bound to no CPU it is not known where they ran: what others did at
        // least is what is left of all of it.
        if self.threads.iter().any(|thread| !thread.pinned) {
            return processes.own_ms;
        }
        let rate = |thread: &Thread| 1.0 / thread.interval_ns.0.max(1) as f64;
        let here: f64 = self.threads.iter().filter(|thread| thread.cpu == cpu).map(rate).sum();
        let all: f64 = self.threads.iter().map(rate).sum();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of it; a float's cast ends at the bounds"
        )]
        let own_ms = (processes.own_ms as f64 * here / all).round() as u64;
        own_ms
    }
}

/// CPU time of the processes that are named, ms. The kernel's own threads work for the load too.
fn named_ms(processes: &Processes) -> u64 {
    let named = processes.busiest.iter().filter(|process| !process.kernel_thread);
    named.fold(0, |sum, process| sum.saturating_add(process.cpu_ms))
}

fn percent(ms: u64, of: u64) -> f64 {
    100.0 * ms as f64 / of.max(1) as f64
}

fn state_ms(time: &CpuTimeChange, states: &[&str]) -> u64 {
    states.iter().filter_map(|state| time.time_ms.get(*state)).sum()
}

/// Time that a CPU spent on tasks, ms: without interrupts and softirqs, in which the kernel works
/// for the load too. Most kernels count busy time by looking once a tick, which is off where a load
/// keeps step with it, and idle time by the clock. So the smaller of the two stands: what was
/// counted, and what idleness left.
fn task_ms(time: &CpuTimeChange, elapsed_ms: u64) -> u64 {
    let counted = state_ms(time, &["user", "nice", "system"]);
    let left =
        elapsed_ms.saturating_sub(state_ms(time, &["idle", "iowait", "irq", "softirq", "steal"]));
    counted.min(left)
}
