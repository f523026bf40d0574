// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a change helps, by blocks measured with and without it in turn.
//!
//! Four blocks in succession are a round: off, on, on, off, or on, off, off, on, whichever a coin
//! says. What changes steadily meanwhile is the same for both within a round. A change that does
//! nothing has the same blocks under either order, so each round's difference is as likely above 0
//! as below, whatever the latencies are distributed like and however blocks depend on one another.
//! That is all that Wilcoxon's signed rank test asks for (F. Wilcoxon, "Individual comparisons by
//! ranking methods", Biometrics Bulletin 1 (1945) 80-83); its confidence interval is Hodges' and
//! Lehmann's ("Estimates of location based on rank tests", Annals of Mathematical Statistics 34
//! (1963) 598-611). Both are exact for any number of rounds, and one round with a burst in it moves
//! neither far.

use crate::Level;
use crate::random::Numbers;

pub const BLOCKS_OF_ROUND: usize = 4;

/// In which blocks of each round the change is on.
#[derive(Clone, Debug)]
pub struct RoundOrder(Numbers);

impl RoundOrder {
    /// The same orders for the same seed.
    pub const fn new(seed: u64) -> RoundOrder {
        RoundOrder(Numbers::new(seed))
    }
}

impl Iterator for RoundOrder {
    type Item = [bool; BLOCKS_OF_ROUND];

    fn next(&mut self) -> Option<Self::Item> {
        Some(if self.0.below(2) == 0 {
            [false, true, true, false]
        } else {
            [true, false, false, true]
        })
    }
}

/// The judged figure of a round's blocks, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    pub off: [i64; 2],
    pub on: [i64; 2],
}

impl Round {
    /// The logarithm of on over off, each the geometric mean of its blocks.
    fn log_ratio(self) -> f64 {
        // A coarse clock may say 0.
        #[expect(clippy::cast_precision_loss, reason = "a ratio")]
        let log = |ns: i64| (ns.max(1) as f64).ln();
        let sum = |blocks: [i64; 2]| blocks.into_iter().map(log).sum::<f64>();
        (sum(self.on) - sum(self.off)) / 2.0
    }
}

/// What a change does, as far as the rounds show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The figure is lower with it.
    Helps,
    /// The figure is higher with it.
    Worse,
    Neither,
}

/// The effect of a change on a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Rounds that it is from.
    pub rounds: usize,
    pub ratio: f64,
    /// On over off is at least and at most this; none where the rounds are too few.
    pub interval: Option<(f64, f64)>,
}

impl Effect {
    /// From rounds; none without any. `error` is the probability that a change without effect is
    /// said to have one.
    pub fn from_rounds(rounds: &[Round], error: f64) -> Option<Effect> {
        let logs: Vec<f64> = rounds.iter().map(|round| round.log_ratio()).collect();
        let means = pair_means(&logs);
        let middle = median(&means)?;
        let beyond = ranks_beyond(rounds.len(), error);
        let interval = beyond.and_then(|beyond| {
            Some((means.get(beyond)?.exp(), means.get(means.len() - 1 - beyond)?.exp()))
        });
        Some(Effect { rounds: rounds.len(), ratio: middle.exp(), interval })
    }

    /// What the interval says.
    pub fn evidence(&self) -> Evidence {
        match self.interval {
            Some((_, upper)) if upper < 1.0 => Evidence::Helps,
            Some((lower, _)) if lower > 1.0 => Evidence::Worse,
            _ => Evidence::Neither,
        }
    }
}

/// The mean of each value with itself and each other one, ascending.
fn pair_means(values: &[f64]) -> Vec<f64> {
    let with_later = |(place, one): (usize, &f64)| {
        values[place..].iter().map(|other| f64::midpoint(*one, *other)).collect::<Vec<_>>()
    };
    let mut means: Vec<f64> = values.iter().enumerate().flat_map(with_later).collect();
    means.sort_by(f64::total_cmp);
    means
}

fn median(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]))
}

/// How many of the means lie beyond either end of the interval; none where the rounds are too few
/// for an end.
fn ranks_beyond(rounds: usize, error: f64) -> Option<usize> {
    // The probability of each sum of ranks, where each rank counts or not by a fair coin.
    let mut chances = vec![0.0; rounds * (rounds + 1) / 2 + 1];
    chances[0] = 1.0;
    for rank in 1..=rounds {
        for sum in (0..chances.len()).rev() {
            let with_it = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = f64::midpoint(chances[sum], with_it);
        }
    }
    let at_most = chances.iter().scan(0.0, |sum, chance| {
        *sum += chance;
        Some(*sum)
    });
    at_most.take_while(|at_most| *at_most <= error / 2.0).count().checked_sub(1)
}

/// So many rounds it takes before a change can be said to have an effect.
pub fn min_rounds(error: f64) -> usize {
    // All of them have to agree, at least.
    (1..MAX_MIN_ROUNDS)
        .find(|rounds| ranks_beyond(*rounds, error).is_some())
        .unwrap_or(MAX_MIN_ROUNDS)
}

/// Enough for an error below 10⁻⁸.
const MAX_MIN_ROUNDS: usize = 30;

/// A quantile is judged where so many latencies of a block lie beyond it.
const MIN_BEYOND: u64 = 10;

/// The highest quantile that a block of so many latencies has enough of; none where it has too few
/// for any.
pub fn judged_level(latencies: u64) -> Option<Level> {
    Level::ALL.into_iter().rev().find(|level| latencies >= latencies_for(*level))
}

/// So many latencies of a block a quantile takes.
pub const fn latencies_for(level: Level) -> u64 {
    level.needs() * MIN_BEYOND
}

#[cfg(test)]
#[path = "rounds_tests.rs"]
mod tests;
