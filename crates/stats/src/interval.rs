// SPDX-License-Identifier: MIT OR Apache-2.0
//! Confidence intervals of quantiles and rates: they hold for any distribution, and for latencies
//! that depend on one another over time.
//!
//! The number of latencies below the true quantile is binomial, whatever the distribution; so two
//! ranks enclose it with a known probability (H. A. David, H. N. Nagaraja, "Order Statistics",
//! Wiley 2003, 7.1). Between whole ranks the incomplete beta function goes on, and so does the
//! interval (A. D. Hutson, "Calculating nonparametric confidence intervals for quantiles using
//! fractional order statistics", Journal of Applied Statistics 26 (1999) 343-353).
//!
//! Latencies that depend on their neighbours carry less information than as many independent ones.
//! How much less is seen from how the number of latencies beyond a value varies between blocks of
//! the run (batch means; W. G. Cochran, "Sampling Techniques", Wiley 1977, chapter 9, calls the
//! ratio the design effect): the intervals are those of that many fewer.

use crate::blocks::{Block, Blocks};
use crate::chance::{at_most, bisect, normal_quantile, student_quantile};
use crate::distribution::Counted;
use crate::{Between, Level};

/// How much less information dependent latencies carry than independent ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dependence {
    /// How many latencies are worth one independent latency; may be less than 1.
    pub(crate) factor: f64,
    /// The same if the blocks it was estimated from were independent, as a bootstrap takes them.
    of_blocks: f64,
    /// Degrees of freedom of that estimate.
    pub(crate) freedom: f64,
    /// Whether it has phases that last longer than a sixteenth of the run, so that there are too
    /// few of them to say what the next run would have.
    pub(crate) lasts: bool,
}

/// Latencies are worth at most this many times as many independent ones.
const MIN_FACTOR: f64 = 0.25;

/// Minimum number of blocks to estimate the variation between them.
const MIN_BLOCKS: usize = 16;

/// Where neighbours are alike however many are joined, at least so many parts of the runs are
/// compared.
const MIN_PARTS: usize = 4;

/// How many times as much the number of latencies has to vary in longer blocks than in short ones.
const MIN_MORE: f64 = 1.5;

/// From so many runs on, what differs from run to run is seen.
pub(crate) const MIN_RUNS: usize = 5;

/// How many times a correlation is the one that is significant at 95 %, to be significant at 99 %.
const SURELY: f64 = 1.414;

/// A rate has phases where it varies over time by this share of itself (standard deviation).
const MIN_PHASES: f64 = 0.2;

/// Whether neighbouring blocks of a run are more alike than chance alone makes them, by how far
/// each lies off what is expected of it.
pub(crate) fn is_correlated(offsets: &[f64]) -> bool {
    are_correlated(&[offsets.to_vec()])
}

/// The same of several runs, whose blocks are no neighbours.
fn are_correlated(runs: &[Vec<f64>]) -> bool {
    correlation(runs) > uncertainty(runs)
}

/// Neighbours in these runs.
#[expect(clippy::cast_precision_loss, reason = "thousands")]
fn pairs<T>(runs: &[Vec<T>]) -> f64 {
    runs.iter().map(|run| run.len().saturating_sub(1)).sum::<usize>() as f64
}

/// How many times as much a sum varies as independent terms would make it, whose neighbours have
/// this correlation: that of a first-order series.
pub(crate) fn inflation(correlation: f64) -> f64 {
    let left = correlation.clamp(0.0, 0.95);
    (1.0 + left) / (1.0 - left)
}

/// Of neighbours; 0 where nothing varies, or there are none.
#[expect(clippy::cast_precision_loss, reason = "thousands")]
pub(crate) fn correlation(runs: &[Vec<f64>]) -> f64 {
    let squares: f64 = runs.iter().flatten().map(|offset| offset * offset).sum();
    let products: f64 =
        runs.iter().flat_map(|run| run.windows(2)).map(|pair| pair[0] * pair[1]).sum();
    let blocks = runs.iter().map(Vec::len).sum::<usize>() as f64;
    if squares > 0.0 && pairs(runs) > 0.0 {
        products / squares * ((blocks - 1.0) / pairs(runs))
    } else {
        0.0
    }
}

