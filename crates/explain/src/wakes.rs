// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which wake-up of those that the plugin saw belongs to which sample.
//!
//! The plugin sees every program that reads the clock after a system call has returned, and knows
//! none of them. It says how many instructions were executed until then and how long all processors
//! had halted, which together are the guest's time. The measuring threads' readings are the ones
//! that are as far apart as the samples say, whatever else was read in between. Each CPU's are
//! found by themselves.

use crate::dump::Wake;
use std::collections::BTreeSet;

/// When a sample was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// The thread's index.
    pub thread: usize,
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
        "the wake-ups of the recording are not among the {seen} that QEMU's plugin saw, so \
         nothing is explained: please report this as a defect of teiji"
    )]
    NotFound { seen: usize },
}

/// How the guest's clock goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// What an instruction, of whichever CPU, takes of it, ns.
    pub ns_per_instruction: f64,
    /// What a ns of QEMU's virtual clock is by it, ns.
    pub ns_per_virtual_ns: f64,
    /// The steps in which it goes on, ns.
    pub step_ns: f64,
}

/// Instructions that fault are counted twice, so that there may be some more instructions than ns.
const COUNTED_TWICE: f64 = 0.02;
/// The guest knows the rate of its clock to some digits.
const RATE_ERROR: f64 = 1e-5;
const LEAST_TOLERANCE_NS: f64 = 500.0;

/// Of each sample, ascending by time, the count of instructions at which the clock was read.
///
/// # Errors
/// When they are not found.
pub fn align(wakes: &[Wake], samples: &[Woken], rate: Rate) -> Result<Vec<u64>, WakesError> {
    let mut counts = vec![0; samples.len()];
    for cpu in samples.iter().map(|sample| sample.cpu).collect::<BTreeSet<_>>() {
        let own: Vec<usize> =
            (0..samples.len()).filter(|index| samples[*index].cpu == cpu).collect();
        let own_samples: Vec<Woken> = own.iter().map(|index| samples[*index]).collect();
        let readings = wakes
            .iter()
            .filter(|wake| wake.cpu == cpu)
            .map(|wake| Reading::new(wake, rate))
            .collect();
        let found = Aligner { step_ns: rate.step_ns, readings, samples: &own_samples }.align();
        for (index, count) in
            own.into_iter().zip(found.ok_or(WakesError::NotFound { seen: wakes.len() })?)
        {
            counts[index] = count;
        }
    }
    Ok(counts)
}

/// A reading of the clock.
struct Reading {
    count: u64,
    /// What was executed until then, ns of the guest's clock.
    executed_ns: f64,
    /// The same and what was halted: its time, since whenever.
    time_ns: f64,
}

impl Reading {
    fn new(wake: &Wake, rate: Rate) -> Self {
        let executed_ns = wake.count as f64 * rate.ns_per_instruction;
        Reading {
            count: wake.count,
            executed_ns,
            time_ns: executed_ns + wake.halted_ns as f64 * rate.ns_per_virtual_ns,
        }
    }
}

struct Aligner<'a> {
    step_ns: f64,
    /// Of one CPU, ascending.
    readings: Vec<Reading>,
    samples: &'a [Woken],
}

