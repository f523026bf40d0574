// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kept CPUs busy beside the run itself.
//!
//! A run without a load is no run on an idle machine, and a load is not alone because it was the only one asked for. The
//! warning of a run and the report of its recording both ask here.

use crate::{Document, changes};
use plan::CpuId;
use std::collections::BTreeSet;

/// Less than this share of a CPU is what any machine does by itself, percent.
const MIN_PERCENT: f64 = 10.0;
/// Less time than this is a few ticks of the kernel's accounting, ms.
const MIN_MS: u64 = 100;

/// Work that was neither the run's nor its loads'.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherWork {
    /// Percent of one CPU: of the busiest one without a load, of all processes together under a load.
    pub percent: f64,
    /// CPUs that were kept busy, with their shares, the busiest first. Empty under a load, which keeps its CPUs busy itself.
    pub cpus: Vec<(CpuId, f64)>,
}

impl Document {
    /// Work beside the run and its loads that is worth a warning; none also where it was not recorded.
    #[must_use]
    pub fn other_work(&self) -> Option<OtherWork> {
        let after = self.host.after.as_ref()?;
        let processes = self.host.processes.as_ref()?;
        let times = changes(&self.host.before, after).cpu_times;
        let percent = |ms: u64, of: u64| 100.0 * ms as f64 / of.max(1) as f64;
        if !self.run.loads.is_empty() {
            let elapsed = times.iter().map(|time| time.elapsed_ms).max()?;
            // The kernel's own threads work for the load too.
            let ms = processes.busiest.iter().filter(|process| !process.kernel_thread).map(|process| process.cpu_ms).sum();
            let percent = percent(ms, elapsed);
            return (ms >= MIN_MS && percent >= MIN_PERCENT).then_some(OtherWork { percent, cpus: Vec::new() });
        }
        let measured: BTreeSet<CpuId> = self.threads.iter().map(|thread| thread.cpu).collect();
        let own_ms = processes.own_ms / measured.len().max(1) as u64;
        let mut cpus: Vec<(CpuId, f64)> = times
            .iter()
            .filter_map(|time| {
                let of = |state: &str| time.time_ms.get(state).copied().unwrap_or(0);
                let busy = time.elapsed_ms.saturating_sub(of("idle") + of("iowait") + of("steal"));
                let other = busy.saturating_sub(if measured.contains(&time.cpu) { own_ms } else { 0 });
                let percent = percent(other, time.elapsed_ms);
                (other >= MIN_MS && percent >= MIN_PERCENT).then_some((time.cpu, percent))
            })
            .collect();
        cpus.sort_by(|a, b| b.1.total_cmp(&a.1));
        Some(OtherWork { percent: cpus.first()?.1, cpus })
    }
}
