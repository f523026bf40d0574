// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which wake-up of those that the plugin saw belongs to which sample.
//!
//! The plugin sees every program that reads the clock after a system call has returned, and knows none of them. The measuring threads'
//! are the ones that were as far apart as the samples say: between two samples no more instructions can be executed than ns passed,
//! and exactly as many where no processor was ever idle. Each CPU's are found by themselves.

use crate::dump::Wake;
use std::collections::{BTreeMap, BTreeSet};

/// When a sample was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// The thread's index.
    pub thread: usize,
    /// The activation.
    pub activation: u64,
    /// The CPU that the thread runs on.
    pub cpu: usize,
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
    let mut counts = vec![0; samples.len()];
    for cpu in samples.iter().map(|sample| sample.cpu).collect::<BTreeSet<_>>() {
        let own: Vec<usize> = (0..samples.len()).filter(|index| samples[*index].cpu == cpu).collect();
        let own_samples: Vec<Woken> = own.iter().map(|index| samples[*index]).collect();
        let own_wakes = wakes.iter().filter(|wake| wake.cpu == cpu);
        let found = align_cpu(own_wakes, &own_samples, ns_per_instruction);
        for (index, count) in own.into_iter().zip(found.ok_or(WakesError::NotFound { seen: wakes.len() })?) {
            counts[index] = count;
        }
    }
    Ok(counts)
}

fn align_cpu<'a>(wakes: impl Iterator<Item = &'a Wake>, samples: &[Woken], ns_per_instruction: f64) -> Option<Vec<u64>> {
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
    best.map(|(_, counts)| counts.to_vec())
}

/// The time between these samples in which no instruction was executed, or none if there were more instructions than time.
fn idle_ns(counts: &[u64], samples: &[Woken], ns_per_instruction: f64) -> Option<f64> {
    let mut idle = 0.0;
    for (counts, samples) in counts.windows(2).zip(samples.windows(2)) {
        let passed = samples[1].time_ns.saturating_sub(samples[0].time_ns) as f64;
        let executed = counts[1].checked_sub(counts[0])? as f64 * ns_per_instruction;
        if executed > passed + LEAST_TOLERANCE_NS + passed * TOLERANCE {
            return None;
        }
        idle += (passed - executed).abs();
    }
    Some(idle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wakes(counts: &[u64], returned: u64) -> Vec<Wake> {
        counts
            .iter()
            .map(|count| Wake {
                count: *count,
                returned,
                returned_at: count.saturating_sub(30),
                reader: 0x7fff_1000_06b5,
                cpu: 0,
            })
            .collect()
    }

    fn samples(times: &[i64]) -> Vec<Woken> {
        (0..).zip(times).map(|(activation, time_ns)| Woken { thread: 0, activation, cpu: 0, time_ns: *time_ns }).collect()
    }

    #[test]
    fn a_busy_processor_executes_as_much_as_time_passes() {
        let ours = wakes(&[100, 1_100, 2_105, 3_095], 0x5555_0000_03c7);
        // Another program wakes up more often, and less regularly.
        let others = wakes(&[10, 700, 900, 1_500, 1_600, 2_900], 0x5555_0000_0111);
        let mut all = [ours, others].concat();
        all.sort_by_key(|wake| wake.count);
        assert_eq!(align(&all, &samples(&[5_000, 6_005, 6_995]), 1.0).unwrap(), [1_100, 2_105, 3_095]);
    }

    #[test]
    fn an_idle_processor_executes_less() {
        let all = wakes(&[50, 100, 150, 200], 0x5555_0000_03c7);
        assert_eq!(align(&all, &samples(&[10_000, 20_000]), 1.0).unwrap(), [150, 200]);
    }

    #[test]
    fn more_instructions_than_ns_are_another_programs() {
        let all = wakes(&[1_000, 900_000], 0x5555_0000_03c7);
        let error = align(&all, &samples(&[10_000, 20_000]), 1.0).unwrap_err();
        assert_eq!(error, WakesError::NotFound { seen: 2 });
        assert!(align(&[], &samples(&[1]), 1.0).is_err());
    }

    #[test]
    fn threads_of_two_cpus_are_found_by_themselves() {
        // The first one's warm up ends later than the other's.
        let first = wakes(&[100, 1_050, 2_050], 0x5555_0000_03c7);
        let other = wakes(&[20, 60, 1_100, 2_100], 0x5555_0000_03c7).into_iter().map(|wake| Wake { cpu: 1, ..wake });
        let mut all: Vec<Wake> = first.into_iter().chain(other).collect();
        all.sort_by_key(|wake| wake.count);
        let samples = [(0, 5_050), (1, 5_100), (0, 6_050), (1, 6_100)].map(|(cpu, time_ns)| Woken {
            thread: cpu,
            activation: 0,
            cpu,
            time_ns,
        });
        assert_eq!(align(&all, &samples, 1.0).unwrap(), [1_050, 1_100, 2_050, 2_100]);
    }
}