/// As far, at 95 %, is a correlation of so many neighbours from the true one; runs without
/// neighbours have none.
fn uncertainty<T>(runs: &[Vec<T>]) -> f64 {
    if pairs(runs) > 0.0 { 1.645 / (pairs(runs) + 1.0).sqrt() } else { 0.0 }
}

impl Dependence {
    const NONE: Dependence =
        Dependence { factor: 1.0, of_blocks: 1.0, freedom: f64::INFINITY, lasts: false };

    /// From blocks of equal length, by run: of each how many latencies it has, and how many of them
    /// are beyond the value in question. Blocks of a run are joined until neighbours are not
    /// seen to be correlated. What correlation is left is counted in; where blocks are too few
    /// to show it, as much as they let it be, and where it lasts longer than the longest blocks, by
    /// how much parts of the runs vary. Runs are independent of one another.
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    pub(crate) fn between(runs: &[Vec<(u64, u64)>]) -> Dependence {
        let counts = |run: &Vec<(u64, u64)>| {
            run.iter().map(|(all, beyond)| (*all as f64, *beyond as f64)).collect()
        };
        let mut runs: Vec<Vec<(f64, f64)>> = runs.iter().map(counts).collect();
        let sum = |blocks: &[(f64, f64)]| {
            blocks.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let (all, beyond) = sum(&runs.concat());
        let share = beyond / all;
        if !(share > 0.0 && share < 1.0) {
            return Dependence::NONE;
        }
        let count = |runs: &[Vec<(f64, f64)>]| runs.iter().map(Vec::len).sum::<usize>();
        if count(&runs) < 2 {
            return Dependence { factor: f64::INFINITY, ..Dependence::NONE };
        }
        let few = count(&runs) < 2 * MIN_BLOCKS;
        let offsets_of = |run: &Vec<(f64, f64)>| {
            run.iter().map(|(all, beyond)| beyond - share * all).collect::<Vec<f64>>()
        };
        let offsets = |runs: &[Vec<(f64, f64)>]| runs.iter().map(offsets_of).collect::<Vec<_>>();
        // A run of one block stays as it is.
        let joined = |runs: &[Vec<(f64, f64)>]| {
            runs.iter().map(|run| run.len().min(1).max(run.len() / 2)).sum::<usize>()
        };
        let squares = |off: &[Vec<f64>]| off.iter().flatten().map(|one| one * one).sum::<f64>();
        let by_chance = all * share * (1.0 - share);
        let of_blocks = (squares(&offsets(&runs)) / by_chance).max(MIN_FACTOR);
        let mut lengths = vec![(offsets(&runs), count(&runs))];
        while pairs(&runs) > 0.0 && joined(&runs) >= MIN_BLOCKS {
            runs = runs.iter().map(|run| run.chunks(2).map(sum).collect()).collect();
            lengths.push((offsets(&runs), count(&runs)));
        }
        let last = lengths.len() - 1;
        let is_correlated = |length: usize| are_correlated(&lengths[length].0);
        let varies = |length: usize| squares(&lengths[length].0);
        let mut length = (0..last).find(|length| !is_correlated(*length)).unwrap_or(last);
        // Of few latencies phases show only in long blocks, which then vary more as well.
        if let Some(longer) = (length + 1..=last)
            .rfind(|longer| is_correlated(*longer) && varies(*longer) > MIN_MORE * varies(length))
        {
            length = last.min(longer + 1);
        }
        let (off, count) = &lengths[length];
        let count = *count as f64;
        let variance = squares(off) * count / (count - 1.0);
        let left = correlation(off) + if few { uncertainty(off) } else { 0.0 };
        let factor = (variance / by_chance * inflation(left)).max(MIN_FACTOR);
        // Where few latencies are beyond, their number in a block is far from normal and its
        // variance less certain.
        let rarity = count / (beyond.min(all - beyond));
        let freedom = ((count - 1.0) * 2.0 / (2.0 + rarity)).max(1.0);
        if length < last || !is_correlated(last) {
            return Dependence { factor, of_blocks, freedom, lasts: false };
        }
        // What lasts longer than the longest blocks shows in parts of the runs.
        let parts = MIN_PARTS.div_ceil(runs.len());
        let part = |run: &Vec<(f64, f64)>| {
            run.chunks(run.len().div_ceil(parts).max(1)).map(sum).collect::<Vec<_>>()
        };
        let off_of_parts = offsets(&runs.iter().map(part).collect::<Vec<_>>());
        let count_of_parts = off_of_parts.iter().map(Vec::len).sum::<usize>() as f64;
        let of_parts = squares(&off_of_parts) * count_of_parts / (count_of_parts - 1.0) / by_chance;
        let by_phases = (variance / by_chance - 1.0) * (1.0 - share) * count / beyond;
        Dependence {
            factor: factor.max(of_parts),
            of_blocks,
            freedom: freedom.min(count_of_parts - 1.0),
            lasts: by_phases > MIN_PHASES * MIN_PHASES
                && runs.len() < MIN_RUNS
                && correlation(off) > SURELY * uncertainty(off),
        }
    }

    /// Counts in what more latencies, of which these are such a share, show of phases: how much
    /// more their number varies over long times than blocks drawn one by one make it vary. Of fewer
    /// latencies that is less, beside what chance alone makes of their number.
    pub(crate) fn with_phases_of(self, more: &Dependence, share: f64) -> Dependence {
        let factor = self.of_blocks + (more.factor - more.of_blocks).max(0.0) * share;
        let lasts = self.lasts || more.lasts;
        if factor > self.factor {
            Dependence { factor, freedom: self.freedom.min(more.freedom), lasts, ..self }
        } else {
            Dependence { lasts, ..self }
        }
    }

    /// How many times as much the number of latencies beyond the value varies as blocks drawn one
    /// by one make it vary; at least as much.
    pub(crate) fn inflation(&self) -> f64 {
        (self.factor / self.of_blocks).max(1.0)
    }

    /// How many of these latencies are independent, rounded up; at most all.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most as many as there are"
    )]
    pub(crate) fn among(&self, count: u64) -> u64 {
        (count as f64 / self.factor.max(1.0)).ceil() as u64
    }

    /// The effective number of independent latencies, with the uncertainty of that counted in at a
    /// confidence (of one side).
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    pub(crate) fn effective(&self, count: u64, confidence: f64) -> f64 {
        let wider = if self.freedom.is_finite() {
            student_quantile(confidence, self.freedom) / normal_quantile(confidence)
        } else {
            1.0
        };
        (count as f64 / (self.factor * wider * wider)).max(1.0)
    }
}

