// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which wake-up of those that the plugin saw belongs to which sample.
//!
//! The plugin sees every program that reads the clock after a system call has returned, and knows none of them. The measuring threads'
//! are the ones that were as far apart as the samples say: between two samples no more instructions can be executed than ns passed,
//! and exactly as many where the processor was never idle.

use crate::dump::Wake;
use std::collections::BTreeMap;

/// When a sample was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// The thread's index.
    pub thread: usize,
    /// The activation.
    pub activation: u64,
    /// The clock's reading, ns.
    pub time_ns: i64,
}

/// Why they could not be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WakesError {
    /// None fits.
    #[error(
        "the wake-ups of the recording are not among the {seen} that QEMU's plugin saw: only probes that read the clock after a system call, such as cyclic, can be explained"
    )]
    NotFound {
        /// How many there were.
        seen: usize,
    },
}

/// Within a page code lies at the same address in each process.
const PAGE: u64 = 4_096;
/// Faults are counted twice, so that there may be a few instructions more than ns.
const TOLERANCE: f64 = 0.02;
const LEAST_TOLERANCE_NS: f64 = 500.0;

/// Of each sample, ascending by time, the count of instructions at which the clock was read.
///
/// # Errors
/// When they are not found.
pub fn align(wakes: &[Wake], samples: &[Woken], ns_per_instruction: f64) -> Result<Vec<u64>, WakesError> {
    let mut places: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    for wake in wakes {
        places.entry((wake.returned % PAGE, wake.reader % PAGE)).or_default().push(wake.count);
    }
    // The threads end with their last sample, and warm up before the first.
    let fitting = places.values().filter_map(|counts| {
        let counts = &counts[counts.len().checked_sub(samples.len())?..];
        Some((idle_ns(counts, samples, ns_per_instruction)?, counts))
    });
    let best = fitting.min_by(|(one, _), (other, _)| one.total_cmp(other));
    best.map(|(_, counts)| counts.to_vec()).ok_or(WakesError::NotFound { seen: wakes.len() })
}

/// The time between these samples in which no instruction was executed, or none if there were more instructions than time.
fn idle_ns(counts: &[u64], samples: &[Woken], ns_per_instruction: f64) -> Option<f64> {
    let mut idle = 0.0;
    for (counts, samples) in counts.windows(2).zip(samples.windows(2)) {
        let passed = (samples[1].time_ns - samples[0].time_ns) as f64;
        let executed = (counts[1] - counts[0]) as f64 * ns_per_instruction;
        if executed > passed + LEAST_TOLERANCE_NS + passed * TOLERANCE {
            return None;
        }
        idle += (passed - executed).abs();
    }
    Some(idle)
}
