// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of a run while it goes on: for the eye only. What is kept is computed from the disk afterwards.

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
    /// Activation and latency, ns.
    last: Option<(u64, i64)>,
    samples: u64,
    late: u64,
    /// Only if somebody looks on.
    shown: Option<(Moments, Histogram)>,
}

impl Tally {
    pub(crate) fn new(cpu: CpuId, interval_ns: i64, shown: bool) -> Self {
        let shown = shown.then(|| (Moments::default(), Histogram::default()));
        Tally { cpu, interval_ns, last: None, samples: 0, late: 0, shown }
    }

    pub(crate) fn take(&mut self, activations: &[u64], latencies: &[i64]) {
        self.samples += latencies.len() as u64;
        self.late += latencies.iter().filter(|latency| **latency >= self.interval_ns).count() as u64;
        self.last = activations.last().copied().zip(latencies.last().copied()).or(self.last);
        if let Some((moments, histogram)) = &mut self.shown {
            for latency in latencies {
                moments.record(*latency);
                histogram.record(*latency);
            }
        }
    }

    /// Samples seen.
    pub(crate) const fn samples(&self) -> u64 {
        self.samples
    }

    /// Of those, late ones.
    pub(crate) const fn late(&self) -> u64 {
        self.late
    }

    pub(crate) fn show(&self) -> LiveThread {
        let (moments, histogram) = self.shown.clone().unwrap_or_default();
        let rank = nearest_rank(moments.count(), 99, 100);
        LiveThread {
            cpu: self.cpu,
            min: moments.min(),
            last: self.last.map(|(_, latency_ns)| latency_ns),
            mean: moments.mean(),
            p99: histogram.bucket_of_rank(rank).map(|(bucket, _)| bucket.upper),
            max: moments.max(),
            late: self.late,
            skipped: self.last.map_or(0, |(activation, _)| activation + 1 - self.samples),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_skipped_activations() {
        let mut tally = Tally::new(CpuId(1), 1_000, true);
        tally.take(&[0, 1], &[10, 2_500]);
        tally.take(&[4], &[30]);
        let live = tally.show();
        assert_eq!((live.min, live.last, live.max), (Some(10), Some(30), Some(2_500)));
        assert_eq!((live.late, live.skipped, tally.samples()), (1, 2, 3));
    }
}