/// So many latencies beyond a value show how dependent they are.
pub(crate) const ENOUGH_BEYOND: u64 = 20;

/// A quantile with its confidence interval, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileInterval {
    pub level: Level,
    /// The quantile of what was seen.
    pub observed: i64,
    /// Between what that lies, where a bucket of a histogram does not say which it is.
    pub between: Option<Between>,
    /// The true one is at least this; none where the data do not say.
    pub lower: Option<i64>,
    /// The true one is at most this; none where the data do not say.
    pub upper: Option<i64>,
    /// The effective number of independent latencies.
    pub effective: f64,
}

/// A rate of latencies above a limit, with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateInterval {
    /// How many were beyond it; where the limit lies within a bucket of the histogram, at most so
    /// many.
    pub beyond: u64,
    pub of: u64,
    /// The true rate is at least this.
    pub lower: f64,
    /// The true rate is at most this.
    pub upper: f64,
    /// The effective number of independent latencies.
    pub effective: f64,
}

/// What is known of latencies: how often each occurred, and in which blocks of the run.
pub(crate) struct Latencies<'a> {
    pub(crate) counted: &'a Counted,
    pub(crate) blocks: &'a Blocks,
}

impl Latencies<'_> {
    /// How dependent latencies are, as far as it shows in how many are beyond this value, ns.
    fn dependence(&self, value: i64) -> Dependence {
        let of = |run: &[Block]| {
            run.iter().map(|block| (block.counts.total(), block.counts.above(value))).collect()
        };
        Dependence::between(&self.blocks.runs().map(of).collect::<Vec<_>>())
    }

    /// A value that so many are beyond that it shows whether they come together: one of the
    /// largest, or the median of few.
    pub(crate) fn still_common(&self) -> Option<i64> {
        let count = self.counted.count();
        self.counted
            .at_rank(count.saturating_sub(ENOUGH_BEYOND).max(count / 2).max(1))
            .map(|(_, value)| value)
    }

    /// The interval of a quantile; `confidence` (above one half) is that of each of its two ends.
    pub(crate) fn quantile(&self, level: Level, confidence: f64) -> Option<QuantileInterval> {
        let count = self.counted.count();
        let (_, observed) = self.counted.at_rank(level.rank(count))?;
        let effective =
            self.dependence(observed.min(self.still_common()?)).effective(count, confidence);
        let share = level.share();
        // The real rank r of which P(Beta(r, n + 1 - r) <= share) is this.
        let rank = |probability: f64| {
            bisect(0.0, effective + 1.0, |rank| {
                at_most(rank - 1.0, effective, share) >= probability
            })
        };
        // As few independent ones do not reach further than their own smallest and largest, and may
        // not reach so far.
        let smallest_reaches = at_most(0.0, effective, share) <= 1.0 - confidence;
        #[expect(clippy::cast_precision_loss, reason = "a rank between ranks")]
        let of_all = |rank: f64| {
            (1.0..=effective)
                .contains(&rank)
                .then(|| rank / (effective + 1.0) * (count as f64 + 1.0))
        };
        Some(QuantileInterval {
            level,
            observed,
            between: None,
            // Where their largest is surely below the true one, there is no more.
            lower: of_all(rank(1.0 - confidence).min(effective))
                .filter(|_| smallest_reaches)
                .and_then(|rank| self.between_ranks(rank, |(low, _)| low)),
            upper: of_all(rank(confidence))
                .and_then(|rank| self.between_ranks(rank, |(_, high)| high)),
            effective,
        })
    }

    /// The value at a rank that need not be whole; none beyond the smallest and the largest.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "within the ranks"
    )]
    fn between_ranks(&self, rank: f64, end: impl Fn((i64, i64)) -> i64) -> Option<i64> {
        let count = self.counted.count();
        if rank < 1.0 || rank > count as f64 {
            return None;
        }
        let whole = rank.floor() as u64;
        let low = end(self.counted.at_rank(whole)?);
        let high = if whole < count { end(self.counted.at_rank(whole + 1)?) } else { low };
        Some(low + ((high - low) as f64 * (rank - rank.floor())).round() as i64)
    }
}

