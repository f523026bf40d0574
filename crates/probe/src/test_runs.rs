// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs for tests.

use plan::{Nanos, Run, Scheduling};

/// So many activations at this interval, with ordinary scheduling, on the CPUs this process runs
/// on.
pub(crate) fn test_run(interval: Nanos, samples: u64) -> Run {
    Run {
        cpus: crate::process_cpus().unwrap().inherited,
        scheduling: Scheduling::OTHER,
        warmup_ns: Nanos::from_millis(2),
        ..Run::example(interval, samples)
    }
}
