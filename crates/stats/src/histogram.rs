// SPDX-License-Identifier: MIT OR Apache-2.0
//! A log-linear histogram over every 64-bit latency: nothing overflows, and no bucket is wider than
//! 1 % of its values.
//!
//! Magnitudes below 256 have a bucket each; above, every power of two is divided into 128 equal
//! buckets.

use crate::Level;
use crate::rank::at_rank;
use serde::{Deserialize, Serialize};

/// log2 of the buckets per power of two.
const BITS: u32 = 7;
/// A bucket's width is at most this share of its lower bound: 1/128.
pub const RELATIVE_ERROR: f64 = 1.0 / (1 << BITS) as f64;

/// Counts of latencies in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By bucket of the value, for values >= 0. Grown on demand.
    positive: Vec<u64>,
    /// By bucket of the magnitude, for values < 0.
    negative: Vec<u64>,
    /// Of the largest values, those that are anywhere in such a bucket, and were counted as the
    /// largest in it.
    beyond: Vec<Bucket>,
}

/// One bucket that holds something: `lower <= value <= upper`, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(i64, i64, u64)", into = "(i64, i64, u64)")]
pub struct Bucket {
    /// Smallest value that belongs here, ns.
    pub lower: i64,
    /// Largest value that belongs here, ns.
    pub upper: i64,
    pub count: u64,
}

impl Bucket {
    /// The bucket that holds the sizes of its values.
    pub const fn sizes(self) -> Bucket {
        let (one, other) = (self.lower.saturating_abs(), self.upper.saturating_abs());
        let (lower, upper) = if one < other { (one, other) } else { (other, one) };
        let straddles = self.lower < 0 && self.upper > 0;
        Bucket { lower: if straddles { 0 } else { lower }, upper, count: self.count }
    }
}

impl From<(i64, i64, u64)> for Bucket {
    fn from((lower, upper, count): (i64, i64, u64)) -> Self {
        Bucket { lower, upper, count }
    }
}

impl From<Bucket> for (i64, i64, u64) {
    fn from(bucket: Bucket) -> Self {
        (bucket.lower, bucket.upper, bucket.count)
    }
}

/// The bucket of a magnitude.
#[inline]
pub(crate) fn index_of(magnitude: u64) -> usize {
    let shift = (u64::BITS - (magnitude | 1).leading_zeros()).saturating_sub(BITS + 1);
    // At most 56 x 128 + 255: fits any usize.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "magnitude >> shift is below 256 by construction"
    )]
    let within = (magnitude >> shift) as usize;
    ((shift as usize) << BITS) + within
}

/// [`index_of`] for what fits 31 bits: most latencies, and fewer instructions.
#[inline]
pub(crate) fn index_of_32(magnitude: u32) -> usize {
    let shift = (u32::BITS - (magnitude | (1 << BITS)).leading_zeros()) - (BITS + 1);
    ((shift << BITS) + (magnitude >> shift)) as usize
}

/// Buckets that hold what fits 31 bits.
pub(crate) const BUCKETS_32: usize =
    ((u32::BITS as usize - 1 - (BITS as usize + 1)) << BITS) + (2 << BITS);

/// Smallest and largest magnitude of a bucket.
pub(crate) fn bounds_of(index: usize) -> (u64, u64) {
    let shift = (index >> BITS).saturating_sub(1);
    let within = (index - (shift << BITS)) as u64;
    let lower = within << shift;
    (lower, lower + ((1_u64 << shift) - 1))
}

fn add(counts: &mut Vec<u64>, index: usize, n: u64) {
    if index >= counts.len() {
        counts.resize(index + 1, 0);
    }
    counts[index] += n;
}

/// Some of a histogram's buckets, few enough to list: what was counted during one block of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bucket and count, ascending; a bucket of values below zero is minus its magnitude's less
    /// one.
    list: Vec<(i32, u64)>,
}

impl Counts {
    pub fn total(&self) -> u64 {
        self.list.iter().map(|(_, count)| count).sum()
    }

    /// How many lie in buckets whose values are all above this, ns.
    pub fn above(&self, value: i64) -> u64 {
        let bucket = signed_index(value);
        self.list.iter().rev().take_while(|(of, _)| *of > bucket).map(|(_, count)| count).sum()
    }

    /// A quantile: the upper bound of its bucket, ns; none where nothing was counted.
    pub fn quantile(&self, level: Level) -> Option<i64> {
        let found = at_rank(self.list.iter().copied(), level.rank(self.total()));
        found.map(|(bucket, _)| signed_bounds(bucket).1)
    }