/// The largest probability with which `k` successes or fewer of `n` are not too rare: Clopper and
/// Pearson's upper limit.
pub(crate) fn upper_rate(k: f64, n: f64, confidence: f64) -> f64 {
    if k <= 0.0 {
        return -f64::exp_m1(f64::ln_1p(-confidence) / n);
    }
    if k >= n { 1.0 } else { along_rates(|rate| at_most(k, n, rate) <= 1.0 - confidence) }
}

pub(crate) fn lower_rate(k: f64, n: f64, confidence: f64) -> f64 {
    // Less than one, of latencies that depend on one another, may as well be none.
    if k < 1.0 { 0.0 } else { along_rates(|rate| at_most(k - 1.0, n, rate) <= confidence) }
}

/// Where it begins to hold, on a logarithmic scale: rates may be very small.
fn along_rates(holds: impl Fn(f64) -> bool) -> f64 {
    bisect(-50.0, 0.0, |ln_rate| holds(ln_rate.exp())).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_as_scipy_has_them() {
        // scipy.stats.beta.ppf(0.95, k + 1, n - k) and beta.ppf(0.05, k, n - k + 1)
        let near = |value: f64, expected: f64| {
            assert!((value / expected - 1.0).abs() < 2e-3, "{value} is not {expected}")
        };
        near(upper_rate(3.0, 100.0, 0.95), 0.075_710_8);
        near(lower_rate(3.0, 100.0, 0.95), 0.008_225_83);
        near(upper_rate(1.0, 1e6, 0.95), 4.743_855_6e-6);
        near(lower_rate(7.0, 1e9, 0.95), 3.285_315_7e-9);
        near(upper_rate(120.0, 1e5, 0.975), 1.434_737e-3);
        assert_eq!((lower_rate(0.0, 10.0, 0.95), upper_rate(10.0, 10.0, 0.95)), (0.0, 1.0));
        assert_eq!((lower_rate(0.8, 10.0, 0.95), lower_rate(0.8, 1e6, 0.95)), (0.0, 0.0));
    }
}
