// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs for tests.

use plan::{DEFAULT_PROBE, Length, Nanos, OverrunPolicy, ProbeSettings, Run, Scheduling, Settle};

/// So many activations at this interval, with ordinary scheduling, on the CPUs this process runs on.
pub(crate) fn test_run(interval: Nanos, samples: u64) -> Run {
    Run {
        title: None,
        probe: DEFAULT_PROBE.to_owned(),
        probe_settings: ProbeSettings::new(),
        interval_ns: interval,
        distance_ns: Nanos::ZERO,
        length: Length::Samples(samples),
        cpus: crate::process_cpus().unwrap().inherited,
        scheduling: Scheduling::OTHER,
        aligned_ns: None,
        warmup_ns: Nanos::from_millis(2),
        break_above_ns: None,
        missed: OverrunPolicy::Skip,
        hold_dma_latency: false,
        sync: true,
        settle: Settle::Auto,
        loads: Vec::new(),
    }
}
