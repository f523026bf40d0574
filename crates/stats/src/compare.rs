// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares two groups of runs: which figures differ significantly, and by how much.
//!
//! Quantiles are compared by a block bootstrap: blocks of the runs, long enough to be independent,
//! are drawn again and again, and the ratio of the quantiles of what was drawn varies as the ratio
//! itself would if the runs were repeated (H. R. Kuensch, "The jackknife and the bootstrap for
//! general stationary observations", Annals of Statistics 17 (1989) 1217-1241). All threads
//! of a run are drawn together, because what makes one late often makes others late. Where a group
//! has runs enough, runs are drawn first, since two runs of the same machine differ more than two
//! blocks of one. The intervals hold for all figures together: each for itself is that much wider
//! (Bonferroni).

use crate::blocks::{Block, aligned, merged};
use crate::bootstrap::{self, DRAWS, MIN_BLOCKS, interval_of};
use crate::chance::at_most;
use crate::histogram::{Counts, signed_bounds};
use crate::interval::{Dependence, is_correlated, lower_rate, upper_rate};
use crate::random::Numbers;
use crate::rank::at_rank;
use crate::spread::{SpreadDifference, compare_spread};
use crate::{Group, Level, Measured, Worst};
use std::collections::BTreeMap;

/// A quantile in two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileDifference {
    pub level: Level,
    /// Of the first group, ns: observed where that is one thread of one run, otherwise up to 1 %
    /// above that.
    pub base_ns: i64,
    /// Of the second, likewise.
    pub other_ns: i64,
    /// Second over first is at least this.
    pub lower: f64,
    /// Second over first is at most this.
    pub upper: f64,
}

impl QuantileDifference {
    /// Whether the difference is significant.
    pub fn is_significant(&self) -> bool {
        self.lower > 1.0 || self.upper < 1.0
    }
}

/// How often a limit is exceeded in two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateDifference {
    /// Beyond this, ns.
    pub limit_ns: i64,
    /// Latencies beyond it, and of how many, in the first group.
    pub base: (u64, u64),
    pub other: (u64, u64),
    /// The second rate over the first is at least this.
    pub lower: f64,
    /// And at most this; none where the first may be 0.
    pub upper: Option<f64>,
}

impl RateDifference {
    /// Whether the difference is significant.
    pub fn is_significant(&self) -> bool {
        self.lower > 1.0 || self.upper.is_some_and(|upper| upper < 1.0)
    }
}

/// From which group the very latest wake-ups are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaximumDifference {
    /// The largest of the first group, ns.
    pub base_ns: i64,
    pub other_ns: i64,
    /// So many of the latest independent wake-ups of both together ...
    pub latest: usize,
    /// ... are of the second group ...
    pub of_other: usize,
    /// ... and so many would be if the groups were alike.
    pub expected: f64,
    /// Whether the groups differ significantly in it.
    pub is_significant: bool,
    /// Whether it would, if the very latest were not of the group that has fewer of the latest.
    pub disagrees: bool,
}

/// Two groups, figure by figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Those that both groups have latencies enough for.
    pub quantiles: Vec<QuantileDifference>,
    /// Beyond the 99.9th percentile of the first group, or whatever it has latencies enough for.
    pub rate: Option<RateDifference>,
    /// How much values vary; none where nobody asked.
    pub spread: Option<SpreadDifference>,
    /// None where one of them has no latency.
    pub maximum: Option<MaximumDifference>,
    /// Blocks that were drawn from, in each group.
    pub blocks: (usize, usize),
    /// Whether runs were drawn too: otherwise what is said holds for these very runs, not for the
    /// next one.
    pub between_runs: bool,
}

/// The probability that equal groups are reported as different in any figure.
const ERROR: f64 = 0.05;
/// A quantile is compared where both groups have so many latencies beyond it.
const MIN_BEYOND: u64 = 10;
/// From so many runs of each group on, runs are drawn too.
const MIN_RUNS: usize = 5;
/// Of so many of the latest wake-ups it is asked which group they are of.
const LATEST: usize = 20;

