// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures that cyclictest keeps of each thread, from the latencies as they come.

use super::settings::Settings;
use formats::CyclictestFigures;

/// A latency above what `--spike` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spike {
    pub thread: usize,
    pub latency: i64,
    /// When the thread woke, µs of its clock.
    pub at_us: i64,
}

/// One thread's figures, in µs or in ns, and what is to be printed of it.
#[derive(Clone, Debug)]
pub struct ThreadAccount {
    /// Its number; 0 before it has run.
    pub tid: i32,
    pub figures: CyclictestFigures,
    /// Latencies that are not printed yet, as `-v` prints them, in order.
    pub unprinted: Vec<(u64, i64)>,
    /// System management interrupts since `-v` last printed some of them.
    pub unprinted_smis: u64,
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
        let thread = ThreadAccount {
            tid: 0,
            figures: CyclictestFigures::new(settings.histogram.unwrap_or(0)),
            unprinted: Vec::new(),
            unprinted_smis: 0,
            largest: None,
            reduced: 0,
            next_row: 0,
            rows: u64::MAX,
            skipped: 0,
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
        self.threads.iter().any(|thread| thread.figures.cycles >= self.loops)
    }

    /// The largest latency of all threads.
    pub fn max(&self) -> i64 {
        self.threads.iter().map(|thread| thread.figures.max).max().unwrap_or(0)
    }

    /// Takes in a row of a thread, its latency, ns, and when it woke by its clock, ns.
    pub fn add(&mut self, thread: usize, row: u64, latency_ns: i64, woke_at_ns: i64) {
        let latency = latency_ns / self.unit_ns;
        let one = &mut self.threads[thread];
        if one.figures.cycles >= self.loops || row >= one.rows {
            return;
        }
        one.skipped += row.saturating_sub(one.next_row);
        one.next_row = row + 1;
        let cycle = one.figures.cycles;
        one.figures.add(latency);
        if let Some(reduction) = self.reduction {
            one.print_one_of(reduction, cycle, latency);
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
    /// So many system management interrupts its CPU has counted by now.
    pub fn count_smis(&mut self, count: u64) {
        let before = self.figures.smis.replace(count).unwrap_or(0);
        self.unprinted_smis += count.saturating_sub(before);
    }

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
}
