// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that are repeats of one another, with what a comparison needs of them.

use crate::extreme::Latest;
use crate::{Analysis, Block, Level, Moments};

/// How many of the latest wake-ups each thread keeps.
const MAXIMA: usize = 64;

/// What a comparison needs of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The run in blocks, skipped activations counted in.
    pub blocks: Vec<Block>,
    /// Its quantiles ([`Level::ALL`]), ns, skipped activations counted in; none where nothing
    /// woke, or where they are not known.
    pub quantiles: Option<[i64; Level::ALL.len()]>,
    pub latest: Latest,
    /// Time from one activation to the next, ns.
    pub interval_ns: i64,
    /// Sums of the run in blocks; empty where it is not asked how much values vary.
    pub sums: Vec<Moments>,
}

impl From<&Analysis> for Measured {
    fn from(analysis: &Analysis) -> Self {
        let summary = analysis.statistics.latency_with_skipped;
        Measured {
            blocks: analysis.blocks.list().to_vec(),
            quantiles: summary.and_then(|summary| match summary.quantiles() {
                [Some(p50), Some(p90), Some(p99), Some(p999), Some(p9999)] => {
                    Some([p50, p90, p99, p999, p9999])
                }
                _ => None,
            }),
            latest: analysis.latest(MAXIMA),
            interval_ns: analysis.interval_ns(),
            sums: analysis.sums.clone(),
        }
    }
}

/// Runs that are repeats of one another.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// By run, and within it by thread.
    pub runs: Vec<Vec<Measured>>,
    /// Quantiles ([`Level::ALL`]) of several runs of one thread together, ns, skipped activations
    /// counted in; none where they are not known exactly.
    pub quantiles: Option<[i64; Level::ALL.len()]>,
}

impl Group {
    /// Whether its quantiles are latencies that were observed: those of one thread of one run are;
    /// of several, they are up to 1 % above, unless they are known.
    pub fn has_observed_quantiles(&self) -> bool {
        self.quantiles.is_some() || matches!(self.runs.as_slice(), [threads] if threads.len() == 1)
    }
}
