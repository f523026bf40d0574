// SPDX-License-Identifier: MIT OR Apache-2.0
//! Explains latencies by the kernel's events during a run, on a thread of its own.
//!
//! The recorder hands on the rows that are above the threshold; the events of their CPU are read
//! then, and not before. In a part of each two seconds nothing is recorded, so that the same run
//! says what recording costs.

use crate::live::{LiveCause, MAX_SPIKES};
use crate::recorder::RowSink;
use host::HostRoot;
use model::{
    Account, EXPLAINED_VERSION, Explained, Timeline, WatchCost, Watched, WatchedLatencies,
};
use plan::{APP_PROBE, CpuId, DEFAULT_PROBE, Nanos, Run};
use probe::Monotonic;
use stats::{Histogram, nearest_rank};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use trace::{Beside, Spike, TraceError, Tracefs, Watch, account, forget_addresses, name_functions};

/// Events are read on it.
const STACK_BYTES: usize = 256 * 1024;
/// Between two times that it looks for latencies: what the kernel keeps of a CPU lasts ten times as
/// long under the heaviest load.
const EVERY: Duration = Duration::from_millis(50);
/// Of each period from the first activation on, this part without events.
const PERIOD: i64 = 2_000_000_000;
const WITHOUT: std::ops::Range<i64> = 800_000_000..1_000_000_000;
/// So long after events are switched on or off, rows count for neither.
const CHANGING: i64 = 5_000_000;
/// Events before the planned time that are read, to know what ran then.
const BEFORE: i64 = 10_000_000;
/// And after it ran: the switch to it may be told of a moment later.
const AFTER: i64 = 20_000;
/// Threads on one CPU hand on their rows one after the other: so much earlier than the last latency
/// explained another one may have been.
const OUT_OF_ORDER: i64 = 500_000_000;
/// Latencies that wait to be explained at most.
const MAX_WAITING: usize = 100_000;
/// Accounts that are kept, the worst, and parts of all of them; of so many also what ran when, with
/// so many turns.
const MAX_ACCOUNTS: usize = 5_000;
const MAX_PARTS: usize = 40_000;
const MAX_TIMELINES: usize = 20;
const MAX_SPANS: usize = 1_500;
/// Rows on either side without which no cost is said: of fewer, the 99th percentile is chance.
const MIN_ROWS: u64 = 1_000;
/// A change of steal time is known to no less.
const TICK_NS: u64 = 10_000_000;
/// Leaving an idle state takes so much more than the kernel's table says, as the CPU is warmed up.
const IDLE_SLACK_NS: u64 = 20_000;

/// Removes the tracing that killed processes left, which delays what is measured: how many traces,
/// or why not. None where none is seen.
pub fn remove_left_tracing() -> Option<Result<usize, String>> {
    Some(Tracefs::remove_left()?.map_err(|error| error.to_string()))
}

/// The thread, until it has ended.
pub(crate) struct Watcher {
    shared: Arc<Shared>,
    /// None once it has been waited for.
    thread: Option<JoinHandle<Result<Found, TraceError>>>,
}

struct Shared {
    frozen: AtomicBool,
    ended: AtomicBool,
    rows: Mutex<Rows>,
    /// The latest causes of each thread, where they are shown.
    causes: Option<Mutex<BTreeMap<usize, VecDeque<LiveCause>>>>,
}

/// How rows tell of wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowLayout {
    /// Of a measuring thread, one in each interval.
    Planned,
    /// Of another program's threads, with a time of their own.
    Program,
}

/// What the recorder hands on.
struct Rows {
    above: i64,
    layout: RowLayout,
    /// Each thread's number, CPU, start and interval.
    threads: Vec<(i64, CpuId, i64, i64)>,
    waiting: Vec<Spike>,
    /// Those for which there was no room to wait: their events go unread.
    not_taken: u64,
    largest_not_taken: i64,
    /// Above the threshold in all.
    count: u64,
    /// When events were switched on or off, and which of the two: the last changes.
    switched: VecDeque<(i64, bool)>,
    with: Histogram,
    without: Histogram,
}

