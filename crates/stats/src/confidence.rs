// SPDX-License-Identifier: MIT OR Apache-2.0
//! Confidence bounds on the rate of latencies above an observed maximum.

/// The highest rate of activations beyond the observed maximum that `samples` without one leave
/// credible at `confidence` (0 to 1): the one-sided exact binomial bound for 0 of n, `1 - (1 -
/// confidence)^(1/n)`, about 3/n at 95 %.
///
/// It holds for independent samples of an unchanging system; latencies are neither for certain, so
/// a report says so. Source: Clopper and Pearson, "The use of confidence or fiducial limits
/// illustrated in the case of the binomial", Biometrika 26 (1934), 404-413.
#[expect(clippy::cast_precision_loss, reason = "a rate to two digits")]
pub fn rate_beyond_maximum(samples: u64, confidence: f64) -> Option<f64> {
    (samples > 0).then(|| -f64::exp_m1(f64::ln_1p(-confidence) / samples as f64))
}

/// The fewest samples of which none is beyond a limit that show, at `confidence`, a rate beyond it
/// below `rate` (both 0 to 1, neither included): the least n with `(1 - rate)^n <= 1 - confidence`,
/// the inverse of [`rate_beyond_maximum`]. Saturating.
pub fn samples_for_rate(rate: f64, confidence: f64) -> u64 {
    let exact = f64::ln_1p(-confidence) / f64::ln_1p(-rate);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive number, saturating"
    )]
    let samples = exact.ceil() as u64;
    samples.max(1)
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

    #[test]
    fn the_length_of_a_run_is_the_inverse() {
        // scipy.stats: the least n with binom.cdf(0, n, p) <= 0.05.
        assert_eq!(
            (
                samples_for_rate(1e-3, 0.95),
                samples_for_rate(0.5, 0.95),
                samples_for_rate(0.99, 0.5)
            ),
            (2_995, 5, 1)
        );
        for rate in [1e-9, 1e-6, 1e-3, 0.1] {
            for confidence in [0.5, 0.95, 0.999] {
                let samples = samples_for_rate(rate, confidence);
                assert!(
                    rate_beyond_maximum(samples, confidence).unwrap() <= rate * (1.0 + 1e-9),
                    "{rate} {confidence}"
                );
                assert!(
                    samples == 1
                        || rate_beyond_maximum(samples - 1, confidence).unwrap()
                            > rate * (1.0 - 1e-9),
                    "{rate} {confidence}"
                );
            }
        }
        assert_eq!(samples_for_rate(f64::MIN_POSITIVE, 0.95), u64::MAX);
    }
}
