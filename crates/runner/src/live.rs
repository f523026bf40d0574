// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of a run in progress, for display only. Those of the recording are computed from the
//! disk afterwards.

use load::LoadNow;
use model::{Account, ProbeStatement, RowKind, Thread};
use plan::{CpuId, Nanos};
use stats::{Histogram, Moments, nearest_rank};
use std::collections::VecDeque;

/// Of each of these the largest latency is kept.
const QUARTER_SECOND: Nanos = Nanos::from_millis(250);
/// Of a minute.
pub const QUARTERS: usize = 240;
/// Spikes of a thread that are kept, and their causes.
pub(crate) const MAX_SPIKES: usize = 16;

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
    /// Latencies above this are spikes, which the run explains.
    pub explain_above: Option<Nanos>,
    /// What the latest of them came from; none where nothing can be explained.
    pub causes: Option<Vec<LiveCause>>,
}

/// A measuring thread while it measures. Latencies in ns; none before the first activation.
#[derive(Clone, Debug)]
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
    /// If that is observed too.
    pub history: Option<History>,
}

/// What a thread has measured, beside its figures.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub histogram: Histogram,
    /// Largest latency in each quarter of a second of the last minute, the newest last, ns; none
    /// where nothing came.
    pub worst: VecDeque<Option<i64>>,
    /// The latest above the threshold of a run that explains them; of another run its largest
    /// latencies. In order of time.
    pub spikes: Vec<LiveSpike>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSpike {
    pub activation: u64,
    /// Since activation 0, ns.
    pub at_ns: Nanos,
    pub latency_ns: i64,
}

/// Where a spike came from.
#[derive(Clone, Debug)]
pub struct LiveCause {
    /// The thread's index.
    pub thread: usize,
    pub activation: u64,
    /// None: its events were not recorded, or do not show it.
    pub account: Option<Account>,
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
    past: Option<Past>,
}

/// What has come, and when.
#[derive(Debug)]
struct Past {
    /// When activation 0 was due, CLOCK_MONOTONIC ns.
    start: Nanos,
    /// Between two activations; none where rows are not planned.
    interval: Option<Nanos>,
    /// Number of the last of `worst`.
    quarter: i64,
    worst: VecDeque<Option<i64>>,
    /// The run's own threshold, ns; none where the largest are kept.
    above: Option<i64>,
    spikes: VecDeque<LiveSpike>,
    /// What is not larger than this is no spike, ns.
    floor: i64,
}

impl Past {
    /// Begins the quarters until now.
    fn pass(&mut self, now: Nanos) {
        let quarter = (now.0 - self.start.0).max(0) / QUARTER_SECOND.0;
        let passed = usize::try_from(quarter - self.quarter).unwrap_or(0).min(QUARTERS);
        self.quarter = self.quarter.max(quarter);
        self.worst.extend(std::iter::repeat_n(None, passed));
        self.worst.drain(..self.worst.len().saturating_sub(QUARTERS));
    }

