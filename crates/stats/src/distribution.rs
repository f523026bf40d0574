// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of latencies fine enough for exact quantiles where latencies usually are, and bounded
//! everywhere.
//!
//! From 0 to 262 µs every nanosecond has a counter: counting there is one addition, cheaper than
//! finding a bucket, and a quantile that lies there is known exactly after one pass. All else is
//! counted in the histogram's buckets; of what lies above, the largest values are kept as they are.
//! A quantile that lies elsewhere takes further passes; see [`crate::quantile`].

use crate::histogram::{bounds_of, signed_bounds, signed_index};
use crate::rank::at_rank;
use crate::rows::Chunk;
use crate::{Bucket, Histogram, Moments, WorstActivations};
use std::collections::BTreeMap;

/// Nanoseconds with a counter each: 1 MiB of counters. A power of two.
const FINE: usize = 1 << 18;
/// Counters that are looked at together.
const CHUNK: usize = 16;

/// How often each latency occurred.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    /// By latency, ns; empty until there is one to count. 32 bits each, which stay in the cache
    /// better than 64.
    fine: Vec<u32>,
    /// What was moved out of them before they could overflow, and all that came with a count of its
    /// own: a histogram of µs has one of a thousand of them, and a recording a thousand histograms.
    moved: BTreeMap<usize, u64>,
    /// No counter from this place on was ever touched, so none of those is read: most latencies are
    /// small.
    touched: usize,
    /// Latencies counted since then: no counter is above this.
    since_moved: u32,
    /// Everything else, and the sums of that; those of what has a counter are found in the end, at
    /// no cost per latency.
    coarse: Histogram,
    beyond: Moments,
    /// The largest values above the counters, of whichever activation: a quantile far out is known
    /// after one pass.
    tail: WorstActivations,
    count: u64,
}

/// Counts values from 0 to below [`FINE`]: the mask changes none of them, and says so to the
/// compiler.
fn count_all(fine: &mut [u32; FINE], values: &[i32]) {
    let mut count = |value: i32| fine[value.cast_unsigned() as usize & (FINE - 1)] += 1;
    let (eights, rest) = values.as_chunks::<8>();
    eights.iter().for_each(|eight| eight.iter().for_each(|value| count(*value)));
    rest.iter().for_each(|value| count(*value));
}

/// Adds to a counter; one of nothing is not kept.
fn add(counters: &mut BTreeMap<usize, u64>, place: usize, n: u64) {
    if n > 0 {
        *counters.entry(place).or_insert(0) += n;
    }
}

impl Distribution {
    /// Nothing counted yet; the largest `keep` values above the counters will be kept.
    pub(crate) fn new(keep: usize) -> Self {
        Distribution {
            fine: Vec::new(),
            moved: BTreeMap::new(),
            touched: 0,
            since_moved: 0,
            coarse: Histogram::default(),
            beyond: Moments::default(),
            tail: WorstActivations::new(keep),
            count: 0,
        }
    }

    /// Zeros that the kernel hands out as they are counted in: most of them never are.
    fn make_fine(&mut self) {
        if self.fine.is_empty() {
            self.fine = vec![0; FINE];
        }
    }

    /// Counts many latencies, ns.
    pub(crate) fn record_chunk(&mut self, chunk: Chunk<'_>) {
        self.count += chunk.values.len() as u64;
        self.make_fine();
        // A chunk is short.
        let added = u32::try_from(chunk.values.len()).unwrap_or(u32::MAX);
        self.since_moved = self.since_moved.checked_add(added).unwrap_or_else(|| {
            self.move_out();
            added
        });
        match self.fine.first_chunk_mut::<FINE>() {
            Some(fine) if chunk.is_below(fine.len().cast_signed() as i64) => {
                self.touched = self.touched.max(chunk.bits as usize + 1);
                count_all(fine, chunk.values)
            }
            _ => chunk.values.iter().for_each(|value| self.count_one(*value)),
        }
    }

