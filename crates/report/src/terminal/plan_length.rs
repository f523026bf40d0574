// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a run must be to establish a rate, in words, with what that assumes.

use crate::format;
use crate::language::{Language, in_language, texts, tr};
use crate::terminal::text;
use plan::Nanos;

/// What `teiji plan-length` answers: so many activations, none of them beyond the limit, establish
/// this rate at this confidence.
pub struct PlanLength {
    /// Activations of all threads together.
    pub samples: u64,
    /// Above 0 and below 1.
    pub rate: f64,
    pub confidence: f64,
    /// Time between two activations of a thread.
    pub interval: Nanos,
    /// How many measure in parallel.
    pub threads: u32,
    /// How long that takes; none: longer than can be counted in ns.
    pub duration: Option<Nanos>,
}

impl PlanLength {
    pub fn text(&self, language: Language) -> String {
        in_language(language, || {
            let percent = format!("{:.4}", self.confidence * 100.0);
            let percent = percent.trim_end_matches('0').trim_end_matches('.');
            let rate = tr!(
                activations_without_exceedance_establish,
                activations = format::counted(self.samples, texts::n_activations),
                percent,
                one_in = format::rounded_count(1.0 / self.rate)
            );
            let time = self.duration.map_or_else(|| tr!(longer_than_292_years), format::span);
            let lasting = if self.threads == 1 {
                tr!(interval_time, interval = self.interval, time)
            } else {
                tr!(
                    interval_on_threads_time,
                    interval = self.interval,
                    threads = self.threads,
                    time
                )
            };
            let mut out = String::new();
            for text in [&rate, &lasting, texts::latencies_come_in_bursts.said()] {
                text::wrapped(&mut out, "", text);
            }
            out
        })
    }
}
