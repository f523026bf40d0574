// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fitted tails as the exceedance chart draws them: beyond what was seen, with their band.

use crate::overview::Overview;
use crate::sections::inference::Inference;
use serde::Serialize;

/// The tail of a recording, of all its threads together.
#[derive(Debug, Default, Serialize)]
pub(crate) struct FittedTail {
    /// Ascending.
    pub(crate) latency_ns: Vec<i64>,
    /// Share of latencies beyond each.
    pub(crate) share: Vec<f64>,
    /// Its 95 % band.
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
}

const POINTS: u32 = 40;
/// The curve goes on to what one in ten such recordings would show.
const BEYOND: f64 = 0.1;

impl FittedTail {
    /// None where a thread's tail is not continued: then that of all together is not either.
    pub(crate) fn from_overview(overview: &Overview<'_>) -> Option<FittedTail> {
        let fits: Vec<_> = overview
            .inferences
            .iter()
            .map(|inference: &Inference| inference.tail.as_ref().ok())
            .collect::<Option<_>>()?;
        let counts: Vec<u64> =
            overview.recorded.threads.iter().map(|thread| thread.moments.count()).collect();
        if fits.is_empty() || fits.len() != counts.len() {
            return None;
        }
        let all = counts.iter().sum::<u64>() as f64;
        let weights: Vec<f64> = counts.iter().map(|count| *count as f64 / all).collect();
        let at = |ns: f64| {
            let shares = fits.iter().zip(&weights).map(|(fit, weight)| {
                fit.share_above(ns)
                    .map(|(share, lower, upper)| [share * weight, lower * weight, upper * weight])
            });
            shares
                .collect::<Option<Vec<_>>>()
                .map(|all| all.iter().fold([0.0; 3], |sum, one| [0, 1, 2].map(|i| sum[i] + one[i])))
        };
        let from = fits.iter().map(|fit| fit.threshold_ns).max()? as f64;
        // To where the curve has fallen far enough; a tail that ends falls at once.
        let enough = |ns: f64| at(ns).is_none_or(|[share, ..]| share < BEYOND / all);
        // From a latency that is not above 0 it goes on in equal steps, on a linear axis.
        let grows = from > 0.0;
        let farther = |step| {
            if grows { from.max(1.0) * 1.02_f64.powi(step) } else { from + 1.05_f64.powi(step) }
        };
        let to = (1..400).map(farther).find(|ns| enough(*ns))?;
        let mut tail = FittedTail::default();
        for point in 0..=POINTS {
            let along = f64::from(point) / f64::from(POINTS);
            let ns = if grows {
                from.max(1.0) * (to / from.max(1.0)).powf(along)
            } else {
                from + (to - from) * along
            };
            let Some([share, lower, upper]) = at(ns).filter(|[share, ..]| *share > 0.0) else {
                continue;
            };
            tail.latency_ns.push(crate::format::rounded(ns));
            tail.share.push(four_digits(share));
            tail.lower.push(four_digits(lower));
            tail.upper.push(four_digits(upper));
        }
        (tail.share.len() > 1).then_some(tail)
    }
}

/// As many digits as a picture shows; more need room in a page.
fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