    /// Empties the 32-bit counters into wider ones.
    #[cold]
    fn move_out(&mut self) {
        let touched = self.touched.min(self.fine.len());
        for (place, narrow) in self.fine[..touched].iter_mut().enumerate() {
            add(&mut self.moved, place, std::mem::take(narrow).into());
        }
        self.since_moved = 0;
    }

    fn count_one(&mut self, value: i32) {
        // Below zero becomes far above FINE.
        let place = value.cast_unsigned() as usize;
        match self.fine.get_mut(place) {
            Some(count) => {
                *count += 1;
                self.touched = self.touched.max(place + 1);
            }
            None => self.record_coarse(i64::from(value)),
        }
    }

    fn record_coarse(&mut self, value: i64) {
        self.coarse.record(value);
        self.beyond.record(value);
        if value > 0 {
            self.tail.offer(0, value);
        }
    }

    /// Counts one latency, ns.
    pub(crate) fn record(&mut self, value: i64) {
        match i32::try_from(value) {
            Ok(value) => self.record_chunk(Chunk::new(&[value])),
            Err(_) => {
                self.count += 1;
                self.record_coarse(value);
            }
        }
    }

    /// Counts `n` equal latencies, ns.
    pub(crate) fn record_n(&mut self, value: i64, n: u64) {
        self.count += n;
        match usize::try_from(value).ok().filter(|value| *value < FINE) {
            Some(place) => {
                add(&mut self.moved, place, n);
                self.touched = self.touched.max(place + 1);
            }
            None => {
                self.coarse.record_n(value, n);
                self.beyond.record_n(value, n);
                if value > 0 {
                    (0..n.min(self.tail.keeps() as u64)).for_each(|_| self.tail.offer(0, value));
                }
            }
        }
    }

    /// Adds another's counts.
    pub(crate) fn merge(&mut self, other: &Distribution) {
        self.fine.resize(self.fine.len().max(other.fine.len()), 0);
        match self.since_moved.checked_add(other.since_moved) {
            // Wider counters are some MB more, which most recordings never need.
            Some(since_moved) => {
                self.fine.iter_mut().zip(other.narrow()).for_each(|(mine, theirs)| *mine += theirs);
                self.since_moved = since_moved;
            }
            None => {
                self.move_out();
                other
                    .narrow()
                    .iter()
                    .enumerate()
                    .for_each(|(place, theirs)| add(&mut self.moved, place, u64::from(*theirs)));
            }
        }
        other.moved.iter().for_each(|(place, theirs)| add(&mut self.moved, *place, *theirs));
        self.touched = self.touched.max(other.touched);
        self.coarse.merge(&other.coarse);
        self.beyond.merge(&other.beyond);
        self.tail.merge(&other.tail);
        self.count += other.count;
    }

    /// How many there are in each bucket of the histogram that may hold values from `min` to `max`:
    /// its place and its count, ascending. Far cheaper than all of them where those are near
    /// one another.
    pub(crate) fn between(&self, min: i64, max: i64, mut visit: impl FnMut(i32, u64)) {
        for bucket in signed_index(min)..=signed_index(max) {
            let (lower, upper) = signed_bounds(bucket);
            // The bucket of what is below 0 and has a magnitude of 0 is empty: those that are 0
            // have another.
            let fine = (bucket >= 0)
                .then(|| self.fine_between(lower.cast_unsigned(), upper.cast_unsigned()))
                .flatten();
            visit(bucket, fine.unwrap_or(0) + self.coarse.count_of(bucket));
        }
    }

    /// The counters that were touched.
    fn narrow(&self) -> &[u32] {
        &self.fine[..self.touched.min(self.fine.len())]
    }

    /// Values of these that have a counter each, if all of them do.
    fn fine_between(&self, lower: u64, upper: u64) -> Option<u64> {
        let (lower, upper) = (usize::try_from(lower).ok()?, usize::try_from(upper).ok()?);
        (upper < FINE).then(|| self.counted(lower, upper + 1))
    }

