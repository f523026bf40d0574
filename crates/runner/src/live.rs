// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of a run in progress, for display only. Those of the recording are computed from the
//! disk afterwards.

use load::LoadNow;
use model::{ProbeStatement, RowKind, Thread};
use plan::{CpuId, Nanos};
use stats::{Histogram, Moments, nearest_rank};

/// A run in progress.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Since the first activation; below zero during warm-up, ns.
    pub elapsed_ns: Nanos,
    /// In all, ns.
    pub expected_ns: Option<Nanos>,
    /// One entry per measuring thread.
    pub threads: Vec<LiveThread>,
    pub loads: Vec<LoadNow>,
}

/// A measuring thread while it measures. Latencies in ns; none before the first activation.
#[derive(Clone, Copy, Debug)]
pub struct LiveThread {
    /// The CPU that it is pinned to; none if it is not.
    pub cpu: Option<CpuId>,
    /// Smallest latency.
    pub min: Option<i64>,
    pub last: Option<i64>,
    pub mean: Option<f64>,
    /// 99 % were at most this, to 1 %.
    pub p99: Option<i64>,
    /// Largest latency.
    pub max: Option<i64>,
    /// Woken an interval late or more.
    pub late: u64,
    pub skipped: u64,
}

/// The figures of one thread so far.
#[derive(Debug)]
pub(crate) struct Tally {
    cpu: Option<CpuId>,
    /// Columns of a row as it comes out of the ring.
    width: usize,
    /// Which of them is judged.
    judged: usize,
    /// Which of them shows overruns, and what one row amounts to in it; none where rows are not
    /// planned.
    overruns: Option<(usize, i64)>,
    /// Activation and latency, ns.
    last: Option<(u64, i64)>,
    late: u64,
    moments: Moments,
    histogram: Histogram,
}

impl Tally {
    pub(crate) fn new(thread: &Thread, probe: &ProbeStatement) -> Self {
        let time = usize::from(probe.rows == RowKind::Events);
        Tally {
            cpu: probe.cpu_of(thread),
            width: time + probe.columns.len(),
            judged: time,
            overruns: probe
                .overrun_column
                .map(|column| (time + column, probe.overrun_unit(thread.interval_ns))),
            last: None,
            late: 0,
            moments: Moments::default(),
            histogram: Histogram::default(),
        }
    }

    /// Successive rows, column after column.
    pub(crate) fn add_rows(&mut self, first: u64, values: &[i64]) {
        let rows = (values.len() / self.width).max(1);
        let column = |index: usize| values.chunks_exact(rows).nth(index).unwrap_or_default();
        for (activation, latency) in (first..).zip(column(self.judged)) {
            self.last = Some((activation, *latency));
            self.moments.record(*latency);
            self.histogram.record(*latency);
        }
        if let Some((index, unit)) = self.overruns {
            self.late += column(index).iter().filter(|overrun| **overrun >= unit).count() as u64;
        }
    }

    pub(crate) fn show(&self) -> LiveThread {
        let rank = nearest_rank(self.moments.count(), 99, 100);
        let max = self.moments.max();
        LiveThread {
            cpu: self.cpu,
            min: self.moments.min(),
            last: self.last.map(|(_, latency_ns)| latency_ns),
            mean: self.moments.mean(),
            p99: self
                .histogram
                .bucket_of_rank(rank)
                .map(|(bucket, _)| max.map_or(bucket.upper, |max| bucket.upper.min(max))),
            max,
            late: self.late,
            skipped: self.last.map_or(0, |(activation, _)| activation + 1 - self.moments.count()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Column;

    fn thread(interval_ns: i64) -> Thread {
        Thread::unmeasured(0, CpuId(1), plan::Scheduling::OTHER, Nanos(interval_ns), Nanos::ZERO)
    }

    /// The judged column is shown; what is late, another one may show.
    #[test]
    fn trials_are_late_by_the_column_that_says_so() {
        let columns = vec![Column::ns("exec_ns", ""), Column::ns("done_ns", "")];
        let trials = ProbeStatement {
            columns,
            overrun_column: Some(1),
            rows: RowKind::Trials,
            ..ProbeStatement::cyclic()
        };
        let mut tally = Tally::new(&thread(1_000), &trials);
        tally.add_rows(0, &[10, 20, 900, 1_100]);
        let live = tally.show();
        assert_eq!((live.min, live.max, live.late), (Some(10), Some(20), 1));
    }

    #[test]
    fn gaps_are_skipped_activations() {
        let mut tally = Tally::new(&thread(1_000), &ProbeStatement::cyclic());
        tally.add_rows(0, &[10, 2_500]);
        tally.add_rows(4, &[30]);
        let live = tally.show();
        assert_eq!((live.min, live.last, live.max), (Some(10), Some(30), Some(2_500)));
        assert_eq!((live.late, live.skipped), (1, 2));
    }

    /// The bucket of the 99th percentile may reach beyond the largest latency in it.
    #[test]
    fn no_percentile_is_above_the_largest_latency() {
        let mut tally = Tally::new(&thread(1_000_000), &ProbeStatement::cyclic());
        tally.add_rows(0, &[100_001, 100_001]);
        let live = tally.show();
        assert_eq!((live.p99, live.max), (Some(100_001), Some(100_001)));
    }
}
