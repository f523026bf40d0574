// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of a run while it goes on: for the eye only. What is kept is computed from the disk afterwards.

use load::LoadNow;
use plan::{CpuId, Nanos};
use stats::{Histogram, Moments, nearest_rank};

/// A run while it goes on.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Since the first activation; below zero during warm-up, ns.
    pub elapsed_ns: Nanos,
    /// In all, ns.
    pub expected_ns: Nanos,
    /// One entry per measuring thread.
    pub threads: Vec<LiveThread>,
    /// What each load does.
    pub loads: Vec<LoadNow>,
}

/// A measuring thread while it measures. Latencies in ns; none before the first activation.
#[derive(Clone, Copy, Debug)]
pub struct LiveThread {
    /// Its CPU.
    pub cpu: CpuId,
    /// Smallest latency.
    pub min: Option<i64>,
    /// The last one.
    pub last: Option<i64>,
    /// Their mean.
    pub mean: Option<f64>,
    /// 99 % were at most this, to 1 %.
    pub p99: Option<i64>,
    /// Largest latency.
    pub max: Option<i64>,
    /// Woken an interval late or more.
    pub late: u64,
    /// Never run.
    pub skipped: u64,
}

/// The figures of one thread so far.
#[derive(Debug)]
pub(crate) struct Tally {
    cpu: CpuId,
    interval_ns: i64,
    /// Activation and latency, ns.
    last: Option<(u64, i64)>,
    late: u64,
    moments: Moments,
    histogram: Histogram,
}

impl Tally {
    pub(crate) fn new(cpu: CpuId, interval_ns: i64) -> Self {
        Tally { cpu, interval_ns, last: None, late: 0, moments: Moments::default(), histogram: Histogram::default() }
    }

    /// Latencies, ns, of successive activations.
    pub(crate) fn take(&mut self, first: u64, latencies: &[i64]) {
        for (activation, latency) in (first..).zip(latencies) {
            self.last = Some((activation, *latency));
            self.late += u64::from(*latency >= self.interval_ns);
            self.moments.record(*latency);
            self.histogram.record(*latency);
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
            p99: self.histogram.bucket_of_rank(rank).map(|(bucket, _)| max.map_or(bucket.upper, |max| bucket.upper.min(max))),
            max,
            late: self.late,
            skipped: self.last.map_or(0, |(activation, _)| activation + 1 - self.moments.count()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_skipped_activations() {
        let mut tally = Tally::new(CpuId(1), 1_000);
        tally.take(0, &[10, 2_500]);
        tally.take(4, &[30]);
        let live = tally.show();
        assert_eq!((live.min, live.last, live.max), (Some(10), Some(30), Some(2_500)));
        assert_eq!((live.late, live.skipped), (1, 2));
    }

    /// The bucket of the 99th percentile may reach beyond the largest latency in it.
    #[test]
    fn no_percentile_is_above_the_largest_latency() {
        let mut tally = Tally::new(CpuId(0), 1_000_000);
        tally.take(0, &[100_001, 100_001]);
        let live = tally.show();
        assert_eq!((live.p99, live.max), (Some(100_001), Some(100_001)));
    }
}