/// What came of it.
struct Found {
    accounts: Vec<Account>,
    watched: Watched,
}

impl Rows {
    /// Whether events were recorded all of this time; none where that changed.
    fn was_on(&self, from: i64, until: i64) -> Option<bool> {
        let later = self.switched.partition_point(|(at, _)| *at <= from);
        let (_, on) = self.switched.get(later.checked_sub(1)?)?;
        self.switched.get(later).is_none_or(|(at, _)| *at > until).then_some(*on)
    }

    /// Takes rows of so many columns.
    fn take(&mut self, thread: usize, first: u64, values: &[i64], width: usize) {
        let Some(&(number, cpu, start, interval)) = self.threads.get(thread) else { return };
        let rows = values.len() / width.max(1);
        let value = |column: usize, row: usize| values[column * rows + row];
        for (row, activation) in (0..rows).zip(first..) {
            let spike = match self.layout {
                RowLayout::Planned => {
                    let due = activation.cast_signed().saturating_mul(interval);
                    let planned = start.saturating_add(due);
                    let woke = planned.saturating_add(value(0, row));
                    Spike { thread, number, cpu, activation, planned, woken: None, woke }
                }
                RowLayout::Program => {
                    let [time, latency, switch, number, cpu] =
                        [0, 1, 2, 5, 6].map(|column| value(column, row));
                    let woke = start.saturating_add(time);
                    let (planned, woken) = (woke - latency, Some(woke - switch));
                    let cpu = CpuId(u32::try_from(cpu).unwrap_or(u32::MAX));
                    Spike { thread, number, cpu, activation, planned, woken, woke }
                }
            };
            self.take_one(spike);
        }
    }

    fn take_one(&mut self, spike: Spike) {
        let latency = spike.woke - spike.planned;
        match self.was_on(spike.planned - CHANGING, spike.woke) {
            Some(true) => self.with.record(latency),
            Some(false) => self.without.record(latency),
            None => {}
        }
        if latency <= self.above {
            return;
        }
        self.count += 1;
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push(spike);
        } else {
            self.not_taken += 1;
            self.largest_not_taken = self.largest_not_taken.max(latency);
        }
    }

    fn cost(&self) -> Option<WatchCost> {
        let of = |histogram: &Histogram| {
            let samples = histogram.total();
            let quantile = |percent| {
                let rank = nearest_rank(samples, percent, 100);
                histogram.bucket_of_rank(rank).map(|(bucket, _)| bucket.upper)
            };
            (samples >= MIN_ROWS).then_some(())?;
            Some(WatchedLatencies { samples, p50_ns: quantile(50)?, p99_ns: quantile(99)? })
        };
        Some(WatchCost { with: of(&self.with)?, without: of(&self.without)? })
    }
}

impl Watcher {
    /// Begins to record events of the measured CPUs, if the run asks for that. `shows_causes`:
    /// [`Watcher::causes`] will be asked.
    ///
    /// # Errors
    /// Why none can be recorded here.
    pub(crate) fn start(
        run: &Run,
        threads: &[i32],
        host: &HostRoot,
        width: usize,
        shows_causes: bool,
    ) -> Option<Result<(Self, RowSink), TraceError>> {
        let above = run.explain_above_ns?;
        let numbers: Vec<i64> = threads.iter().copied().map(i64::from).collect();
        // A program's threads may run anywhere, and are not known beforehand.
        let (layout, width, cpus, numbers) = match run.probe.as_str() {
            DEFAULT_PROBE => (RowLayout::Planned, width, run.cpus.clone(), numbers),
            APP_PROBE => (RowLayout::Program, width + 1, host.online_cpus(), Vec::new()),
            other => {
                let what = format!("the probe {other} has no threads of Linux");
                return Some(Err(TraceError::Missing(what)));
            }
        };
        Some(Watch::begin(&cpus, &numbers).and_then(|watch| {
            let shared = Arc::new(Shared {
                frozen: AtomicBool::new(false),
                ended: AtomicBool::new(false),
                rows: Mutex::new(Rows {
                    above: above.0,
                    layout,
                    threads: Vec::new(),
                    waiting: Vec::new(),
                    not_taken: 0,
                    largest_not_taken: 0,
                    count: 0,
                    switched: VecDeque::from([(Monotonic.now().0, true)]),
                    with: Histogram::default(),
                    without: Histogram::default(),
                }),
                causes: shows_causes.then(Mutex::default),
            });
            let watching = Watching {
                watch,
                shared: Arc::clone(&shared),
                host: host.clone(),
                is_on: true,
                steal: VecDeque::new(),
                given: BTreeMap::new(),
                idle_exit_ns: cpus.iter().map(|cpu| (*cpu, idle_exit_ns(host, *cpu))).collect(),
                accounts: Vec::new(),
                unwatched: 0,
                overwritten: 0,
                unseen: 0,
                accounted: 0,
                largest_without_ns: 0,
            };
            let builder = Builder::new().name("teiji-watcher".into()).stack_size(STACK_BYTES);
            let thread = builder.spawn(move || watching.until_the_end()).map_err(no_thread)?;
            let rows = Arc::clone(&shared);
            let sink: RowSink = Box::new(move |thread, first, values: &[i64]| {
                rows.lock().take(thread, first, values, width);
            });
            Ok((Watcher { shared, thread: Some(thread) }, sink))
        }))
    }