    fn take(&mut self, now: Nanos, activation: u64, latency_ns: i64) {
        if let Some(worst) = self.worst.back_mut() {
            *worst = Some(worst.map_or(latency_ns, |worst| worst.max(latency_ns)));
        }
        if latency_ns <= self.floor {
            return;
        }
        let since = |interval: Nanos| activation.cast_signed().saturating_mul(interval.0);
        let at_ns = Nanos(self.interval.map_or(now.0 - self.start.0, since));
        self.spikes.push_back(LiveSpike { activation, at_ns, latency_ns });
        if self.spikes.len() <= MAX_SPIKES {
            return;
        }
        let of = |spike: &LiveSpike| spike.latency_ns;
        let gone = match self.above {
            Some(_) => 0,
            None => (0..self.spikes.len()).min_by_key(|at| of(&self.spikes[*at])).unwrap_or(0),
        };
        self.spikes.remove(gone);
        if self.above.is_none() {
            self.floor = self.spikes.iter().map(of).min().unwrap_or(i64::MIN);
        }
    }
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
            past: None,
        }
    }

    /// The same with a history, whose spikes are above a threshold if there is one.
    pub(crate) fn with_history(
        thread: &Thread,
        probe: &ProbeStatement,
        above: Option<Nanos>,
    ) -> Self {
        let past = Past {
            start: thread.start_ns,
            interval: probe.is_planned().then_some(thread.interval_ns),
            quarter: 0,
            worst: VecDeque::from([None]),
            above: above.map(|above| above.0),
            spikes: VecDeque::new(),
            floor: above.map_or(i64::MIN, |above| above.0),
        };
        Tally { past: Some(past), ..Tally::new(thread, probe) }
    }

    /// Successive rows, column after column, that came out of the ring at this time.
    pub(crate) fn add_rows(&mut self, now: Nanos, first: u64, values: &[i64]) {
        if let Some(past) = &mut self.past {
            past.pass(now);
        }
        let rows = (values.len() / self.width).max(1);
        let column = |index: usize| values.chunks_exact(rows).nth(index).unwrap_or_default();
        for (activation, latency) in (first..).zip(column(self.judged)) {
            self.last = Some((activation, *latency));
            self.moments.record(*latency);
            self.histogram.record(*latency);
            if let Some(past) = &mut self.past {
                past.take(now, activation, *latency);
            }
        }
        if let Some((index, unit)) = self.overruns {
            self.late += column(index).iter().filter(|overrun| **overrun >= unit).count() as u64;
        }
    }

    pub(crate) fn show(&mut self, now: Nanos) -> LiveThread {
        let history = self.past.as_mut().map(|past| {
            past.pass(now);
            History {
                histogram: self.histogram.clone(),
                worst: past.worst.clone(),
                spikes: past.spikes.iter().copied().collect(),
            }
        });
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
            history,
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
        tally.add_rows(Nanos::ZERO, 0, &[10, 20, 900, 1_100]);
        let live = tally.show(Nanos::ZERO);
        assert_eq!((live.min, live.max, live.late), (Some(10), Some(20), 1));
    }

    #[test]
    fn gaps_are_skipped_activations() {
        let mut tally = Tally::new(&thread(1_000), &ProbeStatement::cyclic());
        tally.add_rows(Nanos::ZERO, 0, &[10, 2_500]);
        tally.add_rows(Nanos::ZERO, 4, &[30]);
        let live = tally.show(Nanos::ZERO);
        assert_eq!((live.min, live.last, live.max), (Some(10), Some(30), Some(2_500)));
        assert_eq!((live.late, live.skipped), (1, 2));
    }

    /// The bucket of the 99th percentile may reach beyond the largest latency in it.
    #[test]
    fn no_percentile_is_above_the_largest_latency() {
        let mut tally = Tally::new(&thread(1_000_000), &ProbeStatement::cyclic());
        tally.add_rows(Nanos::ZERO, 0, &[100_001, 100_001]);
        let live = tally.show(Nanos::ZERO);
        assert_eq!((live.p99, live.max), (Some(100_001), Some(100_001)));
    }

    fn history(tally: &mut Tally, now: Nanos) -> History {
        tally.show(now).history.unwrap()
    }

    /// Of a minute, and no more.
    #[test]
    fn each_quarter_of_a_second_has_its_largest_latency() {
        let of = thread(1_000_000);
        let mut tally = Tally::with_history(&of, &ProbeStatement::cyclic(), None);
        let at = |quarters: i64| Nanos(of.start_ns.0 + quarters * QUARTER_SECOND.0 + 1);
        tally.add_rows(at(0), 0, &[10, 30, 20]);
        tally.add_rows(at(2), 3, &[5]);
        assert_eq!(history(&mut tally, at(3)).worst, [Some(30), None, Some(5), None]);
        assert!(tally.show(at(0)).history.is_some_and(|history| history.worst.len() == 4));
        let worst = history(&mut tally, at(242)).worst;
        assert_eq!((worst.len(), worst[0], worst[1]), (QUARTERS, None, None));
        assert_eq!(history(&mut tally, at(i64::from(u32::MAX))).worst.len(), QUARTERS);
        assert!(Tally::new(&of, &ProbeStatement::cyclic()).show(at(0)).history.is_none());
    }

    #[test]
    fn spikes_are_the_latest_above_the_threshold_or_the_largest() {
        let of = thread(1_000);
        let mut above = Tally::with_history(&of, &ProbeStatement::cyclic(), Some(Nanos(50)));
        let mut largest = Tally::with_history(&of, &ProbeStatement::cyclic(), None);
        let latencies: Vec<i64> = (0..100).map(|k| (k * 37) % 100).collect();
        for tally in [&mut above, &mut largest] {
            tally.add_rows(Nanos::ZERO, 0, &latencies);
        }
        let of = |tally: &mut Tally| history(tally, Nanos::ZERO).spikes;
        let latest: Vec<i64> = latencies.iter().copied().filter(|latency| *latency > 50).collect();
        let shown: Vec<i64> = of(&mut above).iter().map(|spike| spike.latency_ns).collect();
        assert_eq!(shown, latest[latest.len() - MAX_SPIKES..]);
        let mut shown: Vec<i64> = of(&mut largest).iter().map(|spike| spike.latency_ns).collect();
        shown.sort_unstable();
        assert_eq!(shown, (84..100).collect::<Vec<i64>>());
        let first = LiveSpike { activation: 27, at_ns: Nanos(27_000), latency_ns: 99 };
        assert!(of(&mut largest).contains(&first));
    }
}