/// Compares the second group with the first.
pub fn compare(base: &Group, other: &Group) -> Comparison {
    let (base_blocks, other_blocks) =
        (IndependentBlocks::from_group(base), IndependentBlocks::from_group(other));
    let supported =
        |level: &Level| [&base_blocks, &other_blocks].iter().all(|blocks| blocks.supports(*level));
    let levels: Vec<Level> = Level::ALL.into_iter().filter(supported).collect();
    let asks_spread =
        base.runs.iter().chain(&other.runs).flatten().all(|thread| !thread.sums.is_empty());
    #[expect(clippy::cast_precision_loss, reason = "half a dozen")]
    let error = ERROR / (levels.len() + 2 + usize::from(asks_spread)) as f64;
    let between_runs = base.runs.len() >= MIN_RUNS && other.runs.len() >= MIN_RUNS;
    let limit_ns = levels.last().map(|level| base_blocks.quantile(*level));
    let drawn = |blocks: &IndependentBlocks, seed| {
        blocks.draw(&levels, limit_ns.unwrap_or(0), between_runs, seed)
    };
    let (of_base, of_other) = (drawn(&base_blocks, 1), drawn(&other_blocks, 2));
    let ratios = |place: usize| {
        interval_of(
            of_base.iter().zip(&of_other).map(|(base, other)| other[place] / base[place]),
            error,
        )
    };
    let quantiles = levels.iter().enumerate().map(|(place, level)| {
        let (lower, upper) = ratios(place);
        QuantileDifference {
            level: *level,
            base_ns: observed(base, &base_blocks, *level),
            other_ns: observed(other, &other_blocks, *level),
            lower,
            upper,
        }
    });
    Comparison {
        quantiles: quantiles.collect(),
        rate: limit_ns.and_then(|limit_ns| {
            rate(&base_blocks, &other_blocks, limit_ns, error, || ratios(levels.len()))
        }),
        spread: if asks_spread { compare_spread(base, other, error, between_runs) } else { None },
        maximum: maximum(base, other, error),
        blocks: (base_blocks.count(), other_blocks.count()),
        between_runs,
    }
}

/// A quantile of a group, ns: the latency that was observed where that is known, as of one thread
/// that is the whole group, otherwise up to 1 % above it.
fn observed(group: &Group, blocks: &IndependentBlocks, level: Level) -> i64 {
    let place = Level::ALL.iter().position(|one| *one == level);
    let mut threads = group.runs.iter().flatten();
    let of_one =
        (threads.next().and_then(|thread| thread.quantiles)).filter(|_| threads.next().is_none());
    match (group.quantiles.or(of_one), place) {
        (Some(quantiles), Some(place)) => quantiles[place],
        _ => {
            let max = group
                .runs
                .iter()
                .flatten()
                .flat_map(|thread| &thread.blocks)
                .filter_map(|block| block.max)
                .max();
            max.map_or_else(|| blocks.quantile(level), |max| blocks.quantile(level).min(max))
        }
    }
}

/// The blocks of a group, joined until they are independent of one another.
struct IndependentBlocks {
    /// Values that occur, ns, ascending: the middle of each bucket.
    values: Vec<f64>,
    /// The upper bound of each.
    uppers: Vec<i64>,
    /// By run and block: which values occur how often.
    runs: Vec<Vec<Vec<(usize, u64)>>>,
    all: Vec<u64>,
}

/// The blocks of a run, all threads together.
fn aligned_blocks(run: &[Measured]) -> Vec<Counts> {
    let threads: Vec<&[Block]> = run.iter().map(|thread| thread.blocks.as_slice()).collect();
    aligned(&threads, |block| &block.counts)
}

/// Joins neighbours as long as they are correlated in how many latencies are beyond the run's
/// median, or its 99th percentile.
#[expect(clippy::cast_precision_loss, reason = "counts")]
fn independent(blocks: Vec<Counts>) -> Vec<Counts> {
    let all = merged(&blocks);
    let limits: Vec<i64> =
        [Level::P50, Level::P99].iter().filter_map(|level| all.quantile(*level)).collect();
    let are_alike = |blocks: &[Counts], limit: i64| {
        let share = all.above(limit) as f64 / all.total().max(1) as f64;
        let offsets: Vec<f64> = blocks
            .iter()
            .map(|block| block.above(limit) as f64 - share * block.total() as f64)
            .collect();
        is_correlated(&offsets)
    };
    bootstrap::independent(blocks, |blocks| limits.iter().any(|limit| are_alike(blocks, *limit)))
}

