// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probability distributions that this crate uses.

use statrs::function::beta::beta_reg;
use statrs::function::erf::{erf_inv, erfc};
use statrs::function::gamma::gamma_lr;

/// The standard normal distribution: the probability of at most `z`.
pub(crate) fn normal_at_most(z: f64) -> f64 {
    erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

/// What a standard normal number exceeds with the probability `1 - level`.
pub(crate) fn normal_quantile(level: f64) -> f64 {
    std::f64::consts::SQRT_2 * erf_inv(2.0 * level - 1.0)
}

/// What Student's t with so many degrees of freedom exceeds with the probability `1 - level`;
/// `level` is above one half.
pub(crate) fn student_quantile(level: f64, freedom: f64) -> f64 {
    let beyond = |t: f64| beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t)) / 2.0;
    bisect(0.0, 1e3, |t| beyond(t) < 1.0 - level)
}

/// Above this many trials an approximation is better than the exact sum, which takes long and
/// rounds.
const MANY: f64 = 1_000.0;

/// Below this many successes that approximation is off by more than 0.001.
const FEW: f64 = 50.0;

/// The probability of at most `k` successes in `n` trials of probability `p`; `k` and `n` need not
/// be whole, between whole numbers it is the incomplete beta function.
///
/// For many trials by the approximation of Peizer and Pratt, "A normal approximation for binomial,
/// F, beta, and other common, related tail probabilities", JASA 63 (1968) 1416-1456.
pub(crate) fn at_most(k: f64, n: f64, p: f64) -> f64 {
    if k < 0.0 {
        return 0.0;
    }
    if k >= n || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    if n <= MANY {
        return beta_reg(n - k, k + 1.0, 1.0 - p);
    }
    if p > 0.5 {
        return 1.0 - at_most(n - k - 1.0, n, 1.0 - p);
    }
    if k < FEW && p < 0.01 {
        // Few successes among many trials: Poisson's limit, continued between whole numbers.
        return 1.0 - gamma_lr(k + 1.0, n * p);
    }
    let (yes, no) = (k + 0.5, n - k - 0.5);
    if no <= 0.0 {
        return 1.0;
    }
    let distance = k + 2.0 / 3.0 - (n + 1.0 / 3.0) * p;
    let deviance = yes * (yes / (n * p)).ln() + no * (no / (n * (1.0 - p))).ln();
    let off = yes - n * p;
    let scale = if off.abs() < 1e-6 * yes.max(1.0) {
        1.0 / (n * p * (1.0 - p)).sqrt()
    } else {
        (2.0 * deviance.max(0.0) / (1.0 + 1.0 / (6.0 * n))).sqrt() / off.abs()
    };
    normal_at_most(distance * scale)
}

/// The probability of at least `k` events where `mean` are expected, of a count whose variance is
/// `dispersion` times that of Poisson's.
pub(crate) fn poisson_at_least(k: f64, mean: f64, dispersion: f64) -> f64 {
    if k <= 0.0 {
        return 1.0;
    }
    if mean <= 0.0 {
        return 0.0;
    }
    gamma_lr(k / dispersion, mean / dispersion)
}

/// The probability that Kolmogorov's statistic, the largest distance times the root of the number,
/// is at least `x`.
pub(crate) fn kolmogorov_at_least(x: f64) -> f64 {
    if x < 0.3 {
        return 1.0;
    }
    let term = |k: i32| {
        let k = f64::from(k);
        let sign = if k.rem_euclid(2.0) == 1.0 { 2.0 } else { -2.0 };
        sign * (-2.0 * k * k * x * x).exp()
    };
    (1..=20).map(term).sum::<f64>().clamp(0.0, 1.0)
}

/// Where `holds` begins to hold between `low`, where it does not, and `high`, where it does.
pub(crate) fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
    }

    // Expected values: scipy.stats 1.17 (norm, t, binom, beta, poisson, kstwobign).
    #[test]
    fn as_scipy_has_them() {
        near(normal_at_most(-1.959_963_985), 0.025, 1e-9);
        near(normal_quantile(0.975), 1.959_963_985, 1e-8);
        near(student_quantile(0.975, 7.0), 2.364_624_252, 1e-7);
        near(student_quantile(0.975, 63.0), 1.998_340_543, 1e-7);
        near(kolmogorov_at_least(1.358_099), 0.05, 1e-6);
        near(poisson_at_least(5.0, 1.0, 1.0), 0.003_659_847, 1e-8);
    }

    #[test]
    fn binomial_tails() {
        // binom.cdf
        near(at_most(3.0, 20.0, 0.1), 0.867_046_7, 1e-6);
        near(at_most(0.0, 1e6, 1e-6), 0.367_879_3, 1e-6);
        near(at_most(1.0, 1e6, 1e-6), 0.735_759_1, 1e-3);
        near(at_most(5.0, 1e6, 1e-5), 0.067_085_0, 1e-3);
        near(at_most(480.0, 1e5, 5e-3), 0.191_453_1, 1e-4);
        near(at_most(500_500.0, 1e6, 0.5), 0.841_586_6, 1e-5);
        near(at_most(500_000.0, 1e6, 0.5), 0.500_398_9, 1e-5);
        near(at_most(999_985.0, 1e6, 0.999_99), 0.083_457_4, 1e-3);
        assert_eq!((at_most(-0.5, 10.0, 0.3), at_most(10.0, 10.0, 0.3)), (0.0, 1.0));
    }

    #[test]
    fn both_ways_agree_where_they_meet() {
        for p in [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999] {
            for share in [0.3, 0.8, 1.0, 1.2, 2.0] {
                let k = (share * p * MANY).min(MANY - 2.0);
                near(at_most(k, MANY + 0.001, p), at_most(k, MANY, p), 2e-3);
            }
        }
    }
}
