// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a tail is not continued, with the evidence, in words.

use super::goodness::Apart;
use super::tail::{LEAST_CLUSTERS, LEAST_LATENCIES};
use crate::{Change, ChangeKind, Part};
use std::fmt;

/// Why a tail is not continued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// Too few latencies, or too few of them in the tail.
    TooFew {
        /// Latencies there are.
        latencies: u64,
        /// Clusters in the tail.
        clusters: usize,
    },
    /// All of the tail has the same latency.
    AllEqual,
    /// The largest lie apart from the rest.
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
        /// In the second.
        second_ns: i64,
        /// The probability that chance alone does that.
        chance: f64,
    },
    /// A tail so heavy that it has no mean.
    TooHeavy {
        /// The shape's upper end.
        shape: f64,
    },
    /// Block maxima say something else.
    Disagree {
        /// The level once a run of the length of ten, ns, by peaks over threshold.
        peaks: (f64, f64),
        /// The same by block maxima.
        blocks: (f64, f64),
    },
}

/// A latency in µs, to three digits.
fn micros(ns: f64) -> String {
    let micros = ns / 1_000.0;
    if micros >= 100.0 { format!("{micros:.0} µs") } else { format!("{micros:.1} µs") }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

impl fmt::Display for Refusal {
    #[expect(clippy::cast_precision_loss, reason = "shown to three digits")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooFew { latencies, clusters } => write!(
                f,
                "{clusters} late wake-ups that are independent, of {latencies}, do not show how a tail goes on: it takes {LEAST_CLUSTERS} of {LEAST_LATENCIES}"
            ),
            Refusal::AllEqual => {
                write!(f, "all late wake-ups are equally late: that is a limit of the clock or the machine, and no tail")
            }
            Refusal::Apart(Apart { count, least, next, chance }) => {
                let which = if *count == 1 {
                    "the largest latency lies".to_owned()
                } else {
                    format!("the {count} largest latencies lie")
                };
                write!(
                    f,
                    "{which} apart, at {} and beyond, with nothing between {} and that: a tail as of the others has such a gap by chance in {} of all runs. It has a cause of its own, and how often and how large that comes is not to be seen from the others",
                    micros(*least),
                    micros(*next),
                    rarity(*chance)
                )
            }
            Refusal::Changed(Change { part, kind, activation, before_ns, after_ns, chance }) => {
                let which = match part {
                    Part::Middle => "the median",
                    Part::Late => "the 99th percentile",
                };
                let how = match kind {
                    ChangeKind::Step => format!("from activation {activation} on"),
                    ChangeKind::Drift => "little by little".to_owned(),
                };
                let (before, after) = (micros(*before_ns as f64), micros(*after_ns as f64));
                write!(
                    f,
                    "latencies are not the same over the run: {which} goes from {before} to {after} {how} (by chance in {} of all runs)",
                    rarity(*chance)
                )
            }
            Refusal::BadFit { chance } => {
                write!(
                    f,
                    "at no threshold does the tail have the form that a continued tail would need: the best fit is this bad by chance in {} of all runs",
                    rarity(*chance)
                )
            }
            Refusal::Uneven { first_half, chance } => write!(
                f,
                "late wake-ups do not come evenly over the run: {} of them in its first half (by chance in {} of all runs)",
                percent(*first_half),
                rarity(*chance)
            ),
            Refusal::Drifting { first_ns, second_ns, chance } => write!(
                f,
                "late wake-ups do not stay as late as they are: {} in the first half of the run, {} in the second, in the median (by chance in {} of all runs)",
                micros(*first_ns as f64),
                micros(*second_ns as f64),
                rarity(*chance)
            ),
            Refusal::TooHeavy { shape } => {
                write!(f, "the tail may be so heavy (shape up to {shape:.2}) that it has no mean: nothing bounds what comes")
            }
            Refusal::Disagree { peaks, blocks } => write!(
                f,
                "two ways of continuing it disagree: for a run ten times as long peaks over the threshold give {} to {}, maxima of blocks {} to {}",
                micros(peaks.0),
                micros(peaks.1),
                micros(blocks.0),
                micros(blocks.1)
            ),
        }
    }
}

/// A probability, as people write one.
fn rarity(chance: f64) -> String {
    if chance >= 1e-3 { format!("{:.2} %", chance * 100.0) } else { "less than 0.1 %".to_owned() }
}
