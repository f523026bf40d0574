// SPDX-License-Identifier: MIT OR Apache-2.0
//! Latency over time in a bounded number of steps, without losing one extreme.

use crate::steps::{Step, Steps};

/// What happened during one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Smallest latency, ns; `i64::MAX` when none woke.
    pub min: i64,
    /// Largest latency, ns; `i64::MIN` when none woke.
    pub max: i64,
    /// Activations without a sample.
    pub missing: u64,
}

impl Extent {
    /// In which nothing happened.
    pub const NOTHING: Extent = Extent { min: i64::MAX, max: i64::MIN, missing: 0 };

    /// Takes in a latency, ns.
    pub fn record(&mut self, latency_ns: i64) {
        (self.min, self.max) = (self.min.min(latency_ns), self.max.max(latency_ns));
    }

    fn from_values(values: &[i32]) -> Extent {
        // Two loops, because the compiler makes vector code of each alone and not of both together.
        let min = values.iter().fold(i32::MAX, |min, v| min.min(*v));
        let max = values.iter().fold(i32::MIN, |max, v| max.max(*v));
        Extent { min: i64::from(min), max: i64::from(max), missing: 0 }
    }

    /// Smallest and largest latency, ns, if any activation woke.
    pub fn range(&self) -> Option<(i64, i64)> {
        (self.min <= self.max).then_some((self.min, self.max))
    }
}

impl Step for Extent {
    const EMPTY: Extent = Extent::NOTHING;

    fn join(self, other: Extent) -> Extent {
        Extent {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            missing: self.missing + other.missing,
        }
    }
}

/// Extremes per step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope(Steps<Extent>);

impl Envelope {
    /// An envelope of at most `max_steps` steps (an even number; an odd one is rounded up).
    pub fn new(max_steps: usize) -> Self {
        Envelope::for_rows(max_steps, 0)
    }

    /// The same, for at least so many rows: what it would become by growing, without the growing.
    pub(crate) fn for_rows(max_steps: usize, rows: u64) -> Self {
        Envelope(Steps::for_rows(max_steps, rows))
    }

    /// Of steps that were filled elsewhere, each of so many rows.
    pub fn from_steps(rows_per_step: u64, steps: Vec<Extent>) -> Self {
        Envelope(Steps::from_list(rows_per_step, steps))
    }

    /// Rows that each step but the last covers.
    pub const fn rows_per_step(&self) -> u64 {
        self.0.rows_per_step()
    }

    /// The steps, in order of time.
    pub fn steps(&self) -> &[Extent] {
        self.0.list()
    }

    /// Adds rows that woke, at least one, latencies in ns; returns the extremes of them all.
    pub fn woken(&mut self, values: &[i32]) -> Extent {
        let (mut left, mut all) = (values, Extent::EMPTY);
        while !left.is_empty() {
            let (now, later) = self.0.split(left);
            let extent = Extent::from_values(now);
            self.0.add(extent, now.len() as u64);
            all = all.join(extent);
            left = later;
        }
        all
    }

    /// Adds one row that woke, latency in ns.
    pub(crate) fn woken_one(&mut self, value: i64) {
        self.0.rows_left();
        self.0.add(Extent { min: value, max: value, missing: 0 }, 1);
    }

    /// Adds rows without a sample.
    pub fn missing(&mut self, rows: u64) {
        self.0.add_all(rows, |missing| Extent { missing, ..Extent::EMPTY });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_step_has_its_extremes(
            values in proptest::collection::vec(
                proptest::option::weighted(0.9, any::<i32>()),
                1..500,
            ),
            max_steps in 2_usize..40,
            chunk in 1_usize..20,
            known in 0.0..1.0_f64,
        ) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )]
            let mut envelope = Envelope::for_rows(max_steps, (values.len() as f64 * known) as u64);
            for part in values.chunks(chunk) {
                for run in part.chunk_by(|a, b| a.is_some() == b.is_some()) {
                    if run[0].is_some() {
                        envelope.woken(&run.iter().flatten().copied().collect::<Vec<_>>());
                    } else {
                        envelope.missing(run.len() as u64);
                    }
                }
            }
            prop_assert!(envelope.steps().len() <= max_steps.next_multiple_of(2));
            let rows = usize::try_from(envelope.rows_per_step()).unwrap();
            let expected: Vec<Extent> = values
                .chunks(rows)
                .map(|rows| Extent {
                    min: rows.iter().flatten().min().map_or(i64::MAX, |v| i64::from(*v)),
                    max: rows.iter().flatten().max().map_or(i64::MIN, |v| i64::from(*v)),
                    missing: rows.iter().filter(|v| v.is_none()).count() as u64,
                })
                .collect();
            prop_assert_eq!(envelope.steps(), expected);
            let mut grown = Envelope::new(max_steps);
            grown.missing(values.len() as u64);
            prop_assert_eq!(grown.rows_per_step(), envelope.rows_per_step(), "as if it had grown");
        }
    }
}
