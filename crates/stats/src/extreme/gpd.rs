// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generalised Pareto distribution: how far values go beyond a high threshold.
//!
//! P(excess > y) = (1 + shape y / scale)^(-1 / shape), and e^(-y / scale) at shape 0. Sources:
//! Pickands, "Statistical inference using extreme order statistics", Annals of Statistics 3 (1975)
//! 119-131; Coles, "An introduction to statistical modeling of extreme values", Springer 2001,
//! chapter 4.

use crate::minimise::along;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Below this the likelihood has no maximum of the usual kind, and nothing that rests on it holds
/// (Smith, "Maximum likelihood estimation in a class of nonregular cases", Biometrika 72 (1985)
/// 67-90).
pub(crate) const MIN_SHAPE: f64 = -0.5;
/// Beyond this a distribution has no mean.
pub(crate) const MAX_SHAPE: f64 = 1.0;
/// Half the 95 % quantile of chi-squared with one degree of freedom: how much log-likelihood an
/// interval gives away.
pub(crate) const GIVEN_AWAY: f64 = 1.920_729_410_347_062;

/// A fitted distribution of excesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpd {
    /// Above 0 a heavy tail, 0 an exponential one, below 0 one that ends.
    pub shape: f64,
    /// In the unit of the excesses.
    pub scale: f64,
}

/// `ln(1 + x) / x`, also at 0.
fn log_ratio(x: f64) -> f64 {
    if x.abs() < 1e-5 { 1.0 - x / 2.0 + x * x / 3.0 } else { x.ln_1p() / x }
}

impl Gpd {
    /// `(1 / shape) ln(1 + shape y / scale)`: an excess on the scale on which it is exponential;
    /// infinite beyond the end.
    pub(crate) fn exponential(&self, excess: f64) -> f64 {
        let bent = self.shape * excess / self.scale;
        if bent <= -1.0 { f64::INFINITY } else { excess / self.scale * log_ratio(bent) }
    }

    /// The probability of an excess beyond this.
    pub fn beyond(&self, excess: f64) -> f64 {
        (-self.exponential(excess)).exp()
    }

    /// The excess that has so many e-fold of rarity: the inverse of [`Gpd::exponential`].
    pub(crate) fn excess_at(&self, exponential: f64) -> f64 {
        let bent = self.shape * exponential;
        let stretched = if bent.abs() < 1e-9 { 1.0 } else { bent.exp_m1() / bent };
        self.scale * exponential * stretched
    }

    /// Log-likelihood of these excesses; minus infinity where one lies beyond the end.
    pub(crate) fn log_likelihood(&self, excesses: &[f64]) -> f64 {
        if self.scale <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let bent: f64 = excesses.iter().map(|y| self.exponential(*y)).sum();
        #[expect(clippy::cast_precision_loss, reason = "thousands")]
        let count = excesses.len() as f64;
        if bent.is_finite() {
            -count * self.scale.ln() - (1.0 + self.shape) * bent
        } else {
            f64::NEG_INFINITY
        }
    }
}

/// Excesses beyond a threshold, prepared for being fitted more than once.
///
/// Whatever the shape and the scale, their likelihood needs of the excesses only `sum ln(1 + ratio
/// y) / ratio` with `ratio = shape / scale` (Grimshaw, "Computing maximum likelihood estimates for
/// the generalized Pareto distribution", Technometrics 35 (1993) 185-191). That sum is taken at
/// steps of the ratio as they are needed, and interpolated between them.
pub struct Excesses<'a> {
    values: &'a [f64],
    largest: f64,
    count: f64,
    /// By step of `t`, where `1 + ratio x largest` is e^t: the logarithm of the sum.
    sums: RefCell<BTreeMap<i32, f64>>,
}

/// Steps of `t` to a unit: log-likelihoods of 4,096 excesses are then right to 0.001.
const STEPS_OF_SUM: f64 = 16.0;

impl<'a> Excesses<'a> {
    /// All at least 0, and some above; none where they are all 0.
    pub(crate) fn from_values(values: &'a [f64]) -> Option<Self> {
        let largest = values.iter().copied().fold(0.0, f64::max);
        #[expect(clippy::cast_precision_loss, reason = "thousands")]
        let count = values.len() as f64;
        (largest > 0.0).then(|| Excesses { values, largest, count, sums: RefCell::default() })
    }

    /// The logarithm of the sum at one step.
    fn sum_at(&self, step: i32) -> f64 {
        *self.sums.borrow_mut().entry(step).or_insert_with(|| {
            let ratio = (f64::from(step) / STEPS_OF_SUM).exp_m1() / self.largest;
            self.values.iter().map(|y| y * log_ratio(ratio * y)).sum::<f64>().ln()
        })
    }

