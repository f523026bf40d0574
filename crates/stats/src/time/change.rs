// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether latencies stay the same over a run: their middle, and how often they are late.
//!
//! The blocks of a run are compared by the share of their latencies beyond the median, and beyond
//! the 99th percentile, of the whole. The largest cumulated deviation, in units of what the blocks
//! vary from one to the next, follows Kolmogorov's distribution if nothing changes. Sources: E. S.
//! Page, "Continuous inspection schemes", Biometrika 41 (1954) 100-115; A. N. Pettitt, "A simple
//! cumulative sum type statistic for the change-point problem with zero-one observations",
//! Biometrika 67 (1980) 79-84.

use crate::Level;
use crate::blocks::{Block, Blocks};
use crate::chance::kolmogorov_at_least;

/// Fewer blocks than these are not judged.
const MIN_BLOCKS: usize = 16;
/// Of neighbours summed up: fewer sums than these are not compared with one another.
const MIN_SUMS: usize = 8;
/// A change is called one where chance alone makes it in one of so many runs.
const CHANCE: f64 = 1e-3;
/// And where the figure before and after differ by this share of the smaller, however certain it
/// is.
const MIN_CHANGE: f64 = 0.05;

/// Which part of the latencies changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Middle,
    /// The 99th percentile.
    Late,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Step,
    /// Little by little, over the whole run.
    Drift,
}

/// Latencies are not the same before and after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    pub part: Part,
    pub kind: ChangeKind,
    /// From this activation on they are otherwise; of a drift, the middle of it.
    pub activation: u64,
    /// The figure before, ns, to 1 %; of a drift, that of the run's first quarter.
    pub before_ns: i64,
    /// The figure after, ns, to 1 %; of a drift, that of the run's last quarter.
    pub after_ns: i64,
    /// The probability that chance alone does that.
    pub chance: f64,
}

/// What changed over these blocks.
pub(crate) fn changes(blocks: &Blocks) -> Vec<Change> {
    [(Part::Middle, Level::P50), (Part::Late, Level::P99)]
        .into_iter()
        .filter_map(|(part, level)| change(blocks, part, level))
        .collect()
}

/// A quantile of these blocks together: the upper bound of its bucket.
fn quantile(blocks: &[Block], level: Level) -> Option<i64> {
    blocks.iter().fold(Block::default(), |all, block| all.join(block)).counts.quantile(level)
}

#[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
fn change(blocks: &Blocks, part: Part, level: Level) -> Option<Change> {
    let list = blocks.list();
    // The last block may be short, and few latencies say little.
    let full = &list[..list.len().saturating_sub(1)];
    if full.len() < MIN_BLOCKS {
        return None;
    }
    let limit = quantile(full, level)?;
    let shares: Vec<f64> = full
        .iter()
        .map(|block| block.counts.above(limit) as f64 / block.counts.total().max(1) as f64)
        .collect();
    let count = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / count;
    let variance = long_run_variance(&shares);
    if variance <= 0.0 {
        return None;
    }
    let mut sum = 0.0;
    let cumulated: Vec<f64> = shares
        .iter()
        .map(|share| {
            sum += share - mean;
            sum
        })
        .collect();
    let (place, largest) =
        cumulated.iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let chance = 2.0 * kolmogorov_at_least(largest.abs() / (variance * count).sqrt());
    if chance >= CHANCE {
        return None;
    }
    let at = place + 1;
    let kind = if is_drift(&shares, at) { ChangeKind::Drift } else { ChangeKind::Step };
    let (first, last) = match kind {
        ChangeKind::Step => (&full[..at], &full[at..]),
        ChangeKind::Drift => (&full[..full.len() / 4], &full[full.len() - full.len() / 4..]),
    };
    let (before_ns, after_ns) = (quantile(first, level)?, quantile(last, level)?);
    let min = before_ns.min(after_ns).max(1) as f64;
    if ((before_ns - after_ns).abs() as f64) < MIN_CHANGE * min {
        return None;
    }
    Some(Change {
        part,
        kind,
        activation: at as u64 * blocks.rows_per_block(),
        before_ns,
        after_ns,
        chance,
    })
}

/// The variance of a mean of blocks times their number: from differences between blocks one, two
/// and four apart, and between sums of neighbours, whichever gives most, because blocks near one
/// another may be alike; a step in the middle counts in few differences.
#[expect(clippy::cast_precision_loss, reason = "hundreds")]
fn long_run_variance(shares: &[f64]) -> f64 {
    let apart = |distance: usize| {
        let differences =
            shares.windows(distance + 1).map(|some| (some[distance] - some[0]).powi(2));
        differences.sum::<f64>() / (2 * (shares.len() - distance)) as f64
    };
    // Sums of neighbours vary more than neighbours do where these are alike; the more neighbours,
    // the longer that may last.
    let of_sums = |neighbours: usize| {
        let sums: Vec<f64> =
            shares.chunks_exact(neighbours).map(|some| some.iter().sum()).collect();
        let differences = sums.windows(2).map(|pair| (pair[1] - pair[0]).powi(2));
        differences.sum::<f64>() / (2 * (sums.len() - 1) * neighbours) as f64
    };
    let neighbours = (1..)
        .map(|power| 1 << power)
        .take_while(|neighbours| shares.len() / neighbours >= MIN_SUMS);
    neighbours.map(of_sums).chain([apart(1), apart(2), apart(4)]).fold(0.0, f64::max)
}

/// Whether a straight line explains the shares better than a step does.
#[expect(clippy::cast_precision_loss, reason = "hundreds")]
fn is_drift(shares: &[f64], at: usize) -> bool {
    let mean = |some: &[f64]| some.iter().sum::<f64>() / some.len().max(1) as f64;
    let around = |some: &[f64]| {
        let mean = mean(some);
        some.iter().map(|share| (share - mean).powi(2)).sum::<f64>()
    };
    let step = around(&shares[..at]) + around(&shares[at..]);
    let middle = (shares.len() as f64 - 1.0) / 2.0;
    let over: f64 = shares.iter().enumerate().map(|(i, share)| (i as f64 - middle) * share).sum();
    let squares: f64 = (0..shares.len()).map(|i| (i as f64 - middle).powi(2)).sum();
    around(shares) - over * over / squares < step
}
