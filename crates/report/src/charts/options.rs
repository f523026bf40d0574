// SPDX-License-Identifier: MIT OR Apache-2.0
//! How charts are drawn, where the reader says so: the same in SVG files and, until something else
//! is chosen there, on the page.

use crate::charts::bins::{Bins, FLOOR_NS};
use crate::charts::equal_bins::{self, EqualBins};
use crate::gate::LimitLine;
use crate::sections::columns::Measured;
use judge::{Criterion, Gate};
use plan::Limit;
use plan::Nanos;
use serde::Serialize;
use stats::Moments;

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisScale {
    Linear,
    /// By their order of magnitude.
    Log,
}

/// How high the steps of a histogram are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Heights {
    Counts,
    /// Their share of all activations of the recording.
    Shares,
}

/// What is drawn over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OverTime {
    /// From the smallest to the largest latency.
    #[default]
    Latency,
    /// From the smallest to the largest jitter.
    Jitter,
}

/// What a reader asked for; nothing is asked for by default.
#[derive(Clone, Debug, Default)]
pub struct ChartOptions {
    /// Latencies of the histogram. Logarithmic, unless they all lie close together or bins of
    /// equal width are asked for; linear, whatever is asked for, where any is not above 0.
    pub x: Option<AxisScale>,
    /// Counts of the histogram; logarithmic.
    pub y: Option<AxisScale>,
    /// Width of the histogram's bins; by the axis and the latencies.
    pub bin: Option<Nanos>,
    /// Shares where the recordings differ in their number of latencies.
    pub heights: Option<Heights>,
    /// What is drawn over time.
    pub over_time: OverTime,
    /// Overlay all recordings over time, rather than stack them.
    pub overlay: bool,
    /// Limits whose lines are drawn.
    pub limits: Vec<Limit>,
    pub gate: Gate,
}

/// The same, with everything decided.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Style {
    pub(crate) x: AxisScale,
    pub(crate) y: AxisScale,
    /// Width of the bins, ns. None: as long as the axis is logarithmic, bins that grow with their
    /// values.
    pub(crate) bin_ns: Option<i64>,
    /// Width of bins on a linear axis where none was asked for, ns.
    pub(crate) auto_bin_ns: i64,
    /// How much larger the next bin's values are where bins grow, percent.
    pub(crate) step_percent: f64,
    pub(crate) heights: Heights,
    pub(crate) over_time: OverTime,
    pub(crate) overlay: bool,
    /// Whether any latency is not above 0, as those of a thread that was woken early: a
    /// logarithmic axis has no place for it.
    pub(crate) below_zero: bool,
}

/// Latencies that differ by less than this factor lie close together: a logarithmic axis is as good
/// as linear for them.
const CLOSE: i64 = 2;
/// Numbers of latencies that differ by less than this share are as good as equal.
const ALIKE: f64 = 0.01;

impl Style {
    pub(crate) fn new(
        options: &ChartOptions,
        measured: Measured,
        moments: &[&Moments],
        bins: Bins,
        equal: &[&EqualBins],
    ) -> Style {
        let min = moments.iter().filter_map(|moments| moments.min()).min();
        let max = moments.iter().filter_map(|moments| moments.max()).max();
        let close = min
            .zip(max)
            .is_some_and(|(min, max)| min >= FLOOR_NS && max < min.saturating_mul(CLOSE));
        let two_sided = measured.is_two_sided();
        let below_zero = !two_sided && min.is_some_and(|min| min <= 0);
        let linear = (close || two_sided || below_zero || options.bin.is_some())
            && equal.iter().any(|equal| !equal.is_empty());
        let counts = || moments.iter().map(|moments| moments.count()).filter(|count| *count > 0);
        let (min, max) = (counts().min().unwrap_or(0) as f64, counts().max().unwrap_or(0) as f64);
        let heights = if max - min > ALIKE * max { Heights::Shares } else { Heights::Counts };
        Style {
            x: options.x.filter(|_| !below_zero).unwrap_or(if linear {
                AxisScale::Linear
            } else {
                AxisScale::Log
            }),
            y: options.y.unwrap_or(AxisScale::Log),
            bin_ns: options.bin.map(|width| width.0.max(1)),
            auto_bin_ns: equal_bins::automatic(equal),
            step_percent: (bins.step_percent() * 10.0).round() / 10.0,
            heights: options.heights.unwrap_or(heights),
            over_time: if two_sided { OverTime::Latency } else { options.over_time },
            // One over the other is how jitter is compared.
            overlay: options.overlay || two_sided,
            below_zero,
        }
    }
}

impl ChartOptions {
    /// The lines of its limits, each with what became of it in the worst of the recordings; of
    /// jitter on both sides.
    pub(crate) fn lines(&self, measured: Measured) -> Vec<LimitLine> {
        let line = |limit: &Limit| {
            let line = LimitLine::from_limit(limit)?;
            let of = self
                .gate
                .judged
                .iter()
                .filter(|judged| judged.criterion == Criterion::Limit(limit.clone()));
            Some(match of.map(|judged| judged.verdict).max() {
                Some(verdict) => line.judged(verdict),
                None => line,
            })
        };
        let lines = self.limits.iter().filter_map(line);
        if measured.is_two_sided() {
            lines.flat_map(LimitLine::either_side).collect()
        } else {
            lines.collect()
        }
    }
}
