// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts in bins of equal width: what a histogram with bins of 1 µs, or of any other width, is
//! drawn from.
//!
//! The buckets of [`crate::Histogram`] grow with their values and begin at powers of two, so that
//! no multiple of 1 µs is an edge of them. Bins here begin at multiples of 10 ns, later of 100 ns
//! and so on: a bin of any multiple of that is a sum of whole ones, and exact.

use std::collections::BTreeMap;

/// Width of the first bins, ns: finer than most clocks and any drawing.
const FINEST_NS: i64 = 10;
/// How many times as wide bins become when there are too many of them.
const COARSER: i64 = 10;
/// Bins from 0 on that are held side by side: up to 164 µs at 10 ns.
const DENSE: usize = 16_384;
/// Other bins that hold something. With more, all bins become wider.
const SPARSE: usize = 16_384;

/// Counts of latencies in ns; memory is bounded, nothing overflows.
#[derive(Clone, Debug)]
pub struct LinearHistogram {
    width_ns: i64,
    /// The first bins from 0 on; empty where all are packed.
    dense: Vec<u64>,
    /// All others.
    sparse: BTreeMap<i64, u64>,
}

impl PartialEq for LinearHistogram {
    fn eq(&self, other: &Self) -> bool {
        self.width_ns == other.width_ns && self.bins().eq(other.bins())
    }
}

impl Eq for LinearHistogram {}

impl Default for LinearHistogram {
    fn default() -> Self {
        LinearHistogram { width_ns: FINEST_NS, dense: Vec::new(), sparse: BTreeMap::new() }
    }
}

impl LinearHistogram {
    pub fn record(&mut self, value: i64) {
        self.add(value.div_euclid(self.width_ns), 1);
    }

    /// Counts `n` equal values.
    pub(crate) fn record_n(&mut self, value: i64, n: u64) {
        self.add(value.div_euclid(self.width_ns), n);
    }

    pub fn record_all(&mut self, values: &[i32]) {
        values.iter().for_each(|value| self.record(i64::from(*value)));
    }

    /// Adds another's counts. Both have the wider of their bins then.
    pub fn merge(&mut self, other: &LinearHistogram) {
        while self.width_ns < other.width_ns {
            self.coarsen();
        }
        for (bin, n) in other.bins() {
            // What is added may make the bins wider.
            self.add(bin.div_euclid((self.width_ns / other.width_ns).max(1)), n);
        }
    }

    /// From the lower edge of a bin to that of the next, ns. Bin `k` holds values from `k x width`
    /// on.
    pub const fn width_ns(&self) -> i64 {
        self.width_ns
    }

    /// The bins that hold something, and how many, ascending.
    pub fn bins(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let sparse = |from, to| self.sparse.range(from..to).map(|(bin, n)| (*bin, *n));
        let dense = (0_i64..).zip(&self.dense).filter(|(_, n)| **n > 0).map(|(bin, n)| (bin, *n));
        sparse(i64::MIN, 0).chain(dense).chain(sparse(0, i64::MAX))
    }

    /// Keeps no room for bins that hold nothing: for a thread of many, whose few bins are only read
    /// from now on.
    pub(crate) fn pack(&mut self) {
        let dense = (0_i64..).zip(std::mem::take(&mut self.dense));
        self.sparse.extend(dense.filter(|(_, n)| *n > 0));
    }

    fn unpack(&mut self) {
        let others = self.sparse.split_off(&0);
        for (bin, n) in others {
            match dense_bin(bin) {
                Some(bin) => self.add_dense(bin, n),
                None => drop(self.sparse.insert(bin, n)),
            }
        }
    }

    fn add(&mut self, bin: i64, n: u64) {
        match dense_bin(bin) {
            Some(bin) => {
                if self.dense.is_empty() {
                    self.unpack();
                }
                self.add_dense(bin, n);
            }
            None => {
                *self.sparse.entry(bin).or_insert(0) += n;
                if self.sparse.len() > SPARSE {
                    self.unpack();
                }
                if self.sparse.len() > SPARSE {
                    self.coarsen();
                }
            }
        }
    }

    fn add_dense(&mut self, bin: usize, n: u64) {
        if bin >= self.dense.len() {
            self.dense.resize(bin + 1, 0);
        }
        self.dense[bin] += n;
    }

    /// Makes bins of ten each.
    fn coarsen(&mut self) {
        let finer = std::mem::take(self);
        self.width_ns = finer.width_ns.saturating_mul(COARSER);
        finer.bins().for_each(|(bin, n)| self.add(bin.div_euclid(COARSER), n));
    }
}

/// The place of one of the first bins.
fn dense_bin(bin: i64) -> Option<usize> {
    usize::try_from(bin).ok().filter(|bin| *bin < DENSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(values: &[i32]) -> LinearHistogram {
        let mut all = LinearHistogram::default();
        all.record_all(values);
        all
    }

    #[test]
    fn a_bin_of_a_microsecond_holds_what_cyclictest_would_count_there() {
        let all = counted(&[4_999, 5_000, 5_009, 5_999, 6_000, -1, 300_000, 300_001]);
        let mut micros: BTreeMap<i64, u64> = BTreeMap::new();
        for (bin, n) in all.bins() {
            *micros.entry((bin * all.width_ns()).div_euclid(1_000)).or_insert(0) += n;
        }
        assert_eq!(
            micros.into_iter().collect::<Vec<_>>(),
            [(-1, 1), (4, 1), (5, 3), (6, 1), (300, 2)]
        );
    }

    #[test]
    fn many_bins_become_wider_ones_and_stay_exact() {
        let values: Vec<i32> = (0..200_000).map(|n| 1_000_000 + n * 37).collect();
        let all = counted(&values);
        assert_eq!(all.width_ns(), 1_000);
        assert!(all.bins().count() <= DENSE + SPARSE);
        let mut expected: BTreeMap<i64, u64> = BTreeMap::new();
        values.iter().for_each(|value| {
            *expected.entry(i64::from(*value).div_euclid(1_000)).or_insert(0) += 1
        });
        assert!(all.bins().eq(expected));
    }

    proptest! {
        #[test]
        fn parts_together_are_the_whole(
            values in proptest::collection::vec(
                prop_oneof![-50_000..300_000, any::<i32>()],
                0..300,
            ),
            cut in 0_usize..300,
        ) {
            let (a, b) = values.split_at(cut.min(values.len()));
            let (mut merged, mut packed) = (counted(a), counted(b));
            packed.pack();
            prop_assert_eq!(&packed, &counted(b));
            merged.merge(&packed);
            prop_assert_eq!(&merged, &counted(&values));
            packed.record_all(a);
            prop_assert_eq!(&packed, &merged);
            prop_assert_eq!(merged.bins().map(|(_, n)| n).sum::<u64>(), values.len() as u64);
            let bins: Vec<i64> = merged.bins().map(|(bin, _)| bin).collect();
            prop_assert!(bins.is_sorted_by(|one, next| one < next));
        }
    }
}
