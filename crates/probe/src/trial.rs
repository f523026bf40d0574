// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a machine can carry an interval, tried before a run begins.
//!
//! A real-time thread whose interval is shorter than one wake-up takes never sleeps: it locks everybody else out of its CPU until
//! the guard ends the run, and there is nothing in the recording. So short intervals are tried first, for milliseconds, by the
//! loop that measures.

use crate::thread::{STACK_BYTES, prepare};
use crate::{Clock, Control, Counts, Cycle, Monotonic, cycle, ring, sys};
use plan::{CpuId, Nanos, Run, Scheduling};
use std::io;
use std::thread::Builder;

/// What one thread did in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Where.
    pub cpu: CpuId,
    /// What became of its activations.
    pub counts: Counts,
}

impl Tried {
    /// Activations that were late or skipped, as a share of all that were due.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    pub fn missed(&self) -> f64 {
        (self.counts.late + self.counts.skipped) as f64 / self.counts.due().max(1) as f64
    }
}

/// Length of a trial: short, because a run is to begin at once, and a CPU may be locked up for as long.
const LENGTH_NS: i64 = 2_000_000;
/// Activations of a trial at least, whatever its length.
const LEAST: i64 = 20;

/// Runs the threads of a run for a few milliseconds, with its interval and the scheduling they were granted.
///
/// # Errors
/// When a thread cannot be made, pinned or scheduled.
pub fn tried(run: &Run, scheduling: Scheduling) -> io::Result<Vec<Tried>> {
    let one = |(index, cpu): (usize, &CpuId)| {
        let (cpu, interval, missed) = (*cpu, run.interval_of(index), run.missed);
        let activations = u64::try_from((LENGTH_NS / interval.0.max(1)).max(LEAST)).unwrap_or(0);
        Builder::new().name(format!("teiji-try-{index}")).stack_size(STACK_BYTES).spawn(move || {
            sys::block_all_signals();
            prepare(cpu, scheduling)?;
            let (mut ring, _samples) = ring(activations);
            let start = Nanos(Monotonic.now().0 + interval.0);
            let cycle = Cycle { thread: index, start, interval, activations, break_above: None, missed };
            let counts = cycle::measure(&mut Monotonic, &cycle, &mut ring, &Control::new());
            let _ = sys::set_scheduling(Scheduling::OTHER);
            Ok(Tried { cpu, counts })
        })
    };
    let threads: Vec<_> = run.cpus.iter().enumerate().map(one).collect();
    let joined = threads.into_iter().map(|thread| thread?.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))));
    joined.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Length, OverrunPolicy, Probe, Settle};

    #[test]
    fn a_wake_up_takes_longer_than_a_microsecond_and_less_than_five_milliseconds() {
        let mut run = Run {
            title: None,
            probe: Probe::Cyclic,
            interval_ns: Nanos::from_micros(1),
            distance_ns: Nanos::ZERO,
            length: Length::Samples(1),
            cpus: vec![crate::process_cpus().unwrap().inherited[0]],
            scheduling: Scheduling::OTHER,
            aligned_ns: None,
            warmup_ns: Nanos::ZERO,
            break_above_ns: None,
            missed: OverrunPolicy::Skip,
            hold_dma_latency: false,
            loads: Vec::new(),
            settle: Settle::Auto,
            sync: false,
        };
        let missed = |run: &Run| tried(run, Scheduling::OTHER).unwrap()[0].missed();
        assert!(missed(&run) > 0.5, "{}", missed(&run));
        run.interval_ns = Nanos::from_millis(5);
        assert!((0..3).any(|_| missed(&run) < 0.5));
    }
}
