// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that are repeats of one another, with what a comparison needs of them.

use crate::{Analysis, Block, Level, Moments};

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
        Measured {
            blocks: analysis.blocks.list().to_vec(),
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
    use crate::{AfterOverrun, ExactRequest, Span, analyse, compare};

    /// One wake-up of 30.5 ms has skipped 30, which waited 29.5 ms and less. All of them are
    /// later than any of the other run, which had 19 of the 20 largest.
    #[test]
    fn skipped_activations_are_among_the_largest() {
        let of_run = |rows: &[Span<'_>]| {
            let request = ExactRequest::default();
            let Ok(analysis) = analyse(rows, 1_000_000, AfterOverrun::Skip, 2, &request);
            Group { runs: vec![vec![Measured::from(&analysis)]], quantiles: None }
        };
        let usual = [10_000; 1_000];
        let skipping =
            of_run(&[Span::Woken(&[30_500_000]), Span::Missing(30), Span::Woken(&usual)]);
        let late = of_run(&[Span::Woken(&[200_000; 40]), Span::Woken(&usual)]);
        assert_eq!(skipping.runs[0][0].largest.len(), LARGEST + 1);
        assert_eq!(compare(&skipping, &late).maximum.largest, (20, 0));
    }
}
