// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exact quantiles of any number of values in bounded memory.
//!
//! The first pass has counted the values in a [`Histogram`], which tells the bucket each quantile lies in. Each further
//! pass counts what falls into those buckets at a finer resolution, until a cell is one nanosecond wide. Two passes
//! suffice up to 8 ms, three up to nine minutes.

use crate::histogram::{Bucket, Histogram, index_of};

/// The rank (1 = smallest) of a quantile `numerator / denominator` among `count` values: the smallest rank that leaves at
/// most the remaining share above it. Its value is one that was observed.
#[must_use]
pub fn nearest_rank(count: u64, numerator: u64, denominator: u64) -> u64 {
    let rank = (u128::from(count) * u128::from(numerator)).div_ceil(u128::from(denominator.max(1)));
    u64::try_from(rank).unwrap_or(u64::MAX).max(1)
}

/// Cells that one pass resolves a bucket into.
const CELLS: u64 = 1 << 16;

/// One value to be found.
#[derive(Clone, Debug)]
struct Want {
    /// What is known of where it lies, and its rank within (1 = smallest).
    bucket: Bucket,
    rank: u64,
}

impl Want {
    fn found(&self) -> Option<i64> {
        (self.bucket.lower == self.bucket.upper).then_some(self.bucket.lower)
    }
}

/// Values within one bucket, counted finely.
#[derive(Clone, Debug)]
struct Window {
    lower: i64,
    upper: i64,
    cell: u64,
    counts: Vec<u64>,
}

impl Window {
    fn over(bucket: Bucket) -> Self {
        let cell = bucket.upper.abs_diff(bucket.lower) / CELLS + 1;
        let cells = bucket.upper.abs_diff(bucket.lower) / cell + 1;
        Window { lower: bucket.lower, upper: bucket.upper, cell, counts: vec![0; usize::try_from(cells).unwrap_or(0)] }
    }

    fn record(&mut self, value: i64) {
        if (self.lower..=self.upper).contains(&value)
            && let Ok(cell) = usize::try_from(value.abs_diff(self.lower) / self.cell)
        {
            self.counts[cell] += 1;
        }
    }

    /// The cell that holds this rank, and the rank within it.
    fn narrow(&self, rank: u64) -> Option<Want> {
        let mut left = rank;
        for (cell, count) in (0_u64..).zip(&self.counts) {
            if left <= *count {
                let lower = self.lower.saturating_add_unsigned(cell * self.cell);
                let upper = lower.saturating_add_unsigned(self.cell - 1).min(self.upper);
                return Some(Want { bucket: Bucket { lower, upper, count: *count }, rank: left });
            }
            left -= count;
        }
        None
    }
}

/// Finds the values of some ranks of one population.
#[derive(Clone, Debug)]
pub(crate) struct Refinement {
    wants: Vec<Want>,
    windows: Vec<Window>,
    /// By histogram bucket of a value >= 0: whether a window lies there.
    interesting: Vec<bool>,
}

impl Refinement {
    /// Wants the values of these ranks among what the histogram has counted.
    pub(crate) fn new(histogram: &Histogram, ranks: &[u64]) -> Self {
        let find = |rank: &u64| histogram.bucket_of_rank(*rank).map(|(bucket, rank)| Want { bucket, rank });
        let mut refinement =
            Refinement { wants: ranks.iter().filter_map(find).collect(), windows: Vec::new(), interesting: Vec::new() };
        refinement.open_windows();
        refinement
    }

    /// The values, in the order of the ranks, once all are known.
    pub(crate) fn found(&self) -> Option<Vec<i64>> {
        self.wants.iter().map(Want::found).collect()
    }

    fn open_windows(&mut self) {
        let mut open: Vec<Bucket> = self.wants.iter().filter(|want| want.found().is_none()).map(|want| want.bucket).collect();
        open.sort_by_key(|bucket| bucket.lower);
        open.dedup();
        self.interesting.clear();
        for bucket in open.iter().filter(|bucket| bucket.upper >= 0) {
            let index = index_of(bucket.upper.unsigned_abs());
            self.interesting.resize(self.interesting.len().max(index + 1), false);
            self.interesting[index] = true;
        }
        self.windows = open.into_iter().map(Window::over).collect();
    }

    /// Counts a value of this pass.
    pub(crate) fn record(&mut self, value: i64) {
        if value < 0 || self.interesting.get(index_of(value.unsigned_abs())).copied().unwrap_or(false) {
            self.windows.iter_mut().for_each(|window| window.record(value));
        }
    }

    /// Ends a pass: what was counted tells more closely where each value lies.
    pub(crate) fn end_pass(&mut self) {
        for want in self.wants.iter_mut().filter(|want| want.found().is_none()) {
            let window = self.windows.iter().find(|window| window.lower == want.bucket.lower && window.upper == want.bucket.upper);
            if let Some(narrower) = window.and_then(|window| window.narrow(want.rank)) {
                *want = narrower;
            }
        }
        self.open_windows();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks() {
        assert_eq!(nearest_rank(100, 50, 100), 50);
        assert_eq!(nearest_rank(101, 50, 100), 51);
        assert_eq!(nearest_rank(10, 9_999, 10_000), 10);
        assert_eq!(nearest_rank(1, 50, 100), 1);
        assert_eq!(nearest_rank(u64::MAX, 9_999, 10_000), 18_444_899_399_302_180_660);
    }

    proptest! {
        #[test]
        fn exact_for_any_values(mut values in proptest::collection::vec(prop_oneof![0_i64..100_000, any::<i64>(), 8_000_000_i64..9_000_000], 1..400)) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|v| histogram.record(*v));
            let ranks: Vec<u64> = [1, 50, 99, 100].into_iter().map(|q| nearest_rank(values.len() as u64, q, 100)).collect();
            let mut refinement = Refinement::new(&histogram, &ranks);
            let mut passes = 0;
            while refinement.found().is_none() {
                values.iter().for_each(|v| refinement.record(*v));
                refinement.end_pass();
                passes += 1;
                prop_assert!(passes <= 5);
            }
            values.sort_unstable();
            let expected: Vec<i64> = ranks.iter().map(|rank| values[usize::try_from(*rank).unwrap() - 1]).collect();
            prop_assert_eq!(refinement.found().unwrap(), expected);
        }
    }
}
