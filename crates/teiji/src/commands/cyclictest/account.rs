// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures that cyclictest keeps of each thread, from the latencies as they come.

use super::settings::Settings;

/// A latency above what `--spike` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spike {
    pub thread: usize,
    pub latency: i64,
    /// When the thread woke, µs of its clock.
    pub at_us: i64,
}

/// One thread's figures, in µs or in ns.
#[derive(Clone, Debug, Default)]
pub struct ThreadAccount {
    /// Its number; 0 before it has run.
    pub tid: i32,
    pub cycles: u64,
    pub min: Option<i64>,
    pub last: i64,
    pub max: i64,
    sum: i64,
    /// One bucket for each unit.
    pub histogram: Vec<u64>,
    /// Latencies beyond the last bucket.
    pub overflows: u64,
    /// The first cycles that lie beyond it, as many as there are buckets.
    pub overflow_cycles: Vec<u64>,
    /// Latencies that are not printed yet, as `-v` prints them, in order.
    pub unprinted: Vec<(u64, i64)>,
    /// The largest of the latencies of which one is to be printed, and how many there were.
    largest: Option<(u64, i64)>,
    reduced: u64,
    /// The row that is expected next: where another one comes, those in between were not measured.
    next_row: u64,
    /// Rows from this one on fall due after the end of the run.
    pub rows: u64,
    /// Cycles that fell due and are in none of the figures.
    pub skipped: u64,
}

/// All threads, and what is kept of all of them.
#[derive(Clone, Debug)]
pub struct Account {
    pub threads: Vec<ThreadAccount>,
    unit_ns: i64,
    /// Of so many latencies one is printed; none: none is.
    reduction: Option<u64>,
    /// A thread that has so many ends the run.
    loops: u64,
    spike: Option<i64>,
    spike_nodes: usize,
    pub spikes: Vec<Spike>,
    /// As many as there were, listed or not.
    pub spikes_in_all: u64,
}

impl Account {
    /// Of so many threads.
    pub fn new(settings: &Settings, threads: usize) -> Self {
        let buckets = settings.histogram.unwrap_or(0);
        let thread = ThreadAccount {
            histogram: vec![0; buckets],
            rows: u64::MAX,
            ..ThreadAccount::default()
        };
        Account {
            threads: vec![thread; threads],
            unit_ns: settings.unit().0,
            reduction: settings.verbose.then_some(settings.oscilloscope),
            loops: settings.loops.unwrap_or(u64::MAX),
            spike: settings.spike.and_then(|spike| i64::try_from(spike).ok()),
            spike_nodes: settings.spike_nodes,
            spikes: Vec::new(),
            spikes_in_all: 0,
        }
    }

    /// Whether a thread has come to the end of its loops, which ends the run.
    pub fn is_done(&self) -> bool {
        self.threads.iter().any(|thread| thread.cycles >= self.loops)
    }

    /// The largest latency of all threads.
    pub fn max(&self) -> i64 {
        self.threads.iter().map(|thread| thread.max).max().unwrap_or(0)
    }

    /// Takes in a row of a thread, its latency, ns, and when it woke by its clock, ns.
    pub fn add(&mut self, thread: usize, row: u64, latency_ns: i64, woke_at_ns: i64) {
        let latency = latency_ns / self.unit_ns;
        let one = &mut self.threads[thread];
        if one.cycles >= self.loops || row >= one.rows {
            return;
        }
        one.skipped += row.saturating_sub(one.next_row);
        one.next_row = row + 1;
        let cycle = one.cycles;
        one.cycles += 1;
        one.last = latency;
        one.min = Some(one.min.map_or(latency, |min| min.min(latency)));
        one.max = one.max.max(latency);
        one.sum = one.sum.saturating_add(latency);
        if let Some(reduction) = self.reduction {
            one.print_one_of(reduction, cycle, latency);
        }
        if !one.histogram.is_empty() {
            match usize::try_from(latency).ok().and_then(|at| one.histogram.get_mut(at)) {
                Some(bucket) => *bucket += 1,
                None => {
                    one.overflows += 1;
                    if one.overflow_cycles.len() < one.histogram.len() {
                        one.overflow_cycles.push(cycle);
                    }
                }
            }
        }
        if self.spike.is_some_and(|spike| latency > spike) {
            self.spikes_in_all += 1;
            if self.spikes.len() < self.spike_nodes {
                self.spikes.push(Spike { thread, latency, at_us: woke_at_ns / 1_000 });
            }
        }
    }
}

impl ThreadAccount {
    /// The largest of so many is to be printed, with its own cycle.
    fn print_one_of(&mut self, reduction: u64, cycle: u64, latency: i64) {
        if self.largest.is_none_or(|(_, largest)| latency > largest) {
            self.largest = Some((cycle, latency));
        }
        self.reduced += 1;
        if self.reduced >= reduction {
            self.unprinted.extend(self.largest.take());
            self.reduced = 0;
        }
    }

    /// The mean; none without a cycle.
    pub fn mean(&self) -> Option<f64> {
        (self.cycles > 0).then(|| self.sum as f64 / self.cycles as f64)
    }

    /// The same cut to a whole number; 0 without a cycle.
    pub fn whole_mean(&self) -> i64 {
        i64::try_from(self.cycles).ok().and_then(|n| self.sum.checked_div(n)).unwrap_or(0)
    }
}