    /// The sum at `t`: by the cubic through four steps.
    #[expect(clippy::cast_possible_truncation, reason = "a few hundred steps at most")]
    fn sum(&self, t: f64) -> f64 {
        let place = t * STEPS_OF_SUM;
        let step = place.floor() as i32;
        let x = place - f64::from(step);
        if x == 0.0 {
            return self.sum_at(step).exp();
        }
        let [a, b, c, d] = [-1, 0, 1, 2].map(|off| self.sum_at(step + off));
        let cubic = -a * x * (x - 1.0) * (x - 2.0) / 6.0
            + b * (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0
            - c * (x + 1.0) * x * (x - 2.0) / 2.0
            + d * (x + 1.0) * x * (x - 1.0) / 6.0;
        cubic.exp()
    }

    /// As [`Gpd::log_likelihood`], at once.
    fn log_likelihood(&self, gpd: &Gpd) -> f64 {
        let end = gpd.shape / gpd.scale * self.largest;
        if gpd.scale <= 0.0 || end <= -1.0 {
            return f64::NEG_INFINITY;
        }
        -self.count * gpd.scale.ln() - (1.0 + gpd.shape) * self.sum(end.ln_1p()) / gpd.scale
    }

    /// The likeliest distribution, with a shape of at least -0.5: below, the likelihood has no
    /// maximum of the usual kind (Smith, "Maximum likelihood estimation in a class of
    /// nonregular cases", Biometrika 72 (1985) 67-90).
    pub fn fit(&self) -> Gpd {
        // For a ratio, the likeliest shape and scale are known; the log-likelihood is then -n (ln
        // scale + shape + 1).
        let of = |t: f64| {
            let scale = self.sum(t) / self.count;
            Gpd { shape: t.exp_m1() / self.largest * scale, scale }
        };
        let badness = |t: f64| {
            let gpd = of(t);
            if gpd.shape < MIN_SHAPE { f64::INFINITY } else { gpd.scale.ln() + gpd.shape }
        };
        let (t, value) = along(-9.0, 16.0, 51, badness);
        // The best of all may lie on the rim of what is allowed.
        let rim = self.with_shape(MIN_SHAPE);
        let free = if value.is_finite() { of(t) } else { rim };
        if self.log_likelihood(&free) >= self.log_likelihood(&rim) { free } else { rim }
    }

    /// The likeliest scale for a shape.
    fn with_shape(&self, shape: f64) -> Gpd {
        let min = if shape < 0.0 { -shape * self.largest * 1.000_1 } else { self.largest * 1e-6 };
        let badness = |ln_scale: f64| -self.log_likelihood(&Gpd { shape, scale: ln_scale.exp() });
        let (ln_scale, _) = along(min.ln(), (self.largest * 10.0).max(min * 2.0).ln(), 24, badness);
        Gpd { shape, scale: ln_scale.exp() }
    }

    /// The distributions that these excesses allow at 95 %; see [`Region`]. As many of them as
    /// `independent` (a share) are independent, and they carry as much information.
    pub fn region(&self, best: &Gpd, independent: f64) -> Region {
        let enough = self.log_likelihood(best) - GIVEN_AWAY / independent;
        let holds = |gpd: &Gpd| self.log_likelihood(gpd) >= enough;
        let rim = |outside: f64| {
            if holds(&self.with_shape(outside)) {
                outside
            } else {
                boundary(best.shape, outside, |shape| holds(&self.with_shape(shape)))
            }
        };
        let (from, to) = (rim(MIN_SHAPE), rim(MAX_SHAPE.max(best.shape)));
        let mut rims = vec![*best];
        for step in 0..=STEPS {
            // Closer together towards both ends, where the rim turns.
            let share =
                (1.0 - (std::f64::consts::PI * f64::from(step) / f64::from(STEPS)).cos()) / 2.0;
            let middle = self.with_shape(from + (to - from) * share);
            for factor in [0.2, 5.0] {
                let with = |scale: f64| Gpd { scale, ..middle };
                let scale =
                    boundary(middle.scale, middle.scale * factor, |scale| holds(&with(scale)));
                rims.push(with(scale));
            }
        }
        Region { rims, shape: (from, to) }
    }
}

/// Steps in shape along which the rim of a region is followed.
const STEPS: u32 = 24;

/// Where `holds` ends, between a place where it does and one where it does not.
fn boundary(mut inside: f64, mut outside: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..18 {
        let middle = f64::midpoint(inside, outside);
        if holds(middle) { inside = middle } else { outside = middle }
    }
    inside
}

/// All distributions whose likelihood is so close to the best that 95 % profile-likelihood
/// intervals contain them: the interval of any figure is its range over the region, and that is
/// found on the region's rim. Source: Coles, 2.6.6.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// The best one, and the rim.
    rims: Vec<Gpd>,
    /// The interval of the shape; its ends lie within -0.5 and 1.
    pub shape: (f64, f64),
}

impl Region {
    /// The 95 % interval of the excess of this rarity; no upper end where the tail may be as heavy
    /// as one without a mean.
    pub(crate) fn excess_at(&self, exponential: f64) -> (f64, Option<f64>) {
        let (lower, upper) = self.range(|gpd| gpd.excess_at(exponential));
        (lower, (self.shape.1 < MAX_SHAPE).then_some(upper))
    }

    /// The 95 % interval of the probability of an excess beyond this.
    pub fn beyond(&self, excess: f64) -> (f64, f64) {
        self.range(|gpd| gpd.beyond(excess))
    }

    /// The 95 % interval of the scale.
    pub fn scale(&self) -> (f64, f64) {
        self.range(|gpd| gpd.scale)
    }

    fn range(&self, figure: impl Fn(&Gpd) -> f64) -> (f64, f64) {
        let wider = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        self.rims.iter().map(figure).fold((f64::INFINITY, f64::NEG_INFINITY), wider)
    }
}
