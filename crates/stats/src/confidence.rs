// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a maximum may claim.

/// The highest rate of activations beyond the observed maximum that `samples` without one leave credible at `confidence`
/// (0 to 1): the one-sided exact binomial bound for 0 of n, `1 - (1 - confidence)^(1/n)`, about 3/n at 95 %.
///
/// It holds for independent samples of an unchanging system; latencies are neither for certain, so a report says so.
/// Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
/// Biometrika 26 (1934), 404-413.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a rate to two digits")]
pub fn rate_beyond_maximum(samples: u64, confidence: f64) -> Option<f64> {
    (samples > 0).then(|| -f64::exp_m1(f64::ln_1p(-confidence) / samples as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_of_three() {
        assert_eq!(rate_beyond_maximum(0, 0.95), None);
        assert!((rate_beyond_maximum(1, 0.95).unwrap() - 0.95).abs() < 1e-12);
        // 1 - 0.05^(1/100) = 0.0295130; scipy.stats.beta.ppf(0.95, 1, 100) gives the same.
        assert!((rate_beyond_maximum(100, 0.95).unwrap() - 0.029_513_0).abs() < 1e-7);
        assert!((rate_beyond_maximum(1_000_000, 0.95).unwrap() * 1e6 - 2.995_7).abs() < 1e-3);
    }
}
