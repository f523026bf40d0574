// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run under way: its threads' rows are taken in, and it is printed while it goes, to whoever
//! asks meanwhile, and at its end.

use super::account::Account;
use super::json::{Frame, json};
use super::output::{self, ThreadLine};
use super::settings::{Affinity, Settings};
use super::status::{Pipe, SharedFile};
use super::traps;
use crate::exit::{BAD_INPUT, CommandResult, DONE, Failure, RUN_FAILED};
use crate::output::print;
use anyhow::Context;
use host::HostRoot;
use model::End;
use plan::{CpuId, Nanos, Policy, Scheduling};
use probe::SmiCounter;
use runner::Unrecorded;
use rustix::thread::NanosleepRelativeResult;
use signal_hook::consts::{SIGUSR1, SIGUSR2};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Who asks for the figures so far, and what is counted beside them.
pub(super) struct Watcher {
    status_asked: Arc<AtomicBool>,
    snapshot_asked: Arc<AtomicBool>,
    shared: Option<SharedFile>,
    pipe: Option<Pipe>,
    /// Of each thread's CPU, if they are asked for.
    smis: Vec<SmiCounter>,
}

impl Watcher {
    pub(super) fn begin(settings: &Settings, smis: Vec<SmiCounter>) -> Result<Self, Failure> {
        let flag = |signal| {
            let flag = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .context("cannot catch signals")
                .map_err(Failure::run_failed)?;
            Ok::<_, Failure>(flag)
        };
        let pipe = settings.fifo.as_ref().and_then(|path| match Pipe::make(Path::new(path)) {
            Ok(pipe) => Some(pipe),
            Err(error) => {
                complain!("Error creating fifo {path}: {error}");
                None
            }
        });
        Ok(Watcher {
            status_asked: flag(SIGUSR1)?,
            snapshot_asked: flag(SIGUSR2)?,
            // Without it that signal has nothing to write to.
            shared: SharedFile::make().ok(),
            pipe,
            smis,
        })
    }
}

/// A run under way.
pub(super) struct Running<'a> {
    settings: &'a Settings,
    policy: Policy,
    lines: Vec<ThreadLine>,
    pub(super) account: Account,
    intervals: Vec<Nanos>,
    /// Each thread's CPU, where a list was given.
    listed: Vec<CpuId>,
    /// Planned time of each thread's row 0 by the clock that it follows, ns.
    starts: Vec<i64>,
    /// Of a row.
    columns: usize,
    dma_latency_us: Option<i32>,
    watcher: Watcher,
    begun: Instant,
    is_first: bool,
    /// Whether the last lines stand on the terminal to be written over.
    is_shown: bool,
    shown_max: i64,
}

impl<'a> Running<'a> {
    pub(super) fn new(settings: &'a Settings, order: &Unrecorded, watcher: Watcher) -> Self {
        let intervals: Vec<Nanos> =
            (0..order.scheduling.len()).map(|index| order.run.interval_of(index)).collect();
        let line = |(scheduling, interval): (&Scheduling, &Nanos)| ThreadLine {
            priority: scheduling.prio.unwrap_or(0),
            interval: *interval,
        };
        let mut account = Account::new(settings, intervals.len());
        if let Some(length) = settings.duration {
            for (thread, interval) in account.threads.iter_mut().zip(&intervals) {
                thread.rows = u64::try_from(length.0 / interval.0.max(1)).unwrap_or(u64::MAX);
            }
        }
        let is_listed = matches!(settings.affinity, Affinity::Listed { .. });
        Running {
            settings,
            policy: order.scheduling[0].policy,
            lines: order.scheduling.iter().zip(&intervals).map(line).collect(),
            account,
            starts: vec![0; intervals.len()],
            intervals,
            listed: if is_listed { order.run.cpus.clone() } else { Vec::new() },
            columns: order.probe.statement(&order.run).columns.len().max(1),
            dma_latency_us: order.dma_latency_us,
            watcher,
            begun: Instant::now(),
            is_first: true,
            is_shown: false,
            shown_max: 0,
        }
    }

    /// The threads run: their numbers, and when row 0 of each is due.
    pub(super) fn begun(&mut self, threads: &[i32], starts: &[Nanos], holds_dma_latency: bool) {
        for (thread, tid) in self.account.threads.iter_mut().zip(threads) {
            thread.tid = *tid;
        }
        // Of CLOCK_REALTIME by what it is ahead now.
        let ahead = if self.settings.realtime_clock { ahead_of_monotonic() } else { 0 };
        self.starts = starts.iter().map(|start| start.0 + ahead).collect();
        self.begun = Instant::now();
        self.watcher.smis.iter_mut().for_each(SmiCounter::begin);
        if let Some(micros) = self.dma_latency_us.filter(|_| holds_dma_latency) {
            print(&format!("# /dev/cpu_dma_latency set to {micros}us\n"));
        }
        if self.settings.verbose {
            for (index, interval) in self.intervals.iter().enumerate() {
                // As it stands there for the next thread.
                let next = (interval.0 + self.settings.distance.0) / 1_000;
                if let Some(cpu) = self.listed.get(index) {
                    print(&format!("Thread {index} using cpu {cpu}.\n"));
                }
                print(&format!("Thread {index} Interval: {next}\n"));
            }
        }
    }

