// SPDX-License-Identifier: MIT OR Apache-2.0
//! One combination of a plan's factors, with all that was recorded of it: repeats as if they had been one run.

use super::published::{Circumstances, Published, PublishedRun};
use crate::format::count;
use crate::overview::{Overview, Quantile};
use plan::Limit;
use stats::{Activations, Bucket, Histogram, Moments, nearest_rank};
use std::sync::Arc;

/// Values that are shown where there is none.
pub(super) const NOTHING: &str = "–";

#[derive(Debug, Default)]
pub(super) struct Pooled {
    /// The values of the factors, in order; none where a combination does not say.
    pub(super) factors: Vec<Option<String>>,
    pub(super) runs: u32,
    pub(super) activations: Activations,
    pub(super) lost: u64,
    pub(super) histogram: Histogram,
    pub(super) moments: Moments,
    /// The maximum of each repeat, ns.
    pub(super) maxima: Vec<i64>,
    /// The interval of all threads of all repeats, ns, while they share one.
    pub(super) interval_ns: Option<i64>,
    /// The smallest and the largest CPU use that each load reached, percent, in the loads' order.
    pub(super) reached: Vec<(f64, f64)>,
    pub(super) missed: bool,
    /// What a reader must know before the figures, each once.
    pub(super) spoiled: Vec<String>,
    /// Those of the first repeat; the others differ in nothing that is asked for.
    circumstances: Option<Circumstances>,
}

impl Pooled {
    /// A combination of which nothing is recorded yet.
    pub(super) fn of(factors: Vec<Option<String>>) -> Self {
        Pooled { factors, ..Pooled::default() }
    }

    pub(super) fn add(&mut self, overview: &Overview<'_>) {
        let document = &overview.recorded.document;
        let interval_ns = overview.interval_ns();
        self.interval_ns = if self.runs == 0 { interval_ns } else { self.interval_ns.filter(|ours| Some(*ours) == interval_ns) };
        self.runs += 1;
        self.activations.merge(&overview.activations);
        self.lost += overview.lost;
        self.histogram.merge(&overview.histogram);
        self.moments.merge(&overview.moments);
        self.maxima.extend(overview.moments.max());
        for (place, reached) in document.load.iter().filter_map(|load| load.reached).enumerate() {
            match self.reached.get_mut(place) {
                Some((low, high)) => (*low, *high) = (low.min(reached.mean), high.max(reached.mean)),
                None => self.reached.push((reached.mean, reached.mean)),
            }
        }
        self.missed |= document.load_missed;
        let spoilers = [
            overview.no_real_time().map(|how| format!("measured with {how}")),
            overview.cut_short(),
            (overview.lost > 0).then(|| format!("lost {} samples", count(overview.lost))),
        ];
        for spoiler in spoilers.into_iter().flatten() {
            if !self.spoiled.contains(&spoiler) {
                self.spoiled.push(spoiler);
            }
        }
        if self.circumstances.is_none() {
            self.circumstances = Circumstances::of(overview);
        }
    }

    /// The values of these factors, as people name the combination.
    pub(super) fn name(&self, factors: &[usize]) -> String {
        let values: Vec<&str> = factors.iter().filter_map(|factor| self.factors[*factor].as_deref()).collect();
        if values.is_empty() { "all runs".to_owned() } else { values.join(", ") }
    }

    /// The smallest and the largest maximum of the repeats, ns.
    pub(super) fn spread(&self) -> Option<(i64, i64)> {
        Some((*self.maxima.iter().min()?, *self.maxima.iter().max()?))
    }

    /// Where a quantile lies, if there are enough samples to speak of it.
    fn bucket(&self, quantile: Quantile) -> Option<Bucket> {
        let samples = self.moments.count();
        if !quantile.is_carried_by(samples) {
            return None;
        }
        let rank = nearest_rank(samples, quantile.numerator, quantile.denominator);
        self.histogram.bucket_of_rank(rank).map(|(bucket, _)| bucket)
    }

    /// A quantile, ns: up to 1 % above the exact one.
    pub(super) fn quantile(&self, quantile: Quantile) -> Option<i64> {
        let bucket = self.bucket(quantile)?;
        self.moments.max().map(|max| bucket.upper.min(max))
    }

    /// Whether a figure is at or beyond its limit for sure; none: not enough samples to say.
    pub(super) fn is_beyond(&self, limit: &Limit) -> Option<bool> {
        let quantile = match limit.figure {
            plan::Figure::Mean => return self.moments.mean().map(|mean| mean >= limit.below.0 as f64),
            plan::Figure::Max => return self.moments.max().map(|max| max >= limit.below.0),
            plan::Figure::P50 => Quantile::P50,
            plan::Figure::P90 => Quantile::P90,
            plan::Figure::P99 => Quantile::P99,
            plan::Figure::P999 => Quantile::P999,
            plan::Figure::P9999 => Quantile::P9999,
        };
        // The exact quantile is nowhere below its bucket.
        self.bucket(quantile).map(|bucket| bucket.lower.max(self.moments.min().unwrap_or(i64::MIN)) >= limit.below.0)
    }

    /// What others have measured under the same circumstances.
    pub(super) fn beside(&self, published: &Published) -> Vec<Arc<PublishedRun>> {
        self.circumstances.as_ref().map_or_else(Vec::new, |circumstances| published.beside(circumstances))
    }
}
