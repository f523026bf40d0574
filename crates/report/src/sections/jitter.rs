// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of probes that judge intervals: how much these vary, before how large any of them is.

use crate::format::{self, exact_micros, latency};
use crate::language::{tr, translated};
use crate::overview::Overview;
use model::Quantity;

/// Whether a recording is of intervals, whose first figure is how much they vary.
pub(crate) fn is_judged(overview: &Overview<'_>) -> bool {
    overview.recorded.document.probe.quantity != Quantity::Latency
}

/// The spread of the intervals of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// Standard deviation, ns; none of fewer than two, or where it is not known.
    pub(crate) sd_ns: Option<f64>,
    /// From the shortest interval to the longest, ns.
    pub(crate) peak_to_peak_ns: i64,
    pub(crate) min_ns: i64,
    pub(crate) max_ns: i64,
    /// The period that they are compared with, ns.
    period_ns: Option<i64>,
}

impl Spread {
    /// None where nothing was measured, or latencies were.
    pub(crate) fn from_overview(overview: &Overview<'_>) -> Option<Spread> {
        let measured = overview.measured();
        let (min_ns, max_ns) = measured.min().zip(measured.max()).filter(|_| is_judged(overview))?;
        let period_ns = overview.recorded.document.probe.period_ns.map(|period| period.0);
        Some(Spread { sd_ns: measured.sd(), peak_to_peak_ns: max_ns - min_ns, min_ns, max_ns, period_ns })
    }

    /// `378 ns`, the standard deviation.
    pub(crate) fn sd(&self) -> Option<String> {
        self.sd_ns.map(|sd| latency(format::rounded(sd)))
    }

    /// `standard deviation 0.378 µs, peak to peak 4.57 µs`.
    pub(crate) fn in_words(&self) -> String {
        let peak_to_peak = latency(self.peak_to_peak_ns);
        match self.sd() {
            Some(sd) => tr!("standard deviation {sd}, peak to peak {peak_to_peak}", sd, peak_to_peak),
            None => tr!("peak to peak {peak_to_peak}", peak_to_peak),
        }
    }

    /// How far the intervals reach on either side of their period.
    pub(crate) fn around(&self) -> Option<String> {
        let period = self.period_ns?;
        let signed = |ns: i64| if ns < 0 { format!("-{}", latency(-ns)) } else { format!("+{}", latency(ns)) };
        let (min, max) = (signed(self.min_ns), signed(self.max_ns));
        Some(tr!("from {min} to {max} around the period of {period} µs", min, max, period = exact_micros(period)))
    }
}

/// `Jitter: standard deviation 0.378 µs, peak to peak 4.57 µs, from -2.28 µs to +2.29 µs around the period of 976.562 µs.`
pub(crate) fn sentence(overview: &Overview<'_>) -> Option<String> {
    let spread = Spread::from_overview(overview)?;
    let figures: Vec<String> = [Some(spread.in_words()), spread.around()].into_iter().flatten().collect();
    Some(tr!("Jitter: {figures}.", figures = figures.join(translated(", "))))
}
