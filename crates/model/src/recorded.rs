// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording as read back: what was written in `run.json`, and the statistics of its samples.

use crate::{
    Column, ColumnFigures, Document, Explained, HistogramDocument, ProbeStatement, Thread,
    WorstActivation,
};
use plan::Nanos;
use stats::{RELATIVE_ERROR, Statistics};
use std::path::PathBuf;

/// How often what was measured is written to the file. What is not there may be lost with the
/// process: at most this much, half of the promised second.
pub const FLUSH_INTERVAL: Nanos = Nanos::from_millis(500);

/// Steps of latency over time that are kept in memory; what is drawn is chosen from these.
pub const ENVELOPE_STEPS: usize = 8_192;

/// A recording with everything computed from its samples. For one that was cut off,
/// `document.threads` is filled in from the samples too, so that a reader need not care.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub path: PathBuf,
    /// `run.json`.
    pub document: Document,
    /// Statistics of the judged column of each thread, in the order of `document.threads`.
    pub threads: Vec<Statistics>,
    /// Statistics of the other columns of each thread.
    pub beside: Vec<Beside>,
    /// Where latencies went. None until somebody has read it too: it is no part of what was
    /// measured.
    pub explained: Option<Explained>,
}

/// Statistics of the other columns of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// The further columns, in the order the probe states them.
    pub columns: Vec<Statistics>,
    /// Of each of the worst events, in the same order, ns since the thread's start. Empty where
    /// rows were planned.
    pub worst_times_ns: Vec<i64>,
}

impl Recorded {
    /// The folder's name without `.teiji`, or the title where one was given.
    pub fn name(&self) -> String {
        self.document.run.title.clone().unwrap_or_else(|| {
            let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy();
            name.strip_suffix(".teiji").unwrap_or(&name).to_owned()
        })
    }

    /// How many samples all threads have.
    pub fn samples(&self) -> u64 {
        self.threads.iter().map(|thread| thread.moments.count()).sum()
    }

    /// The largest latency of all threads, skipped activations counted in, ns; of jitter the
    /// largest size.
    pub fn largest_ns(&self) -> Option<i64> {
        let of_threads = self.threads.iter().filter_map(|thread| thread.latency_with_skipped);
        of_threads
            .flat_map(|summary| [summary.min, summary.max])
            .map(|value| self.document.probe.judged_size(value))
            .max()
    }
}

/// Writes the statistics of a thread's samples into its part of the document. The accounting stays
/// as it is: the thread itself has counted it, and the two are compared.
pub fn fill_in(
    thread: &mut Thread,
    probe: &ProbeStatement,
    statistics: &Statistics,
    beside: &Beside,
) {
    thread.latency_ns = statistics.latency;
    thread.latency_with_skipped_ns = statistics.latency_with_skipped;
    thread.histogram_ns = histogram(statistics);
    let figures = |((_, column), statistics): ((usize, &Column), &Statistics)| ColumnFigures {
        name: column.name.to_string(),
        values: statistics.latency,
        histogram: histogram(statistics),
    };
    thread.columns = probe.others().zip(&beside.columns).map(figures).collect();
    let planned = |worst: &stats::Worst| {
        i64::try_from(worst.activation).unwrap_or(i64::MAX).saturating_mul(thread.interval_ns.0)
    };
    let place = |(place, worst): (usize, &stats::Worst)| {
        let since_start =
            beside.worst_times_ns.get(place).copied().unwrap_or_else(|| planned(worst));
        placed(thread, worst, since_start)
    };
    thread.worst = statistics.worst.iter().enumerate().map(place).collect();
}

fn histogram(statistics: &Statistics) -> HistogramDocument {
    HistogramDocument {
        relative_error: RELATIVE_ERROR,
        buckets: statistics.histogram.buckets().collect(),
    }
}

fn placed(thread: &Thread, worst: &stats::Worst, since_start_ns: i64) -> WorstActivation {
    WorstActivation {
        activation: worst.activation,
        planned_ns: Nanos(thread.start_ns.0.saturating_add(since_start_ns)),
        since_start_ns: Nanos(since_start_ns),
        latency_ns: worst.latency_ns,
    }
}
