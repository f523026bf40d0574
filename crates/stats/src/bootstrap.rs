// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a bootstrap draws: blocks of runs, again and again.

use crate::blocks::{Merge, joined};
use crate::chance::{normal_quantile, student_quantile};
use crate::random::Numbers;
use std::ops::Range;

pub(crate) const DRAWS: usize = 2_000;
/// Minimum number of blocks to draw from.
pub(crate) const MIN_BLOCKS: usize = 16;

/// Joins neighbours as long as they are alike: what is drawn is to be independent.
pub(crate) fn independent<B: Merge>(
    mut blocks: Vec<B>,
    are_alike: impl Fn(&[B]) -> bool,
) -> Vec<B> {
    while blocks.len() / 2 >= MIN_BLOCKS && are_alike(&blocks) {
        blocks = joined(&blocks, 2);
    }
    blocks
}

/// Where the blocks of each run are among those of all.
pub(crate) fn places<T>(runs: &[Vec<T>]) -> Vec<Range<usize>> {
    let place = |next: &mut usize, run: &Vec<T>| {
        let begin = std::mem::replace(next, *next + run.len());
        Some(begin..*next)
    };
    runs.iter().scan(0, place).collect()
}

/// Draws as many blocks as there are, or so many runs and of each its number of blocks, and hands
/// over the place of each.
pub(crate) fn draw(
    numbers: &mut Numbers,
    runs: &[Range<usize>],
    between_runs: bool,
    mut take: impl FnMut(usize),
) {
    if !between_runs {
        let all = runs.last().map_or(0, |run| run.end);
        return (0..all).for_each(|_| take(numbers.below(all)));
    }
    for _ in runs {
        let run = &runs[numbers.below(runs.len())];
        run.clone().for_each(|_| take(run.start + numbers.below(run.len())));
    }
}

/// A figure of a group as it varies in what was drawn.
pub(crate) struct Drawn {
    /// Of all blocks, each once.
    pub(crate) observed: f64,
    /// Of what was drawn, time after time.
    pub(crate) figures: Vec<f64>,
    /// How many times that variance the figure has, where neighbouring blocks are still alike.
    pub(crate) inflation: f64,
    /// Degrees of freedom of that variance.
    pub(crate) freedom: f64,
}

impl Drawn {
    /// Another group's figure divided by this one: it lies between these, but for this probability.
    ///
    /// Draws from few blocks vary less than the runs would, and by how much is itself uncertain. So
    /// the interval is widened about the ratio, on a logarithmic scale, as that of a mean would be
    /// (B. L. Welch, "The generalization of Student's problem when several different population
    /// variances are involved", Biometrika 34 (1947) 28-35).
    pub(crate) fn ratio(&self, other: &Drawn, error: f64) -> (f64, f64) {
        let ratios = self.figures.iter().zip(&other.figures).map(|(base, other)| other / base);
        let (lower, upper) = interval_of(ratios, error);
        let middle = other.observed / self.observed;
        let stretch = self.stretch(other, error);
        let stretched = |end: f64| middle * (end / middle).powf(stretch);
        (stretched(lower.min(middle)), stretched(upper.max(middle)))
    }

    fn stretch(&self, other: &Drawn, error: f64) -> f64 {
        let (first, second) = (self.variance(), other.variance());
        let all = first + second;
        if all <= 0.0 {
            return 1.0;
        }
        let freedom = all * all / (first * first / self.freedom + second * second / other.freedom);
        let level = 1.0 - error / 2.0;
        let inflated = (self.inflation * first + other.inflation * second) / all;
        let uncertain = if freedom.is_finite() {
            student_quantile(level, freedom) / normal_quantile(level)
        } else {
            1.0
        };
        uncertain * inflated.sqrt()
    }

    /// Of the logarithm.
    #[expect(clippy::cast_precision_loss, reason = "DRAWS")]
    fn variance(&self) -> f64 {
        let logs = || self.figures.iter().map(|figure| figure.ln());
        let count = self.figures.len() as f64;
        let mean = logs().sum::<f64>() / count;
        logs().map(|log| (log - mean).powi(2)).sum::<f64>() / count
    }
}

/// What was drawn lies between these but for this share of it.
fn interval_of(drawn: impl Iterator<Item = f64>, error: f64) -> (f64, f64) {
    let mut drawn: Vec<f64> = drawn.collect();
    drawn.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "below DRAWS"
    )]
    let beyond = (error / 2.0 * DRAWS as f64) as usize;
    (drawn[beyond], drawn[DRAWS - 1 - beyond])
}