    /// How many have a counter from one place to before another.
    fn counted(&self, from: usize, to: usize) -> u64 {
        let narrow = self.narrow();
        let places = from.min(narrow.len())..to.min(narrow.len());
        let narrow: u64 = narrow[places].iter().map(|count| u64::from(*count)).sum();
        narrow + self.moved.range(from..to).map(|(_, count)| count).sum::<u64>()
    }

    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Sums of all that was counted, exact.
    pub(crate) fn moments(&self) -> Moments {
        let mut all = self.beyond;
        for (part, narrow) in self.narrow().chunks(CHUNK).enumerate() {
            let first = part * CHUNK;
            let value = i64::try_from(first).unwrap_or(i64::MAX);
            // Of few latencies most counters are at zero, which is seen of many at once.
            if narrow.iter().fold(0, |any, count| any | count) > 0 {
                all.record_counts(value, narrow.iter().map(|count| u64::from(*count)));
            }
        }
        for (place, count) in &self.moved {
            all.record_n(i64::try_from(*place).unwrap_or(i64::MAX), *count);
        }
        all
    }

    /// Values above this one that have a counter each, if it has one itself or is just below the
    /// first.
    fn fine_above(&self, value: i64) -> Option<u64> {
        let first = usize::try_from(value.checked_add(1)?).ok().filter(|first| *first <= FINE)?;
        Some(self.counted(first, FINE))
    }

    /// Everything in the histogram's buckets.
    fn in_buckets(&self) -> Histogram {
        let mut all = self.coarse.clone();
        for (lower, upper) in (0..).map(bounds_of) {
            let Some(count) = self.fine_between(lower, upper) else { break };
            if count > 0 {
                all.record_n(lower.cast_signed(), count);
            }
        }
        all
    }
}

/// Everything that there is to count, and what is read from it.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    values: Distribution,
    /// The same in the histogram's buckets.
    buckets: Histogram,
    /// The largest values above the counters, of whichever activation, largest first: a quantile
    /// far out is known after one pass.
    largest: Vec<i64>,
    /// What a further pass has found: values by their ranks, and how many are above a value.
    by_rank: BTreeMap<u64, i64>,
    above: BTreeMap<i64, u64>,
}

impl From<Distribution> for Counted {
    fn from(values: Distribution) -> Self {
        let (by_rank, above) = Default::default();
        Counted {
            buckets: values.in_buckets(),
            largest: values.tail.list().iter().map(|worst| worst.latency_ns).collect(),
            values,
            by_rank,
            above,
        }
    }
}

impl Counted {
    /// The same with another's counts.
    pub(crate) fn with(mut self, other: &Distribution) -> Counted {
        self.values.merge(other);
        Counted::from(self.values)
    }

    /// The same, knowing exactly the values of these ranks, and how many values are above these.
    pub(crate) fn knowing(
        mut self,
        by_rank: BTreeMap<u64, i64>,
        above: BTreeMap<i64, u64>,
    ) -> Counted {
        (self.by_rank, self.above) = (by_rank, above);
        self
    }

    /// In the histogram's buckets.
    pub(crate) const fn histogram(&self) -> &Histogram {
        &self.buckets
    }

    pub(crate) const fn count(&self) -> u64 {
        self.values.count
    }

    /// How far neighbouring latencies are apart that have a counter, ns: the median over all of
    /// them. Of a coarse clock its step, also where that is no whole number of ns; 1 of a fine
    /// one.
    pub(crate) fn step(&self) -> i64 {
        let narrow = self.values.narrow().iter().enumerate();
        let narrow =
            narrow.filter(|(_, n)| **n > 0).map(|(value, count)| (value, u64::from(*count)));
        let moved = self.values.moved.iter().map(|(value, count)| (*value, *count));
        let mut occupied: Vec<(usize, u64)> = narrow.chain(moved).collect();
        occupied.sort_by_key(|(value, _)| *value);
        occupied.dedup_by(|(value, count), (known, sum)| {
            let is_same = value == known;
            *sum += if is_same { *count } else { 0 };
            is_same
        });
        let mut gaps: BTreeMap<usize, u64> = BTreeMap::new();
        let mut before = None;
        for (value, count) in occupied {
            if let Some(before) = before.replace(value) {
                *gaps.entry(value - before).or_insert(0) += count;
            }
        }
        let half = gaps.values().sum::<u64>().div_ceil(2);
        let median = at_rank(gaps, half);
        median.and_then(|(gap, _)| i64::try_from(gap).ok()).unwrap_or(1)
    }

