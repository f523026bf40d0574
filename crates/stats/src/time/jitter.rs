// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jitter over time: by how much the time between two successive wake-ups differed from the
//! interval. It is the difference of their latencies, below zero where they were closer than the
//! interval, and belongs to the later of the two.

use crate::Extent;
use crate::steps::{Step, Steps};

/// One jitter, ns, as what the smallest and the largest of a step are.
const fn one(jitter: i64) -> Extent {
    Extent { min: jitter, max: jitter, missing: 0 }
}

/// Whether nothing within `distance` of zero, on either side, would widen it.
const fn spans(extent: Extent, distance: i64) -> bool {
    extent.max >= distance && extent.min <= -distance
}

/// The smallest and the largest jitter of each step; the steps are those of an envelope over the
/// same rows.
#[derive(Clone, Debug)]
pub(crate) struct JitterOverTime {
    steps: Steps<Extent>,
    /// The latency of the activation before, ns, if it woke.
    before: Option<i64>,
}

impl JitterOverTime {
    pub(crate) fn for_rows(max_steps: usize, rows: u64) -> Self {
        JitterOverTime { steps: Steps::for_rows(max_steps, rows), before: None }
    }

    /// Adds rows that woke, latencies in ns, whose extremes are known.
    pub(crate) fn woken(&mut self, values: &[i32], extent: Extent) {
        let range = extent.max.saturating_sub(extent.min);
        let mut left = values;
        while !left.is_empty() {
            let (now, later) = self.steps.split(left);
            let of_rows = self.of_rows(now, range);
            self.steps.add(of_rows, now.len() as u64);
            left = later;
        }
    }

    /// Adds one row that woke, latency in ns.
    pub(crate) fn woken_one(&mut self, value: i64) {
        self.steps.rows_left();
        let jitter = self.since_before(value, value);
        self.steps.add(jitter, 1);
    }

    /// Adds rows without a sample.
    pub(crate) fn missing(&mut self, rows: u64) {
        if rows > 0 {
            self.before = None;
        }
        self.steps.add_all(rows, |_| Extent::EMPTY);
    }

    /// The smallest and the largest jitter of each step, ns, in order of time.
    pub(crate) fn finish(self) -> Vec<Option<(i64, i64)>> {
        self.steps.list().iter().map(Extent::range).collect()
    }

    /// The jitter of rows of one step, at least as far as it widens what the step already has.
    /// Among them it cannot exceed the distance of their extremes, `range`, which spares most
    /// rows the search.
    fn of_rows(&mut self, values: &[i32], range: i64) -> Extent {
        let (Some(first), Some(last)) = (values.first(), values.last()) else {
            return Extent::EMPTY;
        };
        let since_before = self.since_before(i64::from(*first), i64::from(*last));
        if values.len() == 1
            || self.steps.last().is_some_and(|step| spans(step.join(since_before), range))
        {
            return since_before;
        }
        let successive = values.iter().zip(values.get(1..).unwrap_or_default());
        let jitter = |(before, now): (&i32, &i32)| one(i64::from(*now) - i64::from(*before));
        successive.map(jitter).fold(since_before, Extent::join)
    }

    /// The jitter of the first of some rows; the last of them comes before the next.
    fn since_before(&mut self, first: i64, last: i64) -> Extent {
        let before = self.before.replace(last);
        before.map_or(Extent::EMPTY, |before| one(first.saturating_sub(before)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Envelope;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_step_has_its_smallest_and_its_largest(
            values in proptest::collection::vec(
                proptest::option::weighted(0.9, prop_oneof![0..50_000_i32, any::<i32>()]),
                1..500,
            ),
            max in 2_usize..40,
            chunk in 1_usize..20,
            known in 0.0..1.0_f64,
        ) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )]
            let rows = (values.len() as f64 * known) as u64;
            let (mut jitter, mut envelope) =
                (JitterOverTime::for_rows(max, rows), Envelope::for_rows(max, rows));
            for part in values.chunks(chunk) {
                for run in part.chunk_by(|a, b| a.is_some() == b.is_some()) {
                    let woken: Vec<i32> = run.iter().flatten().copied().collect();
                    match woken.as_slice() {
                        [] => {
                            envelope.missing(run.len() as u64);
                            jitter.missing(run.len() as u64);
                        }
                        [one] => {
                            envelope.woken_one(i64::from(*one));
                            jitter.woken_one(i64::from(*one));
                        }
                        many => {
                            let extent = envelope.woken(many);
                            jitter.woken(many, extent);
                        }
                    }
                }
            }
            let before: Vec<Option<i32>> =
                std::iter::once(None).chain(values.iter().copied()).collect();
            let rows = usize::try_from(envelope.rows_per_step()).unwrap();
            let of_step = |(rows, before): (&[Option<i32>], &[Option<i32>])| {
                let each = || {
                    rows.iter().zip(before).filter_map(|(now, before)| {
                        Some(i64::from((*now)?) - i64::from((*before)?))
                    })
                };
                each().min().zip(each().max())
            };
            let expected: Vec<Option<(i64, i64)>> =
                values.chunks(rows).zip(before.chunks(rows)).map(of_step).collect();
            prop_assert_eq!(jitter.finish(), expected);
        }
    }
}
