// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a tail is not extrapolated, with the evidence.

use super::goodness::Apart;
use crate::Change;

/// Why a tail is not extrapolated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// Only how often each latency occurred is known, not when.
    OrderUnknown,
    /// These are of several runs, whose largest latencies have no order in time.
    Pooled,
    /// Too few latencies, whatever the tail.
    TooFew { latencies: u64 },
    /// Too few late wake-ups that are independent of one another.
    TooFewClusters {
        /// Clusters of late wake-ups above the lowest threshold.
        clusters: usize,
    },
    /// Where there are enough of them, late wake-ups come one after the other: clusters fill too
    /// much of the run to be separated.
    Crowded {
        /// Share of the run that clusters fill, above the highest threshold with enough of them.
        share: f64,
    },
    /// All of the tail has the same latency.
    AllEqual,
    /// The largest are outliers.
    Apart(Apart),
    /// Latencies are not the same over the run.
    Changed(Change),
    /// No threshold gives a tail of the form that all ordinary tails take.
    BadFit {
        /// The best of them, as often as chance makes it this bad.
        chance: f64,
    },
    /// Late wake-ups come more often in one part of the run.
    Uneven {
        /// Share of them in the first half of the run.
        first_half: f64,
        /// The probability that chance alone does that.
        chance: f64,
    },
    /// Late wake-ups are later in one half of the run.
    Drifting {
        /// The median of the clusters' largest in the first half, ns.
        first_ns: i64,
        second_ns: i64,
        /// The probability that chance alone does that.
        chance: f64,
    },
    /// A tail so heavy that it has no mean.
    TooHeavy {
        /// The shape's upper end.
        shape: f64,
    },
    Disagree {
        /// The level once a run of the length of ten, ns, by peaks over threshold.
        peaks: (f64, f64),
        /// The same by block maxima.
        blocks: (f64, f64),
    },
}