    /// Takes in successive rows of a thread, column after column; the first has the latencies.
    pub(super) fn take(&mut self, thread: usize, first: u64, columns: &[i64]) {
        let latencies = &columns[..columns.len() / self.columns];
        for (row, latency) in (first..).zip(latencies) {
            let planned = self.starts[thread] + row.cast_signed() * self.intervals[thread].0;
            self.account.add(thread, row, *latency, planned + latency);
        }
    }

    /// Prints what is printed as it goes, and answers who asked.
    pub(super) fn show(&mut self) {
        for (thread, smis) in self.account.threads.iter_mut().zip(&self.watcher.smis) {
            smis.since_begin().count.into_iter().for_each(|count| thread.count_smis(count));
        }
        let is_live = !self.settings.quiet && !self.settings.verbose;
        self.is_shown = is_live && self.is_to_be_shown();
        if self.settings.verbose {
            print(&output::values(&mut self.account));
        } else if self.is_shown {
            let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
            let policy = output::policy_lines(self.policy, &self.lines, load.trim());
            print(&format!("{policy}{}", self.thread_lines()));
            self.is_first = false;
        }
        self.answer();
    }

    /// Sleeps so long. Who asks meanwhile, by a signal, is answered at once:
    /// get_cyclictest_snapshot reads the answer as soon as it has asked.
    pub(super) fn wait(&mut self, time: Duration) {
        let mut left = time.try_into().ok();
        while let Some(time) = left {
            left = match rustix::thread::nanosleep(&time) {
                NanosleepRelativeResult::Interrupted(left) => Some(left),
                NanosleepRelativeResult::Ok | NanosleepRelativeResult::Err(_) => None,
            };
            self.answer();
        }
    }

    /// It does not end yet: the next lines are written over these.
    pub(super) fn go_on(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            print(&output::up(self.lines.len()));
        }
    }

    /// With `-M` only a new maximum is.
    fn is_to_be_shown(&mut self) -> bool {
        let max = self.account.max();
        let is_new = max > self.shown_max;
        self.shown_max = max;
        !self.settings.refresh_on_max || self.is_first || is_new
    }

    pub(super) fn is_long_enough(&self) -> bool {
        self.settings.duration.is_some_and(|length| {
            u64::try_from(length.0).is_ok_and(|ns| self.begun.elapsed() >= Duration::from_nanos(ns))
        })
    }

    fn thread_lines(&self) -> String {
        output::thread_lines(self.settings, &self.lines, &self.account)
    }

    /// Who asked for the figures so far gets them.
    fn answer(&mut self) {
        if self.watcher.status_asked.swap(false, Ordering::Relaxed) {
            complain!("{}", output::status(&self.thread_lines()).trim_end());
        }
        if self.watcher.snapshot_asked.swap(false, Ordering::Relaxed)
            && let Some(shared) = &self.watcher.shared
            && let Err(error) = shared.write(&output::status(&self.thread_lines()))
        {
            complain!("teiji cyclictest: cannot write the figures to shared memory: {error}");
        }
        let (settings, lines, account) = (self.settings, &self.lines, &self.account);
        if let Some(pipe) = &mut self.watcher.pipe {
            pipe.serve(|| output::thread_lines(settings, lines, account));
        }
    }

    /// What is printed at the end, and written to files.
    pub(super) fn print_result(&self, end: &End, frame: &Frame, root: &HostRoot) -> CommandResult {
        let settings = self.settings;
        if settings.refresh_on_max && !settings.quiet && !settings.verbose {
            print(&output::down(self.lines.len()));
        }
        if let Some(file) = &settings.json {
            let text = json(settings, &self.account, frame, root);
            if file == "-" {
                print(&text);
            } else if let Err(error) = fs::write(file, text) {
                complain!("error: cannot write {file}: {error}");
                return Ok(BAD_INPUT);
            }
        }
        if settings.quiet && settings.histogram.is_none() {
            print(&self.thread_lines());
        }
        if settings.spike.is_some() {
            print(&output::spikes(&self.account));
        }
        if settings.histogram.is_some() {
            let histogram = output::histogram(settings, &self.account);
            match &settings.histogram_file {
                Some(file) => fs::write(file, &histogram)
                    .with_context(|| format!("cannot write {file}"))
                    .map_err(Failure::run_failed)?,
                None => print(&histogram),
            }
        }
        if settings.break_above.is_some() {
            let broken = match end {
                End::BreakAbove { thread, latency_ns, .. } => {
                    Some((*thread, latency_ns / settings.unit().0))
                }
                _ => None,
            };
            print(&output::break_lines(&self.account, broken));
        }
        if let Some(trap) = traps::of_run(&self.account) {
            complain!("teiji cyclictest: {trap}");
        }
        match end {
            End::Done | End::Signal { .. } | End::BreakAbove { .. } => return Ok(DONE),
            End::ProbeFailed { error } | End::RecordingFailed { error } => {
                complain!("error: the run ended early: {error}")
            }
            End::Guard { starved_ns, .. } => complain!(
                "error: the run was ended: its threads left the system no time for {}",
                Nanos(*starved_ns)
            ),
            End::Overtime { by_ns } => {
                complain!("error: the run was ended {} after it should have", Nanos(*by_ns))
            }
        }
        Ok(RUN_FAILED)
    }
}

/// How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, ns.
fn ahead_of_monotonic() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Nanos::from(since).0 - probe::Monotonic.now().0
}
