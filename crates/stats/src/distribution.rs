// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of latencies fine enough for exact quantiles where latencies usually are, and bounded everywhere.
//!
//! From 0 to 131 µs every nanosecond has a counter: counting there is one addition, cheaper than finding a bucket, and a
//! quantile that lies there is known exactly after one pass. All else is counted in the histogram's buckets, and a quantile
//! that lies there takes further passes; see [`crate::quantile`].

use crate::{Bucket, Histogram};

/// Nanoseconds with a counter each: 1 MiB of counters.
const FINE: usize = 1 << 17;

/// How often each latency occurred.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    /// By latency, ns; empty until there is one to count.
    fine: Vec<u64>,
    /// Everything else.
    coarse: Histogram,
}

impl Distribution {
    /// Counts many latencies, ns.
    pub(crate) fn record_all(&mut self, values: &[i32]) {
        self.fine.resize(FINE, 0);
        for value in values {
            // Below zero becomes far above FINE.
            match self.fine.get_mut(value.cast_unsigned() as usize) {
                Some(count) => *count += 1,
                None => self.coarse.record(i64::from(*value)),
            }
        }
    }

    /// Counts one latency, ns.
    pub(crate) fn record(&mut self, value: i64) {
        match i32::try_from(value) {
            Ok(value) => self.record_all(&[value]),
            Err(_) => self.coarse.record(value),
        }
    }

    /// Adds another's counts.
    pub(crate) fn merge(&mut self, other: &Distribution) {
        self.fine.resize(self.fine.len().max(other.fine.len()), 0);
        self.fine.iter_mut().zip(&other.fine).for_each(|(mine, theirs)| *mine += theirs);
        self.coarse.merge(&other.coarse);
    }

    /// Everything in the histogram's buckets.
    pub(crate) fn histogram(&self) -> Histogram {
        let mut all = self.coarse.clone();
        for (value, count) in (0_i64..).zip(&self.fine).filter(|(_, count)| **count > 0) {
            all.record_n(value, *count);
        }
        all
    }

    /// Where the values of these ranks (1 = smallest, ascending) lie, as closely as is known, and each one's rank within.
    pub(crate) fn locate(&self, ranks: &[u64]) -> Vec<(Bucket, u64)> {
        let below = self.coarse.buckets().filter(|bucket| bucket.upper < 0);
        let fine = (0_i64..).zip(&self.fine).map(|(value, count)| Bucket { lower: value, upper: value, count: *count });
        let above = self.coarse.buckets().filter(|bucket| bucket.upper >= 0);
        let mut cells = below.chain(fine.filter(|cell| cell.count > 0)).chain(above);
        let mut found = Vec::with_capacity(ranks.len());
        let (mut passed, mut cell) = (0, cells.next());
        for rank in ranks {
            while let Some(here) = cell.filter(|here| passed + here.count < *rank) {
                passed += here.count;
                cell = cells.next();
            }
            found.extend(cell.map(|cell| (cell, rank - passed)));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_same_as_sorting(mut values in proptest::collection::vec(prop_oneof![-9_i32..300_000, any::<i32>()], 1..300)) {
            let mut distribution = Distribution::default();
            let (together, single) = values.split_at(values.len() / 2);
            distribution.record_all(together);
            let mut other = Distribution::default();
            single.iter().for_each(|v| other.record(i64::from(*v)));
            distribution.merge(&other);

            let mut expected = Histogram::default();
            values.iter().for_each(|v| expected.record(i64::from(*v)));
            prop_assert_eq!(distribution.histogram().buckets().collect::<Vec<_>>(), expected.buckets().collect::<Vec<_>>());

            values.sort_unstable();
            let ranks: Vec<u64> = (1..=values.len() as u64).collect();
            let located = distribution.locate(&ranks);
            prop_assert_eq!(located.len(), values.len());
            for ((bucket, rank), value) in located.into_iter().zip(&values) {
                prop_assert!((bucket.lower..=bucket.upper).contains(&i64::from(*value)));
                prop_assert!((1..=bucket.count).contains(&rank));
                if (0..1 << 17).contains(value) {
                    prop_assert_eq!(bucket.lower, bucket.upper);
                }
            }
        }
    }
}