    /// When row 0 of each thread is due, and how far apart its rows are.
    pub(crate) fn begins(&self, run: &Run, threads: &[i32], starts: &[Nanos]) {
        let of = |(index, ((number, start), cpu)): (usize, ((&i32, &Nanos), &CpuId))| {
            (i64::from(*number), *cpu, start.0, run.interval_of(index).0)
        };
        let threads = threads.iter().zip(starts).zip(&run.cpus);
        self.shared.lock().threads = threads.enumerate().map(of).collect();
    }

    /// The latest that are known.
    pub(crate) fn causes(&self) -> Vec<LiveCause> {
        let Some(causes) = &self.shared.causes else { return Vec::new() };
        let causes = causes.lock().unwrap_or_else(PoisonError::into_inner);
        causes.values().flatten().cloned().collect()
    }

    /// Nothing more is measured: what the kernel has of it is to stay.
    pub(crate) fn freeze(&self) {
        self.shared.frozen.store(true, Ordering::Release);
        self.thread.iter().for_each(|thread| thread.thread().unpark());
    }

    /// Explains what is left, and ends. To be called when the recorder has handed on all rows.
    ///
    /// # Errors
    /// What could not be read, or removed.
    pub(crate) fn end(mut self) -> Result<(Explained, Watched), TraceError> {
        let found = self.join().unwrap_or_else(|| {
            Err(TraceError::Missing("the thread that explains latencies panicked".to_owned()))
        })?;
        let explained = Explained {
            version: EXPLAINED_VERSION,
            identical_samples: None,
            accounts: found.accounts,
        };
        Ok((explained, found.watched))
    }

    fn join(&mut self) -> Option<Result<Found, TraceError>> {
        let thread = self.thread.take()?;
        self.shared.ended.store(true, Ordering::Release);
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.join();
    }
}

fn no_thread(error: io::Error) -> TraceError {
    TraceError::Missing(format!("the thread that explains latencies cannot be started: {error}"))
}

