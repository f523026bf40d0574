// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of a run while it goes on: for the eye only. What is kept is computed from the disk afterwards.

use plan::{CpuId, Nanos};
use probe::Sample;
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
    /// Whether all loads are running.
    pub loads_alive: bool,
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

/// What the recorder keeps of a thread besides writing its samples.
#[derive(Debug)]
pub(crate) struct Tally {
    cpu: CpuId,
    interval_ns: i64,
    last: Option<Sample>,
    moments: Moments,
    histogram: Histogram,
    late: u64,
    skipped: u64,
}

impl Tally {
    pub(crate) fn new(cpu: CpuId, interval_ns: i64) -> Self {
        let (moments, histogram) = (Moments::default(), Histogram::default());
        Tally { cpu, interval_ns, last: None, moments, histogram, late: 0, skipped: 0 }
    }

    pub(crate) fn take(&mut self, sample: Sample) {
        let expected = self.last.map_or(0, |last| last.activation + 1);
        self.skipped += sample.activation.saturating_sub(expected);
        self.late += u64::from(sample.latency_ns >= self.interval_ns);
        self.moments.record(sample.latency_ns);
        self.histogram.record(sample.latency_ns);
        self.last = Some(sample);
    }

    /// Samples seen.
    pub(crate) const fn samples(&self) -> u64 {
        self.moments.count()
    }

    /// Of those, late ones.
    pub(crate) const fn late(&self) -> u64 {
        self.late
    }

    pub(crate) fn show(&self) -> LiveThread {
        let rank = nearest_rank(self.moments.count(), 99, 100);
        LiveThread {
            cpu: self.cpu,
            min: self.moments.min(),
            last: self.last.map(|sample| sample.latency_ns),
            mean: self.moments.mean(),
            p99: self.histogram.bucket_of_rank(rank).map(|(bucket, _)| bucket.upper),
            max: self.moments.max(),
            late: self.late,
            skipped: self.skipped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_skipped_activations() {
        let mut tally = Tally::new(CpuId(1), 1_000);
        for (activation, latency_ns) in [(0, 10), (1, 2_500), (4, 30)] {
            tally.take(Sample { activation, latency_ns });
        }
        let live = tally.show();
        assert_eq!((live.min, live.last, live.max), (Some(10), Some(30), Some(2_500)));
        assert_eq!((live.late, live.skipped, tally.samples()), (1, 2, 3));
    }
}