impl IndependentBlocks {
    fn from_group(group: &Group) -> IndependentBlocks {
        let runs: Vec<Vec<Counts>> = group
            .runs
            .iter()
            .map(|run| independent(aligned_blocks(run)))
            .filter(|run| !run.is_empty())
            .collect();
        let mut all: BTreeMap<i32, u64> = BTreeMap::new();
        for (bucket, count) in runs.iter().flatten().flat_map(|block| block.list()) {
            *all.entry(*bucket).or_insert(0) += count;
        }
        let places: BTreeMap<i32, usize> =
            all.keys().enumerate().map(|(place, bucket)| (*bucket, place)).collect();
        let placed = |block: &Counts| {
            block.list().iter().map(|(bucket, count)| (places[bucket], *count)).collect()
        };
        #[expect(clippy::cast_precision_loss, reason = "a bucket is 1 % wide")]
        let middle =
            |(lower, upper): (i64, i64)| f64::midpoint(lower as f64, upper as f64).max(0.5);
        IndependentBlocks {
            values: all.keys().map(|bucket| middle(signed_bounds(*bucket))).collect(),
            uppers: all.keys().map(|bucket| signed_bounds(*bucket).1).collect(),
            runs: runs.iter().map(|run| run.iter().map(placed).collect()).collect(),
            all: all.into_values().collect(),
        }
    }