impl Shared {
    /// A spike has its account, or will have none.
    fn show_cause(&self, spike: &Spike, account: Option<&Account>) {
        let Some(causes) = &self.causes else { return };
        let mut causes = causes.lock().unwrap_or_else(PoisonError::into_inner);
        let causes = causes.entry(spike.thread).or_default();
        if causes.len() == MAX_SPIKES {
            causes.pop_front();
        }
        let account = account.map(|account| {
            let Account { thread, activation, latency_ns, .. } = *account;
            let (parts, program) = (account.parts.clone(), account.program.clone());
            let timeline = Timeline::default();
            let mut account = Account { thread, program, activation, latency_ns, parts, timeline };
            forget_addresses(&mut account);
            account
        });
        causes.push_back(LiveCause { thread: spike.thread, activation: spike.activation, account });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long leaving an idle state of a CPU takes at most, ns.
fn idle_exit_ns(host: &HostRoot, cpu: CpuId) -> u64 {
    host.idle_exit_us(cpu).map_or(0, |us| us.saturating_mul(1_000)) + IDLE_SLACK_NS
}

/// What the thread does.
struct Watching {
    watch: Watch,
    shared: Arc<Shared>,
    host: HostRoot,
    is_on: bool,
    /// Steal time of each CPU, at the times that it was read.
    steal: VecDeque<(i64, BTreeMap<CpuId, u64>)>,
    /// What of it has been given to latencies, by the time that it was read at.
    given: BTreeMap<(CpuId, i64), u64>,
    idle_exit_ns: BTreeMap<CpuId, u64>,
    accounts: Vec<Account>,
    unwatched: u64,
    overwritten: u64,
    /// Of whose wake-up no event was seen.
    unseen: u64,
    accounted: u64,
    /// The largest latency that has no account, ns.
    largest_without_ns: u64,
}

/// Readings of steal time that are kept.
const MAX_STEAL: usize = 200;

impl Watching {
    fn until_the_end(mut self) -> Result<Found, TraceError> {
        while !self.shared.ended.load(Ordering::Acquire) {
            self.pass()?;
            std::thread::park_timeout(EVERY);
        }
        self.switch(false)?;
        self.pass()?;
        let cost = self.shared.lock().cost();
        let (above, not_taken, largest_not_taken) = {
            let rows = self.shared.lock();
            (rows.count, rows.not_taken, rows.largest_not_taken)
        };
        self.overwritten += not_taken;
        self.largest_without_ns =
            self.largest_without_ns.max(u64::try_from(largest_not_taken).unwrap_or(0));
        let Watching { watch, accounts, unwatched, overwritten, unseen, accounted, .. } = self;
        let largest_without_ns = self.largest_without_ns;
        let recorded = watch.recorded().clone();
        let buffer_kib = watch.buffer_kib();
        watch.end()?;
        let mut accounts = kept(accounts);
        name_functions(&mut accounts);
        let watched = Watched {
            events: recorded.events,
            lacking: recorded.lacking,
            buffer_kib,
            above,
            accounted,
            overwritten,
            unwatched,
            unseen,
            kept: accounts.len() as u64,
            largest_without_ns,
            cost,
        };
        Ok(Found { accounts, watched })
    }

    fn switch(&mut self, on: bool) -> Result<(), TraceError> {
        if self.is_on != on {
            self.watch.switch(on)?;
            self.is_on = on;
            let mut rows = self.shared.lock();
            rows.switched.push_back((Monotonic.now().0, on));
            if rows.switched.len() > MAX_STEAL {
                rows.switched.pop_front();
            }
        }
        Ok(())
    }

    fn pass(&mut self) -> Result<(), TraceError> {
        let now = Monotonic.now().0;
        if self.shared.frozen.load(Ordering::Acquire) {
            self.switch(false)?;
        } else {
            let begun = self.shared.lock().threads.first().map(|(.., start, _)| now - start);
            let is_without = |since: i64| since >= 0 && WITHOUT.contains(&since.rem_euclid(PERIOD));
            self.switch(!begun.is_some_and(is_without))?;
        }
        self.steal.push_back((now, self.host.stolen_ms()));
        if self.steal.len() > MAX_STEAL {
            self.steal.pop_front();
        }
        let mut spikes = std::mem::take(&mut self.shared.lock().waiting);
        spikes.sort_by_key(|spike| spike.woke);
        let mut read: BTreeSet<CpuId> = BTreeSet::new();
        for spike in &spikes {
            let on = self.shared.lock().was_on(spike.planned, spike.woke);
            if on != Some(true) {
                self.unwatched += 1;
                self.largest_without(spike);
                continue;
            }
            // A thread that is not pinned may have come from any other CPU.
            let cpus: Vec<CpuId> = match spike.woken {
                None => vec![spike.cpu],
                Some(_) => self.watch.cpus().collect(),
            };
            for cpu in cpus.into_iter().filter(|cpu| read.insert(*cpu)) {
                self.watch.read(cpu, spike.planned - OUT_OF_ORDER).map_err(unreadable)?;
            }
            self.explain(spike);
        }
        self.bound();
        Ok(())
    }

    /// All of it is locked memory, however long the run is.
    fn bound(&mut self) {
        let parts: usize = self.accounts.iter().map(|account| account.parts.len()).sum();
        if self.accounts.len() > 2 * MAX_ACCOUNTS || parts > 2 * MAX_PARTS {
            self.accounts = kept(std::mem::take(&mut self.accounts));
        }
        let oldest = self.steal.front().map_or(i64::MIN, |(at, _)| *at);
        self.given.retain(|(_, at), _| *at >= oldest);
    }

    fn explain(&mut self, spike: &Spike) {
        let stolen = self.stolen(spike);
        let idle_exit_ns = self.idle_exit_ns.get(&spike.cpu).copied().unwrap_or(IDLE_SLACK_NS);
        let beside =
            Beside { stolen_ns: stolen.map_or(0, |(_, stolen_ns)| stolen_ns), idle_exit_ns };
        let legs = self.watch.legs(spike, (BEFORE, AFTER)).unwrap_or_default();
        if legs.iter().any(|leg| leg.window.complete_from > leg.from) {
            self.overwritten += 1;
            self.largest_without(spike);
            return;
        }
        let own = self.watch.own(spike, OUT_OF_ORDER);
        let Some(account) = account(spike, &legs, &own, &beside) else {
            self.unseen += 1;
            self.largest_without(spike);
            return;
        };
        let taken = account.parts.iter().filter(|part| part.kind == model::PartKind::Hypervisor);
        let taken: u64 = taken.map(|part| part.length_ns).sum();
        if let Some((at, _)) = stolen {
            *self.given.entry((spike.cpu, at)).or_default() += taken;
        }
        self.accounted += 1;
        self.shared.show_cause(spike, Some(&account));
        self.accounts.push(account);
        if self.accounted.is_multiple_of(1_024) {
            self.bound();
        }
    }

    fn largest_without(&mut self, spike: &Spike) {
        self.shared.show_cause(spike, None);
        let latency_ns = u64::try_from(spike.woke - spike.planned).unwrap_or(0);
        self.largest_without_ns = self.largest_without_ns.max(latency_ns);
    }

    /// How much the hypervisor may have had of a latency, ns, and the time of the reading that says
    /// so: what steal time moved meanwhile and a tick, without what was given to others.
    fn stolen(&self, spike: &Spike) -> Option<(i64, u64)> {
        let before = self.steal.partition_point(|(at, _)| *at <= spike.planned).checked_sub(1)?;
        let (_, from) = &self.steal[before];
        let (at, until) =
            self.steal.iter().find(|(at, _)| *at >= spike.woke).or_else(|| self.steal.back())?;
        let ms = |of: &BTreeMap<CpuId, u64>| of.get(&spike.cpu).copied();
        let moved = ms(until)?.saturating_sub(ms(from)?).saturating_mul(1_000_000);
        let given = self.given.get(&(spike.cpu, *at)).copied().unwrap_or(0);
        (moved > 0).then(|| (*at, (moved + TICK_NS).saturating_sub(given)))
    }
}

fn unreadable(source: io::Error) -> TraceError {
    TraceError::Missing(format!("the kernel's events cannot be read: {source}"))
}

/// The worst, with what ran when of the worst of them.
fn kept(mut accounts: Vec<Account>) -> Vec<Account> {
    accounts.sort_by_key(|account| {
        (std::cmp::Reverse(account.latency_ns), account.thread, account.activation)
    });
    accounts.truncate(MAX_ACCOUNTS);
    let mut parts = 0;
    let fits = |account: &&Account| {
        parts += account.parts.len();
        parts <= MAX_PARTS
    };
    let fitting = accounts.iter().take_while(fits).count();
    accounts.truncate(fitting);
    for (place, account) in accounts.iter_mut().enumerate() {
        let most = if place < MAX_TIMELINES { MAX_SPANS } else { 0 };
        account.timeline = account.timeline.longest(most);
    }
    accounts
}