    /// Where the values of these ranks (1 = smallest) lie, as closely as is known, and each one's
    /// rank within.
    pub(crate) fn locate(&self, ranks: &[u64]) -> Vec<(Bucket, u64)> {
        let in_the_tail = |rank: u64| {
            let larger = usize::try_from(self.count().checked_sub(rank)?).ok()?;
            self.largest
                .get(larger)
                .map(|value| (Bucket { lower: *value, upper: *value, count: 1 }, 1))
        };
        let locate = |rank| {
            in_the_tail(rank).or_else(|| {
                self.buckets.bucket_of_rank(rank).map(|(bucket, rank)| self.narrow(bucket, rank))
            })
        };
        ranks.iter().filter_map(|rank| locate(*rank)).collect()
    }

    /// The value of a rank (1 = smallest), ns: between these two, which are equal where it is known
    /// exactly.
    pub(crate) fn at_rank(&self, rank: u64) -> Option<(i64, i64)> {
        let (bucket, _) = self.locate(&[rank]).into_iter().next()?;
        // No further out than the values of the nearest ranks that are known exactly.
        let lower = self
            .by_rank
            .range(..=rank)
            .next_back()
            .map_or(bucket.lower, |(_, known)| bucket.lower.max(*known));
        let upper = self
            .by_rank
            .range(rank..)
            .next()
            .map_or(bucket.upper, |(_, known)| bucket.upper.min(*known));
        Some((lower, upper))
    }

    /// How many values lie above this, ns: at least and at most so many, which are equal where it
    /// is known exactly.
    pub(crate) fn above(&self, value: i64) -> (u64, u64) {
        let (surely, max) = self.above_by_counters(value);
        // No fewer and no more than lie above the nearest values of which that is known exactly.
        let min = self.above.range(value..).next().map_or(surely, |(_, known)| surely.max(*known));
        (min, self.above.range(..=value).next_back().map_or(max, |(_, known)| max.min(*known)))
    }

    fn above_by_counters(&self, value: i64) -> (u64, u64) {
        if let Some(larger) = self.values.fine_above(value) {
            let coarse: u64 = self
                .values
                .coarse
                .buckets()
                .filter(|bucket| bucket.lower > value)
                .map(|bucket| bucket.count)
                .sum();
            return (larger + coarse, larger + coarse);
        }
        let largest = &self.largest;
        let all_kept = || self.values.coarse.total() == largest.len() as u64;
        if value >= 0 && (largest.last().is_some_and(|min| *min <= value) || all_kept()) {
            let above = largest.iter().take_while(|known| **known > value).count() as u64;
            return (above, above);
        }
        let fine = if value < 0 { self.values.fine_above(-1).unwrap_or(0) } else { 0 };
        let count = |surely: bool| {
            let above =
                |bucket: &Bucket| if surely { bucket.lower > value } else { bucket.upper > value };
            self.values.coarse.buckets().filter(above).map(|bucket| bucket.count).sum::<u64>()
        };
        (fine + count(true), fine + count(false))
    }