    /// Bucket and count, ascending by value.
    pub(crate) fn list(&self) -> &[(i32, u64)] {
        &self.list
    }

    pub(crate) fn merged(&self, other: &Counts) -> Counts {
        let (mut mine, mut theirs) = (self.list.iter().peekable(), other.list.iter().peekable());
        let mut list = Vec::with_capacity(self.list.len().max(other.list.len()));
        loop {
            list.push(match (mine.peek(), theirs.peek()) {
                (Some((a, n)), Some((b, m))) if a == b => {
                    let both = (*a, n + m);
                    let _ = (mine.next(), theirs.next());
                    both
                }
                (Some((a, _)), Some((b, _))) if a > b => *theirs.next().unwrap_or(&(0, 0)),
                (Some(_), _) => *mine.next().unwrap_or(&(0, 0)),
                (None, Some(_)) => *theirs.next().unwrap_or(&(0, 0)),
                (None, None) => return Counts { list },
            });
        }
    }
}

impl FromIterator<(i32, u64)> for Counts {
    /// Buckets come in ascending order.
    fn from_iter<I: IntoIterator<Item = (i32, u64)>>(buckets: I) -> Self {
        Counts { list: buckets.into_iter().filter(|(_, count)| *count > 0).collect() }
    }
}

/// The bucket of any value.
pub(crate) fn signed_index(value: i64) -> i32 {
    // At most 56 x 128 + 255.
    let index = i32::try_from(index_of(value.unsigned_abs())).unwrap_or(i32::MAX - 1);
    if value < 0 { -index - 1 } else { index }
}

/// Smallest and largest value of a bucket of [`Counts`].
pub(crate) fn signed_bounds(index: i32) -> (i64, i64) {
    let magnitude = if index < 0 { -(index + 1) } else { index };
    let (lower, upper) = bounds_of(magnitude.unsigned_abs() as usize);
    if index < 0 {
        (0_i64.saturating_sub_unsigned(upper), 0_i64.saturating_sub_unsigned(lower))
    } else {
        (0_i64.saturating_add_unsigned(lower), 0_i64.saturating_add_unsigned(upper))
    }
}

impl Histogram {
    /// How many are in one bucket.
    pub(crate) fn count_of(&self, signed: i32) -> u64 {
        let (counts, index) =
            if signed < 0 { (&self.negative, -(signed + 1)) } else { (&self.positive, signed) };
        counts.get(index.unsigned_abs() as usize).copied().unwrap_or(0)
    }

    /// Counts of the sizes of the same values.
    pub fn sizes(&self) -> Histogram {
        let mut positive = self.positive.clone();
        positive.resize(positive.len().max(self.negative.len()), 0);
        positive.iter_mut().zip(&self.negative).for_each(|(all, negative)| *all += negative);
        Histogram {
            positive,
            negative: Vec::new(),
            beyond: self.beyond.iter().map(|bucket| bucket.sizes()).collect(),
        }
    }

    pub fn record(&mut self, value: i64) {
        self.record_n(value, 1);
    }

    /// Counts `n` equal values.
    pub fn record_n(&mut self, value: i64, n: u64) {
        let counts = if value < 0 { &mut self.negative } else { &mut self.positive };
        add(counts, index_of(value.unsigned_abs()), n);
    }

    pub fn record_all(&mut self, values: &[i32]) {
        values.iter().for_each(|value| self.record(i64::from(*value)));
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in
            [(&mut self.positive, &other.positive), (&mut self.negative, &other.negative)]
        {
            theirs
                .iter()
                .enumerate()
                .filter(|(_, n)| **n > 0)
                .for_each(|(index, n)| add(mine, index, *n));
        }
        self.beyond.extend_from_slice(&other.beyond);
    }

    /// Says of the largest values, which were counted as the largest of this bucket, that they are
    /// anywhere in it.
    pub(crate) fn set_beyond(&mut self, bucket: Bucket) {
        self.beyond = vec![bucket];
    }

    /// How many of the largest values are anywhere between the others and the largest of all.
    pub fn beyond(&self) -> u64 {
        self.beyond.iter().map(|bucket| bucket.count).sum()
    }

    /// The bucket of all those; none without any.
    pub fn bucket_beyond(&self) -> Option<Bucket> {
        let lower = self.beyond.iter().map(|bucket| bucket.lower).min()?;
        let upper = self.beyond.iter().map(|bucket| bucket.upper).max()?;
        Some(Bucket { lower, upper, count: self.beyond() })
    }

    /// Without those.
    pub fn within(&self) -> Histogram {
        let mut within = self.clone();
        for bucket in within.beyond.drain(..) {
            let counts = if bucket.upper < 0 { &mut within.negative } else { &mut within.positive };
            if let Some(count) = counts.get_mut(index_of(bucket.upper.unsigned_abs())) {
                *count = count.saturating_sub(bucket.count);
            }
        }
        within
    }

