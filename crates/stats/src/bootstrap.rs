// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a bootstrap draws: blocks of runs, again and again.

use crate::blocks::{Merge, halved};
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
        blocks = halved(&blocks);
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

/// What was drawn lies between these but for this share of it.
pub(crate) fn interval_of(drawn: impl Iterator<Item = f64>, error: f64) -> (f64, f64) {
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
