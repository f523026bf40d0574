// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generalised extreme value distribution: the largest value of a long block.
//!
//! P(maximum <= x) = exp(-(1 + shape (x - location) / scale)^(-1 / shape)). Source: Coles, "An
//! introduction to statistical modeling of extreme values", Springer 2001, chapter 3.

use super::gpd::{GIVEN_AWAY, Gpd, MAX_SHAPE, MIN_SHAPE};
use crate::minimise::simplex;

/// A fitted distribution of maxima.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gev {
    /// As of the excesses beyond a threshold.
    pub shape: f64,
    /// In the unit of the maxima.
    pub location: f64,
    /// In the unit of the maxima.
    pub scale: f64,
}

impl Gev {
    /// Log-likelihood of these maxima; minus infinity where one is impossible.
    pub(crate) fn log_likelihood(&self, maxima: &[f64]) -> f64 {
        if self.scale <= 0.0 || !(MIN_SHAPE..=MAX_SHAPE).contains(&self.shape) {
            return f64::NEG_INFINITY;
        }
        let one = Gpd { shape: self.shape, scale: self.scale };
        let log = |x: f64| {
            let exponential = one.exponential(x - self.location);
            -self.scale.ln() - (1.0 + self.shape) * exponential - (-exponential).exp()
        };
        let sum: f64 = maxima.iter().map(|x| log(*x)).sum();
        if sum.is_nan() { f64::NEG_INFINITY } else { sum }
    }

    /// The likeliest distribution of these maxima; none where they are all equal.
    pub fn fit(maxima: &[f64]) -> Option<Gev> {
        #[expect(clippy::cast_precision_loss, reason = "hundreds")]
        let count = maxima.len() as f64;
        let mean = maxima.iter().sum::<f64>() / count;
        let sd = (maxima.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        if sd.is_nan() || sd <= 0.0 {
            return None;
        }
        // In units of the standard deviation, so that the steps are the same for any data. Begun
        // from Gumbel's moments.
        let scaled: Vec<f64> = maxima.iter().map(|x| (x - mean) / sd).collect();
        let of = |[shape, location, ln_scale]: &[f64; 3]| Gev {
            shape: *shape,
            location: *location,
            scale: ln_scale.exp(),
        };
        let badness = |place: &[f64; 3]| -of(place).log_likelihood(&scaled);
        let begin = |shape: f64| simplex([shape, -0.45, -0.25], [0.1, 0.2, 0.2], badness);
        let (first, _) =
            [-0.1, 0.1, 0.5].map(begin).into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        // Once more from there: a simplex may have collapsed before the valley's floor.
        let (place, value) = simplex(first, [0.05, 0.05, 0.05], badness);
        let found = of(&place);
        value.is_finite().then_some(Gev {
            shape: found.shape,
            location: mean + sd * found.location,
            scale: sd * found.scale,
        })
    }

    /// The level that the maxima of so many blocks exceed once on average.
    pub fn level(&self, blocks: f64) -> f64 {
        self.location + Gpd { shape: self.shape, scale: self.scale }.excess_at(blocks.ln())
    }

    /// The 95 % interval of [`Gev::level`] by profile likelihood; no upper end where the data give
    /// none.
    pub(crate) fn level_interval(&self, maxima: &[f64], blocks: f64) -> (f64, Option<f64>) {
        let estimate = self.level(blocks);
        let enough = self.log_likelihood(maxima) - GIVEN_AWAY;
        // Shape and location hardly depend on one another, and the scale follows from the level.
        let profile = |level: f64| {
            let of = |[shape, location]: &[f64; 2]| {
                let location = self.location + self.scale * location;
                let scale =
                    (level - location) / Gpd { shape: *shape, scale: 1.0 }.excess_at(blocks.ln());
                Gev { shape: *shape, location, scale }
            };
            -simplex([self.shape, 0.0], [0.1, 0.1], |place| -of(place).log_likelihood(maxima)).1
        };
        let holds = |level: f64| profile(level) >= enough;
        let edge = |mut inside: f64, mut outside: f64| {
            for _ in 0..17 {
                let middle = f64::midpoint(inside, outside);
                if holds(middle) { inside = middle } else { outside = middle }
            }
            inside
        };
        let beyond = |direction: f64| {
            let far = |n: i32| estimate + direction * self.scale * 0.25 * 1.6_f64.powi(n);
            (0..24).map(far).find(|level| !holds(*level))
        };
        (
            beyond(-1.0).map_or(f64::NEG_INFINITY, |out| edge(estimate, out)),
            beyond(1.0).map(|out| edge(estimate, out)),
        )
    }
}
