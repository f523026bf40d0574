// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a fitted tail fits: Anderson and Darling's statistic, and whether the very largest
//! values belong to it at all.

use super::gpd::{Excesses, Gpd};

/// Upper quantiles of the statistic for a fit with shape and scale unknown, by shape: simulated by
/// `truth/anderson_darling.py`. The shapes' rows, each with the values that are exceeded in 25, 10,
/// 5, 1 and 0.1 % of all samples of the fitted distribution.
const BY_SHAPE: [(f64, [f64; 5]); 8] = [
    (-0.4, [0.646, 0.919, 1.144, 1.666, 2.525]),
    (-0.2, [0.601, 0.848, 1.036, 1.509, 2.279]),
    (0.0, [0.563, 0.789, 0.970, 1.419, 2.050]),
    (0.2, [0.534, 0.742, 0.904, 1.303, 1.890]),
    (0.4, [0.509, 0.697, 0.847, 1.211, 1.688]),
    (0.6, [0.493, 0.674, 0.814, 1.155, 1.646]),
    (0.8, [0.479, 0.651, 0.785, 1.105, 1.590]),
    (1.0, [0.468, 0.633, 0.756, 1.064, 1.555]),
];
const LEVELS: [f64; 5] = [0.25, 0.10, 0.05, 0.01, 0.001];

/// Anderson and Darling's statistic of a fit to these excesses: how far it lies off, the tails
/// weighing most. Source: T. W. Anderson, D. A. Darling, "A test of goodness of fit", JASA 49
/// (1954) 765-769.
#[expect(clippy::cast_precision_loss, reason = "thousands")]
pub(crate) fn anderson_darling(gpd: &Gpd, excesses: &[f64]) -> f64 {
    let mut ordered: Vec<f64> = excesses.iter().map(|y| gpd.exponential(*y).max(1e-12)).collect();
    ordered.sort_by(f64::total_cmp);
    let n = ordered.len() as f64;
    let ends = ordered.iter().zip(ordered.iter().rev());
    let sum: f64 = ends
        .zip(0..)
        .map(|((low, high), i)| f64::from(2 * i + 1) * ((-(-low).exp_m1()).ln() - high))
        .sum();
    -n - sum / n
}

/// The p-value of the statistic, interpolated between 0.25 and 0.001.
pub(crate) fn chance_of(statistic: f64, shape: f64) -> f64 {
    let shape = shape.clamp(BY_SHAPE[0].0, BY_SHAPE[BY_SHAPE.len() - 1].0);
    let after =
        BY_SHAPE.iter().position(|(of, _)| shape <= *of).unwrap_or(BY_SHAPE.len() - 1).max(1);
    let ((low, at_low), (high, at_high)) = (BY_SHAPE[after - 1], BY_SHAPE[after]);
    let share = (shape - low) / (high - low);
    let values: Vec<f64> = at_low.iter().zip(&at_high).map(|(a, b)| a + share * (b - a)).collect();
    if statistic <= values[0] {
        return LEVELS[0];
    }
    for (values, levels) in values.windows(2).zip(LEVELS.windows(2)) {
        if statistic <= values[1] {
            let share = (statistic - values[0]) / (values[1] - values[0]);
            return (levels[0].ln() + share * (levels[1] / levels[0]).ln()).exp();
        }
    }
    LEVELS[LEVELS.len() - 1]
}

/// Outliers: values separated from all others by a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    pub count: usize,
    /// The smallest of them.
    pub min: f64,
    /// The largest of the others.
    pub next: f64,
    /// The probability that the tail which the others form has such a wide gap at that place.
    pub chance: f64,
}

/// With this many values or fewer, the next one cannot be judged an outlier.
const MIN_VALUES: usize = 40;
/// A gap is looked for among this many of the largest.
const MAX_APART: usize = 25;

/// Whether the largest of these values (largest first) are outliers of the tail that the others
/// form: beyond a gap that such a tail would show, anywhere among the largest, in less than one of
/// 1,000 series.
///
/// Of a generalised Pareto tail, the spacing below the j-th largest value is exponential with mean
/// 1/j on the scale that makes the tail exponential (A. Renyi, "On the theory of order statistics",
/// Acta Mathematica Hungarica 4 (1953) 191-231). The tail is fitted to the values below the gap
/// alone, those above being known to lie beyond it and no more.
pub fn apart(largest: &[f64]) -> Option<Apart> {
    if largest.len() < MIN_VALUES {
        return None;
    }
    let places = MAX_APART.min(largest.len() / 4);
    let base = largest[largest.len() - 1];
    // Three gaps at most are worth a fit: the widest for what lies below them.
    let width = |j: usize| (largest[j - 1] - base) / (largest[j] - base).max(f64::MIN_POSITIVE);
    let mut gaps: Vec<usize> = (1..=places).filter(|j| largest[*j - 1] > largest[*j]).collect();
    gaps.sort_by(|a, b| width(*b).total_cmp(&width(*a)));
    gaps.truncate(3);
    #[expect(clippy::cast_precision_loss, reason = "dozens")]
    let chance = |j: usize| {
        let mut gpd = fit_censored(&largest[j..], base, j)?;
        // As heavy as the tail may well be, and never one that ends: a gap must be out of the
        // question, not just unlikely.
        gpd.shape = gpd.shape.max(0.0)
            + 1.645 * (1.0 + gpd.shape.max(0.0)) / ((largest.len() - j) as f64).sqrt();
        let spacing = gpd.exponential(largest[j - 1] - base) - gpd.exponential(largest[j] - base);
        Some((-(j as f64) * spacing).exp() * places as f64)
    };
    let found =
        gaps.into_iter().filter_map(|j| Some((j, chance(j)?))).filter(|(_, chance)| *chance < 1e-3);
    let (count, chance) = found.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Apart { count, min: largest[count - 1], next: largest[count], chance })
}

/// The likeliest tail above `base` of these values, beyond the first of which lie `beyond` more.
fn fit_censored(values: &[f64], base: f64, beyond: usize) -> Option<Gpd> {
    let excesses: Vec<f64> = values.iter().map(|x| x - base).collect();
    let top = *excesses.first()?;
    if top <= 0.0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "dozens")]
    let beyond = beyond as f64;
    let begin = Excesses::from_values(&excesses)?.fit();
    let badness = |[shape, ln_scale]: &[f64; 2]| {
        let gpd = Gpd { shape: *shape, scale: ln_scale.exp() };
        if !(-0.5..=2.0).contains(shape) {
            return f64::INFINITY;
        }
        beyond * gpd.exponential(top) - gpd.log_likelihood(&excesses)
    };
    let start = [begin.shape.max(0.0), begin.scale.ln()];
    let ([shape, ln_scale], value) = crate::minimise::simplex(start, [0.1, 0.2], badness);
    value.is_finite().then(|| Gpd { shape, scale: ln_scale.exp() })
}
