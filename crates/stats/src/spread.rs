// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much values vary, and whether two groups of runs differ in it.
//!
//! Of intervals the standard deviation comes first. Their blocks keep exact sums, because a bucket
//! of a histogram is 1 % of an interval wide and would hold them all. Standard deviations are
//! compared as quantiles are: by a bootstrap of blocks that are long enough to be independent. From
//! the smallest to the largest is a figure of these very runs, and grows with their length.

use crate::blocks::{aligned, joined, merged};
use crate::bootstrap::{self, DRAWS, Drawn, MIN_BLOCKS};
use crate::interval::{correlation, inflation, is_correlated};
use crate::random::Numbers;
use crate::rows::Chunk;
use crate::{Group, Moments, Rows, Span};

/// Maximum number of blocks; an even number.
const MAX_BLOCKS: usize = 256;

/// Sums over blocks of equal length, in order of time. Rows without a value have their place in a
/// block and add nothing.
///
/// # Errors
/// When the rows cannot be read.
pub fn block_moments<R: Rows + ?Sized>(rows: &R) -> Result<Vec<Moments>, R::Error> {
    let mut blocks = SumBlocks {
        length: Chunk::LENGTH as u64,
        rows: 0,
        open: Moments::default(),
        list: Vec::new(),
    };
    rows.replay(&mut |span| match span {
        Span::Woken(values) => values.iter().for_each(|value| blocks.add(Some(i64::from(*value)))),
        Span::Long(value) => blocks.add(Some(value)),
        // No more than the longest block has rows: what is beyond it says nothing more.
        Span::Missing(rows) => (0..rows.min(MAX_MISSING)).for_each(|_| blocks.add(None)),
    })?;
    if blocks.rows > 0 {
        blocks.close();
    }
    blocks.list.retain(|block| block.count() > 0);
    Ok(blocks.list)
}

/// Rows without a value that are counted one by one.
const MAX_MISSING: u64 = 1 << 20;

struct SumBlocks {
    length: u64,
    /// Rows so far of the open one.
    rows: u64,
    open: Moments,
    list: Vec<Moments>,
}

impl SumBlocks {
    fn add(&mut self, value: Option<i64>) {
        if let Some(value) = value {
            self.open.record(value);
        }
        self.rows += 1;
        if self.rows >= self.length {
            self.close();
        }
    }

    /// Ends the open block. Where there are too many, neighbours are joined.
    fn close(&mut self) {
        self.list.push(std::mem::take(&mut self.open));
        self.rows = 0;
        if self.list.len() == MAX_BLOCKS {
            self.list = joined(&self.list, 2);
            self.length *= 2;
        }
    }
}

/// How much two groups vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpreadDifference {
    /// Standard deviation of the first group, ns, divisor n - 1.
    pub base_sd_ns: f64,
    pub other_sd_ns: f64,
    /// Second over first is at least and at most this; none where there are too few independent
    /// blocks, or the first does not vary.
    pub ratio: Option<(f64, f64)>,
    /// From the smallest value of the first group to its largest, ns.
    pub base_peak_to_peak_ns: i64,
    pub other_peak_to_peak_ns: i64,
}

impl SpreadDifference {
    /// Whether the standard deviations differ significantly.
    pub fn is_significant(&self) -> bool {
        self.ratio.is_some_and(|(lower, upper)| lower > 1.0 || upper < 1.0)
    }
}

/// Compares how much the second group varies with the first; none where a thread has no sums, or a
/// group no two values. `error` is the probability that equal groups are reported as different.
pub(crate) fn compare_spread(
    base: &Group,
    other: &Group,
    error: f64,
    between_runs: bool,
) -> Option<SpreadDifference> {
    let (base, other) = (SpreadOfGroup::new(base)?, SpreadOfGroup::new(other)?);
    let (base_sd_ns, other_sd_ns) = (base.all.sd()?, other.all.sd()?);
    let can_compare =
        base_sd_ns > 0.0 && [&base, &other].iter().all(|group| group.count() >= MIN_BLOCKS);
    let ratio = can_compare
        .then(|| base.drawn(between_runs, 3).ratio(&other.drawn(between_runs, 4), error));
    let ratio = ratio.filter(|(lower, upper)| lower.is_finite() && upper.is_finite());
    let peak_to_peak = |all: &Moments| Some(all.max()?.saturating_sub(all.min()?));
    Some(SpreadDifference {
        base_sd_ns,
        other_sd_ns,
        ratio,
        base_peak_to_peak_ns: peak_to_peak(&base.all)?,
        other_peak_to_peak_ns: peak_to_peak(&other.all)?,
    })
}