impl Aligner<'_> {
    /// The counts of the readings that fit best. Where samples are as regular as the readings that
    /// the threads warmed up with, to the steps of the clock, it is the last that fit.
    fn align(&self) -> Option<Vec<u64>> {
        let same = self.step_ns * self.samples.len() as f64;
        let mut fitting: Vec<(f64, usize)> = Vec::new();
        let mut most = f64::INFINITY;
        for first in 0..=self.readings.len().checked_sub(self.samples.len())? {
            if let Some(error) = self.follow(first, most, |_| {}) {
                most = most.min(error + same);
                fitting.push((error, first));
            }
        }
        let (_, first) = fitting.into_iter().rfind(|(error, _)| *error <= most)?;
        let mut counts = Vec::with_capacity(self.samples.len());
        self.follow(first, most, |reading| counts.push(self.readings[reading].count))?;
        Some(counts)
    }

    /// Takes this reading for the first sample, and of those that follow the ones nearest to where
    /// the samples say. Returns how far off they are in all, ns; none if one is not there, or
    /// that is more than `most`.
    fn follow(&self, first: usize, most: f64, mut found: impl FnMut(usize)) -> Option<f64> {
        let (mut at, mut error) = (first, 0.0);
        found(at);
        for pair in self.samples.windows(2) {
            let passed = pair[1].time_ns.saturating_sub(pair[0].time_ns) as f64;
            let due = self.readings[at].time_ns + passed;
            let later =
                at + 1 + self.readings[at + 1..].partition_point(|reading| reading.time_ns < due);
            let off = |reading: usize| (self.readings[reading].time_ns - due).abs();
            let near = (later - 1..=later)
                .filter(|reading| (at + 1..self.readings.len()).contains(reading));
            let next = near.min_by(|one, other| off(*one).total_cmp(&off(*other)))?;
            let executed = self.readings[next].executed_ns - self.readings[at].executed_ns;
            if off(next) > LEAST_TOLERANCE_NS + executed * COUNTED_TWICE + passed * RATE_ERROR {
                return None;
            }
            error += off(next);
            if error > most {
                return None;
            }
            at = next;
            found(at);
        }
        Some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { ns_per_instruction: 1.0, ns_per_virtual_ns: 1.0, step_ns: 1.0 };

    /// Readings at these times, all of which but so many ns were executed.
    fn wakes(times: &[u64], halted: fn(u64) -> u64) -> Vec<Wake> {
        let wake = |time: &u64| {
            let count = time - halted(*time);
            Wake {
                count,
                returned: 0x7fab_00aa_5b27,
                returned_at: count.saturating_sub(30),
                reader: 0x7fff_1000_06b5,
                cpu: 0,
                halted_ns: halted(*time),
            }
        };
        times.iter().map(wake).collect()
    }

    fn samples(times: &[i64]) -> Vec<Woken> {
        (0..)
            .zip(times)
            .map(|(activation, time_ns)| Woken { thread: 0, activation, cpu: 0, time_ns: *time_ns })
            .collect()
    }

    const fn never(_: u64) -> u64 {
        0
    }

    const fn mostly(time: u64) -> u64 {
        time / 10 * 9
    }

    /// Both, in their order, and the counts of the first.
    fn among(ours: &[Wake], others: Vec<Wake>) -> (Vec<Wake>, Vec<u64>) {
        let counts = ours.iter().map(|wake| wake.count).collect();
        let mut all = [ours.to_vec(), others].concat();
        all.sort_by_key(|wake| wake.count);
        (all, counts)
    }

    #[test]
    fn a_busy_processor_executes_as_much_as_time_passes() {
        let ours = wakes(&[1_100, 2_105, 3_095], never);
        // Another program wakes up more often, and less regularly.
        let (all, counts) = among(&ours, wakes(&[10, 700, 900, 1_500, 1_600, 2_900], never));
        assert_eq!(align(&all, &samples(&[5_000, 6_005, 6_995]), RATE).unwrap(), counts);
    }

    #[test]
    fn time_goes_on_while_a_processor_halts() {
        let ours = wakes(&[50_000, 60_000, 70_100, 80_000], mostly);
        let (all, counts) = among(&ours, wakes(&[40_000, 73_000, 95_000], mostly));
        assert_eq!(
            align(&all, &samples(&[100_000, 110_000, 120_100, 130_000]), RATE).unwrap(),
            counts
        );
    }

    #[test]
    fn the_clock_of_the_guest_is_another_one_than_qemus() {
        let rate = Rate { ns_per_instruction: 4.0 * 1.01, ns_per_virtual_ns: 1.01, step_ns: 1.0 };
        let all = wakes(&[0, 1_000_000, 3_000_000], mostly);
        let times = [0.0, 100_000.0 * 4.04 + 909_000.0, 300_000.0 * 4.04 + 2_727_000.0];
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers")]
        let times = times.map(|time: f64| time as i64);
        assert_eq!(align(&all, &samples(&times), rate).unwrap(), [0, 100_000, 300_000]);
    }

    #[test]
    fn of_the_same_again_and_again_it_is_the_last() {
        let all = wakes(&[10_000, 20_000, 30_000, 40_000], mostly);
        assert_eq!(align(&all, &samples(&[10_000, 20_000]), RATE).unwrap(), [3_000, 4_000]);
    }

    #[test]
    fn readings_after_the_last_sample_are_nobodys() {
        let ours = wakes(&[1_000, 1_001_000, 2_001_000], never);
        let (all, counts) = among(&ours, wakes(&[7_000_000], never));
        assert_eq!(
            align(&all, &samples(&[5_001_000, 6_001_000, 7_001_000]), RATE).unwrap(),
            counts
        );
    }

    #[test]
    fn a_sample_that_was_lost_does_not_shift_the_others() {
        let all = wakes(&[1_000_000, 2_000_000, 3_000_000, 4_000_000], mostly);
        let found = align(&all, &samples(&[1_000_000, 3_000_000, 4_000_000]), RATE).unwrap();
        assert_eq!(found, [100_000, 300_000, 400_000]);
    }

    #[test]
    fn a_program_that_wakes_less_often_is_not_taken_for_the_thread() {
        let own: Vec<u64> = (0..10).map(|k| 1_000_000 + k * 200_000).collect();
        let other: Vec<u64> = (0..10).map(|k| 900_000 + k * 1_000_000).collect();
        let (all, counts) = among(&wakes(&own, mostly), wakes(&other, mostly));
        let times: Vec<i64> = (0..10).map(|k| 5_000_000 + k * 200_000).collect();
        assert_eq!(align(&all, &samples(&times), RATE).unwrap(), counts);
    }

    #[test]
    fn what_is_too_far_apart_or_too_near_is_not_found() {
        for time in [900_000, 9_000, 11_000] {
            let error =
                align(&wakes(&[1_000, 1_000 + time], never), &samples(&[10_000, 20_000]), RATE)
                    .unwrap_err();
            assert_eq!(error, WakesError::NotFound { seen: 2 });
        }
        assert!(align(&[], &samples(&[1]), RATE).is_err());
    }

    #[test]
    fn threads_of_two_cpus_are_found_by_themselves() {
        // The first one's warm up ends later than the other's.
        let first = wakes(&[100, 1_050, 2_050], never);
        let other =
            wakes(&[20, 60, 1_100, 2_100], never).into_iter().map(|wake| Wake { cpu: 1, ..wake });
        let mut all: Vec<Wake> = first.into_iter().chain(other).collect();
        all.sort_by_key(|wake| wake.count);
        let samples = [(0, 5_050), (1, 5_100), (0, 6_050), (1, 6_100)]
            .map(|(cpu, time_ns)| Woken { thread: cpu, activation: 0, cpu, time_ns });
        assert_eq!(align(&all, &samples, RATE).unwrap(), [1_050, 1_100, 2_050, 2_100]);
    }
}
