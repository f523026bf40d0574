// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs for tests.

use crate::{Control, Measurement, ProbeError, ProbeSettingError, choose};
use model::ProbeStatement;
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

/// What the probe of a run measures, if it can.
pub(crate) fn statement(run: &Run) -> Result<ProbeStatement, ProbeSettingError> {
    let probe = choose(&run.probe, &run.probe_settings)?;
    probe.check(run).map(|()| probe.statement(run))
}

/// The threads of a run with ordinary scheduling.
pub(crate) fn prepare(run: &Run, control: &Control) -> Result<Measurement, ProbeError> {
    let probe = choose(&run.probe, &run.probe_settings)?;
    Measurement::prepare(run, &probe, Scheduling::OTHER, control)
}
