// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that are repeats of one another, with what a comparison needs of them.

use crate::{Analysis, Block, Histogram, Level, Moments};

/// Of so many of the largest it is counted which group they are of. A thread keeps one more, which
/// shows whether one that is left out is as large.
pub(crate) const LARGEST: usize = 20;

/// Those of [`Level::ALL`], ns; none where they are not known, or latencies are too few.
pub type Quantiles = [Option<i64>; Level::ALL.len()];

/// What a comparison needs of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The run in blocks, skipped activations counted in; empty where there are no samples.
    pub blocks: Vec<Block>,
    /// Its quantiles, skipped activations counted in.
    pub quantiles: Quantiles,
    /// Where there are no samples, its latencies in buckets.
    pub histogram: Option<Box<Histogram>>,
    /// Its largest latency, ns, skipped activations counted in.
    pub max: Option<i64>,
    /// Its largest latencies one by one, ns, skipped activations counted in, worst first.
    pub largest: Vec<i64>,
    /// Sums of the run in blocks; empty where it is not asked how much values vary.
    pub sums: Vec<Moments>,
}

impl From<&Analysis> for Measured {
    fn from(analysis: &Analysis) -> Self {
        let summary = analysis.statistics.latency_with_skipped;
        let known = summary.map_or([None; Level::ALL.len()], |summary| {
            let mut quantiles = summary.quantiles();
            for (quantile, level) in quantiles.iter_mut().zip(Level::ALL) {
                *quantile = quantile.filter(|_| summary.count >= level.needs());
            }
            quantiles
        });
        let measured = analysis.largest.iter().map(|worst| worst.latency_ns);
        let mut largest: Vec<i64> = measured.chain(analysis.skipped.iter().copied()).collect();
        largest.sort_unstable_by(|a, b| b.cmp(a));
        largest.truncate(LARGEST + 1);
        let blocks = analysis.blocks.list().to_vec();
        let (histogram, _) = analysis.statistics.of_all_due();
        Measured {
            histogram: blocks.is_empty().then(|| Box::new(histogram.clone())),
            blocks,
            quantiles: known,
            max: summary.map(|summary| summary.max),
            largest,
            sums: analysis.sums.clone(),
        }
    }
}

/// Runs that are repeats of one another.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// By run, and within it by thread.
    pub runs: Vec<Vec<Measured>>,
    /// Quantiles of several runs of one thread together, skipped activations counted in; none where
    /// they are not known exactly.
    pub quantiles: Option<Quantiles>,
}

impl Group {
    /// Whether its quantiles are latencies that were observed: those of one thread of one run are;
    /// of several, they are up to 1 % above, unless they are known.
    pub fn has_observed_quantiles(&self) -> bool {
        self.quantiles.is_some() || matches!(self.runs.as_slice(), [threads] if threads.len() == 1)
    }

    /// Where there are no samples, the latencies of all threads in buckets; none where that is not
    /// known of each.
    pub(crate) fn histogram(&self) -> Option<Histogram> {
        let mut all = Histogram::default();
        for thread in self.threads() {
            all.merge(thread.histogram.as_ref().filter(|known| known.total() > 0)?);
        }
        Some(all)
    }

    pub(crate) fn threads(&self) -> impl Iterator<Item = &Measured> {
        self.runs.iter().flatten()
    }

    /// The largest latency, ns.
    pub(crate) fn max(&self) -> Option<i64> {
        self.threads().filter_map(|thread| thread.max).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AfterOverrun, Bucket, ExactRequest, Span, analyse, compare};

    fn of_run(rows: &[Span<'_>]) -> Group {
        let Ok(analysis) =
            analyse(rows, 1_000_000, AfterOverrun::Skip, 2, &ExactRequest::default());
        Group { runs: vec![vec![Measured::from(&analysis)]], quantiles: None }
    }

    /// One wake-up of 30.5 ms has skipped 30, which waited 29.5 ms and less. All of them are
    /// later than any of the other run, which had 19 of the 20 largest.
    #[test]
    fn skipped_activations_are_among_the_largest() {
        let usual = [10_000; 1_000];
        let skipping =
            of_run(&[Span::Woken(&[30_500_000]), Span::Missing(30), Span::Woken(&usual)]);
        let late = of_run(&[Span::Woken(&[200_000; 40]), Span::Woken(&usual)]);
        assert_eq!(skipping.runs[0][0].largest.len(), LARGEST + 1);
        assert_eq!(compare(&skipping, &late).maximum.largest, (20, 0));
    }

    /// The values of one thread are latencies, and their ratio was outside its own interval, which
    /// is of the middles of buckets.
    #[test]
    fn the_ratio_of_both_values_is_in_its_interval() {
        let of_run = |latency| of_run(&[Span::Woken(&[latency; 20_000])]);
        let median = compare(&of_run(10_000), &of_run(10_040)).quantiles[0];
        assert_eq!((median.base_ns, median.other_ns), (Some(10_000), Some(10_040)));
        assert_eq!(median.ratio, Ok((1.0, 1.004)));
    }

    /// Of histograms of several threads there was none.
    #[test]
    fn quantiles_of_several_histograms_are_known() {
        let of_thread = |upper: i64| {
            let buckets = [Bucket { lower: upper, upper, count: 150 }];
            Measured::from(&Analysis::from_histogram(&buckets, 1_000_000, &ExactRequest::default()))
        };
        let group = Group {
            runs: vec![vec![of_thread(2_000), of_thread(9_000)], vec![of_thread(3_000)]],
            quantiles: None,
        };
        let shown = compare(&group, &group).quantiles.map(|quantile| quantile.base_ns);
        assert_eq!(shown, [Some(3_007), Some(9_000), Some(9_000), None, None]);
    }
}