    fn count(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    fn total(&self) -> u64 {
        self.all.iter().sum()
    }

    fn supports(&self, level: Level) -> bool {
        let total = self.total();
        self.count() >= MIN_BLOCKS && total - level.rank(total).min(total) >= MIN_BEYOND
    }

    /// ns, the upper bound of its bucket.
    fn quantile(&self, level: Level) -> i64 {
        self.uppers.get(place_of(&self.all, level.rank(self.total()))).copied().unwrap_or(0)
    }

    /// The quantiles of what is drawn, and last the rate beyond `limit_ns`, time after time.
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    fn draw(
        &self,
        levels: &[Level],
        limit_ns: i64,
        between_runs: bool,
        seed: u64,
    ) -> Vec<Vec<f64>> {
        let first = self.uppers.partition_point(|upper| *upper <= limit_ns);
        let mut numbers = Numbers::new(seed);
        let mut drawn = Resample::new(self);
        let runs = bootstrap::places(&self.runs);
        let observed: Vec<usize> =
            levels.iter().map(|level| place_of(&self.all, level.rank(self.total()))).collect();
        let mut once = || {
            drawn.times.fill(0);
            bootstrap::draw(&mut numbers, &runs, between_runs, |block| drawn.times[block] += 1);
            let total = drawn.below(self.values.len());
            let beyond = total - drawn.below(first);
            let places = levels
                .iter()
                .zip(&observed)
                .map(|(level, near)| drawn.place_of(level.rank(total), *near));
            let mut figures: Vec<f64> = places.map(|place| self.values[place]).collect();
            // Half of one more, so that a rate of none is not the same as one that cannot be.
            figures.push((beyond as f64 + 0.5) / total as f64);
            figures
        };
        if levels.is_empty() { Vec::new() } else { (0..DRAWS).map(|_| once()).collect() }
    }

    /// Latencies above a limit, and of how many, and how dependent they are.
    fn above(&self, limit: i64) -> (u64, u64, Dependence) {
        let first = self.uppers.partition_point(|upper| *upper <= limit);
        let of = |block: &Vec<(usize, u64)>| {
            block.iter().fold((0, 0), |sum, (place, count)| {
                (sum.0 + count, sum.1 + if *place >= first { *count } else { 0 })
            })
        };
        let runs: Vec<Vec<(u64, u64)>> =
            self.runs.iter().map(|run| run.iter().map(of).collect()).collect();
        let (all, beyond) =
            runs.iter().flatten().fold((0, 0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
        (beyond, all, Dependence::between(&runs))
    }
}

/// Blocks drawn at random, and counts over all of them. Only places near a quantile are ever asked
/// for.
struct Resample<'a> {
    blocks: Vec<&'a [(usize, u64)]>,
    /// How often each was drawn.
    times: Vec<u64>,
    /// By place, how many latencies each block has below it; empty until asked for.
    below: Vec<Vec<u64>>,
}

impl<'a> Resample<'a> {
    fn new(blocks: &'a IndependentBlocks) -> Self {
        let list: Vec<&[(usize, u64)]> = blocks.runs.iter().flatten().map(Vec::as_slice).collect();
        Resample {
            times: vec![0; list.len()],
            blocks: list,
            below: vec![Vec::new(); blocks.values.len() + 1],
        }
    }

    /// Latencies below this place in what was drawn.
    fn below(&mut self, place: usize) -> u64 {
        let below = &mut self.below[place];
        if below.is_empty() {
            let of = |block: &&[(usize, u64)]| {
                block.iter().take_while(|(at, _)| *at < place).map(|(_, count)| count).sum::<u64>()
            };
            below.extend(self.blocks.iter().map(of));
        }
        below.iter().zip(&self.times).map(|(count, times)| count * times).sum()
    }

    /// Where the value of a rank lies; `near` is where it is expected.
    fn place_of(&mut self, rank: u64, near: usize) -> usize {
        let last = self.below.len().saturating_sub(2);
        // The first place up to which there are so many lies from `low` to `high`: steps that
        // double, then halves.
        let (mut low, mut high, mut step) = (0, last, 1);
        let mut at = near.min(last);
        let is_beyond = self.below(at + 1) < rank;
        while low < high {
            if self.below(at + 1) >= rank {
                high = at;
                if is_beyond {
                    break;
                }
            } else {
                low = at + 1;
                if !is_beyond {
                    break;
                }
            }
            at = if is_beyond { (at + step).min(last) } else { at.saturating_sub(step) };
            step *= 2;
        }
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.below(middle + 1) >= rank { high = middle } else { low = middle + 1 }
        }
        low
    }
}

/// Where in these counts the value of a rank lies.
fn place_of(counts: &[u64], rank: u64) -> usize {
    let place = at_rank(counts.iter().copied().enumerate(), rank).map(|(place, _)| place);
    place.unwrap_or(counts.len().saturating_sub(1))
}

/// How often a limit is exceeded: the ratio by what was drawn where there are enough to count,
/// otherwise by the limits of either rate.
#[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
fn rate(
    base: &IndependentBlocks,
    other: &IndependentBlocks,
    limit_ns: i64,
    error: f64,
    drawn: impl FnOnce() -> (f64, f64),
) -> Option<RateDifference> {
    let ((k, n, first), (l, m, second)) = (base.above(limit_ns), other.above(limit_ns));
    if n == 0 || m == 0 {
        return None;
    }
    let (lower, upper) = if k >= MIN_BEYOND && l >= MIN_BEYOND {
        let (lower, upper) = drawn();
        (lower, Some(upper))
    } else {
        let confidence = 1.0 - error / 4.0;
        let limits = |k: u64, n: u64, dependence: Dependence| {
            let (k, n) =
                (k as f64 / dependence.factor.max(1.0), n as f64 / dependence.factor.max(1.0));
            (lower_rate(k, n, confidence), upper_rate(k, n, confidence))
        };
        let (of_base, of_other) = (limits(k, n, first), limits(l, m, second));
        (of_other.0 / of_base.1, (of_base.0 > 0.0).then(|| of_other.1 / of_base.0))
    };
    Some(RateDifference { limit_ns, base: (k, n), other: (l, m), lower, upper })
}

/// The latest wake-ups of a run that are independent of one another, ns: what makes several threads
/// late at once counts once.
fn latest(run: &[Measured]) -> Vec<i64> {
    let woke = |thread: &Measured, worst: &Worst| {
        i64::try_from(worst.activation)
            .unwrap_or(i64::MAX)
            .saturating_mul(thread.interval_ns)
            .saturating_add(worst.latency_ns)
    };
    let all = run.iter().flat_map(|thread| {
        thread.latest.maxima.iter().map(move |worst| (woke(thread, worst), worst.latency_ns))
    });
    let mut all: Vec<(i64, i64)> = all.collect();
    all.sort_unstable();
    let apart = run.iter().map(|thread| thread.interval_ns).max().unwrap_or(0);
    let at_once = all.chunk_by(|before, after| after.0.saturating_sub(before.0) <= apart);
    at_once.filter_map(|some| some.iter().map(|(_, latency)| *latency).max()).collect()
}

/// Of the latest wake-ups of both groups, how many are of the second, and whether that is more or
/// less than chance would have it.
#[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
fn maximum(base: &Group, other: &Group, error: f64) -> Option<MaximumDifference> {
    let maxima =
        |group: &Group| group.runs.iter().flat_map(|run| latest(run)).collect::<Vec<i64>>();
    let (first, second) = (maxima(base), maxima(other));
    let (base_ns, other_ns) = (*first.iter().max()?, *second.iter().max()?);
    let threads = base.runs.iter().chain(&other.runs).flatten();
    let complete_beyond =
        threads.map(|thread| thread.latest.complete_beyond).max().unwrap_or(i64::MIN);
    let mut both: Vec<(i64, bool)> = first
        .into_iter()
        .map(|value| (value, false))
        .chain(second.into_iter().map(|value| (value, true)))
        .collect();
    // At or below this, one of the groups does not have all of its latest wake-ups.
    both.retain(|(latency, _)| *latency > complete_beyond);
    both.sort_unstable_by(|a, b| b.cmp(a));
    // Of equal ones there is no order: either all of them are among the latest, or none.
    if let Some((left_out, _)) = both.get(LATEST).copied() {
        both.truncate(LATEST);
        both.retain(|(latency, _)| *latency > left_out);
    }
    // Of as many latencies, those that come in clusters have fewer independent ones.
    let independent = |group: &Group| -> f64 {
        let of = |thread: &Measured| {
            let all: u64 = thread.blocks.iter().map(|block| block.counts.total()).sum();
            all as f64 * thread.latest.clusters as f64 / thread.latest.among.max(1) as f64
        };
        group.runs.iter().flatten().map(of).sum()
    };
    let (of_base, of_other) = (independent(base), independent(other));
    let share = of_other / (of_base + of_other);
    let seconds = both.iter().filter(|(_, of_other)| *of_other).count();
    let (k, n) = (seconds as f64, both.len() as f64);
    if both.is_empty() {
        let none = MaximumDifference {
            base_ns,
            other_ns,
            latest: 0,
            of_other: 0,
            expected: 0.0,
            is_significant: false,
            disagrees: false,
        };
        return Some(none);
    }
    let chance = 2.0 * at_most(k, n, share).min(1.0 - at_most(k - 1.0, n, share));
    // Where the group with more of the latest does not have the very latest, neither is said to be
    // later.
    let agree = (other_ns > base_ns) == (k > share * n);
    let is_significant = agree && chance < error;
    let disagrees = !agree && chance < error;
    Some(MaximumDifference {
        base_ns,
        other_ns,
        latest: both.len(),
        of_other: seconds,
        expected: share * n,
        is_significant,
        disagrees,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against adding everything up, the obvious way.
        #[test]
        fn what_is_drawn_is_counted(
            counts in proptest::collection::vec(proptest::collection::vec(0_u64..5, 12), 1..8),
            seed in any::<u64>(),
            near in 0_usize..12,
        ) {
            let sparse = |counts: &Vec<u64>| {
                counts
                    .iter()
                    .copied()
                    .enumerate()
                    .filter(|(_, count)| *count > 0)
                    .collect::<Vec<_>>()
            };
            let run = counts.iter().map(sparse).collect();
            let blocks = IndependentBlocks {
                values: vec![0.0; 12],
                uppers: (0..12).collect(),
                runs: vec![run],
                all: vec![1; 12],
            };
            let (mut drawn, mut numbers) = (Resample::new(&blocks), Numbers::new(seed));
            for _ in 0..3 {
                drawn.times.iter_mut().for_each(|times| *times = numbers.below(4) as u64);
                let sum = |place: usize| {
                    counts
                        .iter()
                        .zip(&drawn.times)
                        .map(|(counts, times)| counts[place] * times)
                        .sum::<u64>()
                };
                let sums: Vec<u64> = (0..12).map(sum).collect();
                let total = sums.iter().sum::<u64>();
                prop_assert_eq!(
                    (drawn.below(5), drawn.below(12)),
                    (sums[..5].iter().sum::<u64>(), total)
                );
                for rank in 1..=total {
                    prop_assert_eq!(drawn.place_of(rank, near), place_of(&sums, rank));
                }
            }
        }
    }
}
