// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a machine can keep up with an interval, tried before a run begins.
//!
//! A real-time thread whose interval is shorter than one wake-up takes never sleeps: it locks
//! everything else out of its CPU until the guard ends the run, and there is nothing in the
//! recording. So short intervals are tried first, for milliseconds, by the loop that measures.

use crate::{ChosenProbe, Control, Counts, Measurement, ProbeError};
use model::RowKind;
use plan::{CpuId, Length, Nanos, Run, Scheduling};

/// What one thread did in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    pub cpu: CpuId,
    /// What became of its activations.
    pub counts: Counts,
}

impl Tried {
    /// Activations that were late or skipped, as a share of all that were due.
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    pub fn missed(&self) -> f64 {
        (self.counts.late + self.counts.skipped) as f64 / self.counts.due().max(1) as f64
    }
}

/// Length of a trial: short, because a run is to begin at once, and a CPU may be locked up for as
/// long.
const LENGTH_NS: i64 = 2_000_000;
/// Activations of a trial at least, whatever its length.
const MIN_ACTIVATIONS: i64 = 20;

/// Runs the threads of a run for a few milliseconds, with its interval and the scheduling they were
/// granted.
///
/// # Errors
/// When a thread cannot be made, pinned or scheduled.
pub fn tried(
    run: &Run,
    probe: &ChosenProbe,
    scheduling: Scheduling,
) -> Result<Vec<Tried>, ProbeError> {
    // Of events none is due, and those that come belong to the run.
    if probe.statement(run).rows == RowKind::Events {
        return Ok(Vec::new());
    }
    let activations =
        u64::try_from((LENGTH_NS / run.interval_ns.0.max(1)).max(MIN_ACTIVATIONS)).unwrap_or(0);
    let (length, warmup_ns) = (Length::Samples(activations), Nanos::ZERO);
    let short = Run { length, warmup_ns, break_above_ns: None, loads: Vec::new(), ..run.clone() };
    let mut measurement = Measurement::prepare(&short, probe, scheduling, &Control::new())?;
    measurement.begin(measurement.earliest());
    let counts = measurement
        .join()
        .into_iter()
        .map(|result| result.map_or(Counts::default(), |result| result.counts));
    Ok(run.cpus.iter().zip(counts).map(|(cpu, counts)| Tried { cpu: *cpu, counts }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::test_run;

    #[test]
    fn a_wake_up_takes_longer_than_a_microsecond_and_less_than_five_milliseconds() {
        let mut run = test_run(Nanos::from_micros(1), 1);
        run.cpus.truncate(1);
        let probe = crate::choose(&run.probe, &run.probe_settings).unwrap();
        let missed = |run: &Run| tried(run, &probe, Scheduling::OTHER).unwrap()[0].missed();
        assert!(missed(&run) > 0.5, "{}", missed(&run));
        run.interval_ns = Nanos::from_millis(5);
        assert!((0..3).any(|_| missed(&run) < 0.5));
    }
}