/// Values of a block: how many, and the sums of their distances from the group's mean and of the
/// squares of these.
#[derive(Clone, Copy, Default)]
struct Centred {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Centred {
    /// By how much its squares differ from those of values with this standard deviation.
    fn offset(&self, sd: f64) -> f64 {
        self.squares - self.count * sd * sd
    }
}

struct SpreadOfGroup {
    all: Moments,
    runs: Vec<Vec<Centred>>,
}

impl SpreadOfGroup {
    fn new(group: &Group) -> Option<SpreadOfGroup> {
        let runs: Vec<Vec<Moments>> = group
            .runs
            .iter()
            .map(|run| {
                let threads: Vec<&[Moments]> = run.iter().map(|one| one.sums.as_slice()).collect();
                aligned(&threads, |block| block)
            })
            .collect();
        if runs.iter().any(Vec::is_empty) {
            return None;
        }
        let all = merged(runs.iter().flatten());
        let mean = nearest(all.mean()?);
        let independent = |run: Vec<Moments>| independent(run, mean, all.sd().unwrap_or(0.0));
        Some(SpreadOfGroup { all, runs: runs.into_iter().map(independent).collect() })
    }

    fn count(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// The standard deviation in what is drawn.
    #[expect(clippy::cast_precision_loss, reason = "counts of blocks")]
    fn drawn(&self, between_runs: bool, seed: u64) -> Drawn {
        let sd = self.all.sd().unwrap_or(0.0);
        let offsets = |run: &Vec<Centred>| run.iter().map(|block| block.offset(sd)).collect();
        let offsets: Vec<Vec<f64>> = self.runs.iter().map(offsets).collect();
        let units = if between_runs { self.runs.len() } else { self.count() };
        Drawn {
            observed: sd,
            figures: self.draw(between_runs, seed),
            inflation: inflation(correlation(&offsets)),
            freedom: units as f64 - 1.0,
        }
    }

    /// The standard deviation of what is drawn, time after time.
    fn draw(&self, between_runs: bool, seed: u64) -> Vec<f64> {
        let mut numbers = Numbers::new(seed);
        let blocks: Vec<Centred> = self.runs.iter().flatten().copied().collect();
        let runs = bootstrap::places(&self.runs);
        let mut once = || {
            let mut sum = Centred::default();
            bootstrap::draw(&mut numbers, &runs, between_runs, |block| {
                sum.count += blocks[block].count;
                sum.sum += blocks[block].sum;
                sum.squares += blocks[block].squares;
            });
            ((sum.squares - sum.sum * sum.sum / sum.count) / (sum.count - 1.0)).max(0.0).sqrt()
        };
        (0..DRAWS).map(|_| once()).collect()
    }
}

/// Joins neighbours as long as they are correlated in how much they vary.
fn independent(blocks: Vec<Moments>, mean: i64, sd: f64) -> Vec<Centred> {
    let all_centred =
        |blocks: &[Moments]| blocks.iter().map(|block| centred(block, mean)).collect::<Vec<_>>();
    let blocks = bootstrap::independent(blocks, |blocks| {
        let offsets = all_centred(blocks).iter().map(|block| block.offset(sd)).collect::<Vec<_>>();
        is_correlated(&offsets)
    });
    all_centred(&blocks)
}

#[expect(clippy::cast_precision_loss, reason = "exact before it is rounded")]
fn centred(block: &Moments, mean: i64) -> Centred {
    let (sum, squares) = block.about(mean);
    Centred { count: block.count() as f64, sum: sum as f64, squares: squares as f64 }
}

/// To the nearest whole ns.
#[expect(clippy::cast_possible_truncation, reason = "rounded first, saturating")]
fn nearest(ns: f64) -> i64 {
    ns.round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_all_that_was_measured() {
        let values: Vec<i32> = (0..100_000).map(|n| n * 7_919 % 1_000 - 500).collect();
        let rows = [
            Span::Woken(&values[..40_000]),
            Span::Missing(7),
            Span::Long(1 << 40),
            Span::Woken(&values[40_000..]),
        ];
        let Ok(blocks) = block_moments(&rows[..]);
        assert!((MAX_BLOCKS / 2..MAX_BLOCKS).contains(&blocks.len()), "{}", blocks.len());
        let mut all = Moments::default();
        values.iter().for_each(|value| all.record(i64::from(*value)));
        all.record(1 << 40);
        assert_eq!(merged(&blocks), all);
        let Ok(nothing) = block_moments(&[Span::Missing(3)][..]);
        assert_eq!(nothing, []);
    }

    /// Of intervals near 1 s the squares about 0 are far larger than what is asked for.
    #[test]
    fn sums_about_a_mean_are_exact() {
        let mut block = Moments::default();
        [999_999_999, 1_000_000_001, 1_000_000_003]
            .into_iter()
            .for_each(|value| block.record(value));
        assert_eq!(block.about(1_000_000_001), (0, 8));
        assert_eq!(block.about(1_000_000_000), (3, 11));
    }
}
