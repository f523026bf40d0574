// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads that do not run where is measured, without anybody having said so.

use load::Checked;
use plan::{CpuId, CpuList, Run};
use recording::Warning;

/// What to say of loads whose CPUs were not named, where measured CPUs are not among them: those take the affinity that was
/// inherited, and isolated CPUs, which people isolate to measure them, are never in it.
#[must_use]
pub fn loads_elsewhere(run: &Run, loads: &[Checked]) -> Option<Warning> {
    let unnamed = loads.iter().filter(|load| load.spec().options().all(|(key, _)| key != "cpus"));
    let bare = |load: &Checked| run.cpus.iter().copied().filter(|cpu| !load.cpus().contains(cpu)).collect::<Vec<CpuId>>();
    let (load, cpus) = unnamed.map(|load| (load, bare(load))).find(|(_, cpus)| !cpus.is_empty())?;
    let list = CpuList::format(&cpus);
    Some(Warning {
        code: "loads-elsewhere".to_owned(),
        message: format!(
            "No load on measured CPU {list}: loads run on CPU {}, as this program does.",
            CpuList::format(load.cpus())
        ),
        evidence: format!("load {}, without cpus=", load.spec()),
        next_step: format!("To load the measured CPUs too, add cpus=all: --load {},cpus=all", load.spec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Length, Missed, Nanos, Probe, Scheduling, Settle};

    #[test]
    fn a_measured_cpu_without_load_is_named() {
        let run = |spec: &str| Run {
            title: None,
            probe: Probe::Cyclic,
            interval_ns: Nanos::from_millis(1),
            distance_ns: Nanos::ZERO,
            length: Length::Samples(10),
            cpus: vec![CpuId(0), CpuId(1)],
            scheduling: Scheduling::OTHER,
            aligned_ns: None,
            warmup_ns: Nanos::ZERO,
            break_above_ns: None,
            missed: Missed::Skip,
            hold_dma_latency: false,
            sync: true,
            settle: Settle::Auto,
            loads: vec![spec.parse().unwrap()],
        };
        let warned = |spec: &str| {
            let run = run(spec);
            let limits = load::Limits::here(Some(90), 1);
            let usable = [CpuId(0), CpuId(1)];
            let checked = load::check(&run.loads[0], &[CpuId(0)], &usable, &limits).unwrap();
            loads_elsewhere(&run, &[checked])
        };
        let said = warned("cpu@50%").unwrap();
        assert_eq!(said.message, "No load on measured CPU 1: loads run on CPU 0, as this program does.");
        assert_eq!(said.next_step, "To load the measured CPUs too, add cpus=all: --load cpu@50%,cpus=all");
        assert_eq!((warned("cpu,cpus=all"), warned("cpu,cpus=0")), (None, None));
    }
}