    /// Whether the value of this rank is one that is known.
    pub fn knows_rank(&self, rank: u64) -> bool {
        let (beyond, total) = (self.beyond(), self.total());
        beyond == 0 || rank <= total - beyond || rank == total
    }

    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.positive.iter().chain(&self.negative).sum()
    }

    /// The buckets that hold something, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let negative = self.negative.iter().enumerate().rev().map(|(index, count)| {
            let (lower, upper) = bounds_of(index);
            Bucket {
                lower: 0_i64.saturating_sub_unsigned(upper),
                upper: 0_i64.saturating_sub_unsigned(lower),
                count: *count,
            }
        });
        let positive = self.positive.iter().enumerate().map(|(index, count)| {
            let (lower, upper) = bounds_of(index);
            Bucket {
                lower: 0_i64.saturating_add_unsigned(lower),
                upper: 0_i64.saturating_add_unsigned(upper),
                count: *count,
            }
        });
        negative.chain(positive).filter(|bucket| bucket.count > 0)
    }

    /// The bucket that holds the value of this rank (1 = smallest), and the rank within the bucket.
    pub fn bucket_of_rank(&self, rank: u64) -> Option<(Bucket, u64)> {
        at_rank(self.buckets().map(|bucket| (bucket, bucket.count)), rank)
    }

    /// A quantile, the upper bound of its bucket. None where it is not known.
    pub fn quantile(&self, level: Level) -> Option<i64> {
        let rank = level.rank(self.total());
        let (bucket, _) = self.bucket_of_rank(rank).filter(|_| self.knows_rank(rank))?;
        Some(bucket.upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_touch_and_are_narrow() {
        let mut next = 0_u64;
        for index in 0..=index_of(u64::MAX >> 1) {
            let (lower, upper) = bounds_of(index);
            assert_eq!(lower, next, "bucket {index} begins where the one before it ends");
            assert_eq!((index_of(lower), index_of(upper)), (index, index));
            #[expect(clippy::cast_precision_loss)]
            let width = (upper - lower) as f64 / lower.max(1) as f64;
            assert!(width <= RELATIVE_ERROR, "bucket {index}: {lower}..={upper}");
            next = upper + 1;
        }
    }

    #[test]
    fn the_short_way_leads_to_the_same_bucket() {
        let edges = (0..31).flat_map(|bit| [(1_u32 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for magnitude in (0..100_000).chain(edges).chain([i32::MAX.unsigned_abs()]) {
            assert_eq!(index_of_32(magnitude), index_of(u64::from(magnitude)), "{magnitude}");
        }
        assert_eq!(index_of_32(i32::MAX.unsigned_abs()), BUCKETS_32 - 1);
    }

    #[test]
    fn extremes_have_a_bucket() {
        let mut histogram = Histogram::default();
        [i64::MIN, -1, 0, i64::MAX].into_iter().for_each(|v| histogram.record(v));
        assert_eq!(histogram.total(), 4);
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets.len(), 4);
        assert_eq!((buckets[0].lower, buckets[3].upper), (i64::MIN, i64::MAX));
    }

    proptest! {
        #[test]
        fn every_value_is_counted_once_and_where_it_belongs(
            values in proptest::collection::vec(any::<i64>(), 1..300),
        ) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|v| histogram.record(*v));
            prop_assert_eq!(histogram.total(), values.len() as u64);
            for bucket in histogram.buckets() {
                let inside =
                    values.iter().filter(|v| (bucket.lower..=bucket.upper).contains(*v)).count();
                prop_assert_eq!(inside as u64, bucket.count);
            }
            let all: Vec<Bucket> = histogram.buckets().collect();
            let mut again = Histogram::default();
            all.iter().for_each(|bucket| again.record_n(bucket.lower, bucket.count));
            prop_assert_eq!(again.buckets().collect::<Vec<_>>(), all);
        }

        #[test]
        fn merging_parts_is_the_whole(
            values in proptest::collection::vec(any::<i32>(), 0..300),
            cut in 0_usize..300,
        ) {
            let (a, b) = values.split_at(cut.min(values.len()));
            let count = |part: &[i32]| {
                let mut h = Histogram::default();
                h.record_all(part);
                h
            };
            let mut merged = count(a);
            merged.merge(&count(b));
            prop_assert_eq!(
                merged.buckets().collect::<Vec<_>>(),
                count(&values).buckets().collect::<Vec<_>>()
            );
        }
    }
}