    /// The one value of a bucket that has this rank within it, where every value has a counter;
    /// otherwise the part of the bucket that holds values.
    fn narrow(&self, bucket: Bucket, rank: u64) -> (Bucket, u64) {
        let bounds = (self.values.beyond.min(), self.values.beyond.max());
        let bucket = match bounds {
            (Some(min), Some(max)) if !(0..FINE.cast_signed() as i64).contains(&bucket.lower) => {
                Bucket { lower: bucket.lower.max(min), upper: bucket.upper.min(max), ..bucket }
            }
            _ => bucket,
        };
        let mut left = rank;
        for value in bucket.lower..=bucket.upper {
            let own =
                u64::try_from(value).ok().and_then(|value| self.values.fine_between(value, value));
            let Some(count) = own else { return (bucket, rank) };
            if left <= count {
                return (Bucket { lower: value, upper: value, count }, left);
            }
            left -= count;
        }
        (bucket, rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of counts that fit the narrow counters together no wide ones are made, and of those that do
    /// not none is lost.
    #[test]
    fn merging_takes_wide_counters_only_where_it_must() {
        let one = |since_moved| {
            let mut distribution = Distribution::new(1);
            distribution.record(7);
            distribution.since_moved = since_moved;
            distribution
        };
        let mut small = one(1);
        small.merge(&one(1));
        assert_eq!((small.moved.len(), small.fine_between(7, 7), small.count()), (0, Some(2), 2));
        let mut large = one(u32::MAX);
        large.merge(&one(1));
        large.merge(&small);
        assert_eq!((large.moved.len(), large.fine_between(7, 7), large.count()), (1, Some(4), 4));
        small.merge(&large);
        assert_eq!((small.fine_between(7, 7), small.count()), (Some(6), 6));
    }

    /// Of a thousand threads' histograms together they took 2 GB.
    #[test]
    fn a_histogram_takes_no_counter_of_each_ns() {
        let mut histogram = Distribution::new(1);
        (1..=250).for_each(|us| histogram.record_n(us * 1_000, 7));
        assert_eq!((histogram.fine.capacity(), histogram.moved.len()), (0, 250));
        let mut single = Distribution::new(1);
        (1..=250).for_each(|us| (0..7).for_each(|_| single.record(us * 1_000)));
        assert_eq!(histogram.moments(), single.moments());
        let [histogram, single] = [histogram, single].map(Counted::from);
        assert_eq!((histogram.step(), single.step()), (1_000, 1_000));
        for value in [0, 999, 1_000, 77_500, 250_000] {
            assert_eq!(histogram.above(value), single.above(value));
        }
        for rank in [1, 7, 8, 1_000, 1_750] {
            assert_eq!(histogram.at_rank(rank), single.at_rank(rank));
        }
    }

    proptest! {
        #[test]
        fn the_same_as_sorting(
            mut values in proptest::collection::vec(
                prop_oneof![-9_i32..300_000, any::<i32>()],
                1..300,
            ),
            keep in 1_usize..20,
        ) {
            let mut distribution = Distribution::new(keep);
            let (together, single) = values.split_at(values.len() / 2);
            Chunk::each(together).for_each(|chunk| distribution.record_chunk(chunk));
            let mut other = Distribution::new(keep);
            single.iter().for_each(|v| other.record(i64::from(*v)));
            distribution.merge(&other);

            let mut sums = Moments::default();
            values.iter().for_each(|v| sums.record(i64::from(*v)));
            prop_assert_eq!(distribution.moments(), sums);
            let (min, max) = (values.iter().min().unwrap(), values.iter().max().unwrap());
            let mut between = 0;
            distribution.between(i64::from(*min), i64::from(*max), |_, count| between += count);
            prop_assert_eq!(between, values.len() as u64);
            let counted = Counted::from(distribution);
            let mut expected = Histogram::default();
            values.iter().for_each(|v| expected.record(i64::from(*v)));
            prop_assert_eq!(
                counted.histogram().buckets().collect::<Vec<_>>(),
                expected.buckets().collect::<Vec<_>>()
            );

            values.sort_unstable();
            let ranks: Vec<u64> = (1..=values.len() as u64).collect();
            let located = counted.locate(&ranks);
            prop_assert_eq!(located.len(), values.len());
            for (((bucket, rank), value), rank_of_it) in located.into_iter().zip(&values).zip(ranks)
            {
                prop_assert!((bucket.lower..=bucket.upper).contains(&i64::from(*value)));
                prop_assert!((1..=bucket.count).contains(&rank));
                let larger = values.len() as u64 - rank_of_it;
                if (0..1 << 18).contains(value) || (*value > 0 && larger < keep as u64) {
                    prop_assert_eq!(bucket.lower, bucket.upper);
                }
            }
        }
    }
}
