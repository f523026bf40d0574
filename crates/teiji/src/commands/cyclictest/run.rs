// SPDX-License-Identifier: MIT OR Apache-2.0
//! The run: threads measure, and what comes out of them is printed every 10 ms.

use super::account::Account;
use super::json::{Frame, json};
use super::output::{self, ThreadLine};
use super::settings::{Affinity, Alignment, Settings};
use super::status::{Pipe, SharedFile};
use super::traps;
use crate::commands::measure;
use crate::exit::{BAD_INPUT, CommandResult, DONE, EXCEEDED, Failure, RUN_FAILED};
use crate::output::{is_reader_gone, print};
use crate::signals;
use anyhow::Context;
use host::HostRoot;
use model::End;
use plan::{CpuId, Length, Nanos, Policy, ProcessCpus, Run, Scheduling};
use report::{Language, warning_text};
use runner::{Progress, ProgressObserver, RowSink, Signals, Unrecorded, execute, grant};
use rustix::thread::NanosleepRelativeResult;
use signal_hook::consts::{SIGUSR1, SIGUSR2};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

/// Between two times that rows are taken from the threads.
const POLL: Duration = Duration::from_millis(10);

/// The same where the kernel's trace is to end soon after a latency.
const POLL_TO_MARK: Duration = Duration::from_micros(200);

/// As a shell has it of a program that SIGPIPE ended.
const READER_GONE: u8 = 141;

/// The kernel's trace, as it lies since Linux 4.1 and before.
const TRACING: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// How it was called.
pub struct Call<'a> {
    pub command_line: &'a str,
    /// Where the program's CPUs are known.
    pub cpus: ProcessCpus,
    /// When the program began, CLOCK_MONOTONIC ns.
    pub program_started: Nanos,
    /// Folder of a recording that is made besides.
    pub record: Option<PathBuf>,
}

/// Runs it.
pub fn run(settings: &Settings, call: &Call<'_>) -> CommandResult {
    let root = HostRoot::system();
    let ProcessCpus { inherited, usable, .. } = &call.cpus;
    let threads = settings.threads.unwrap_or(inherited.len());
    let Some(scheduling) = scheduling(settings, threads) else {
        complain!("error: thread {} would have a priority below 0", settings.priority + 1);
        return Ok(EXCEEDED);
    };
    let asked = scheduling[0];
    if grant(asked).warning.is_some() {
        complain!("error: this process may not have {asked}: run it as root, or see teiji check");
        return Ok(EXCEEDED);
    }
    let order = match order(settings, scheduling, inherited, usable) {
        Ok(order) => order,
        Err(error) => {
            complain!("error: {error}");
            return Ok(EXCEEDED);
        }
    };
    let watcher = Watcher::begin(settings)?;
    let signals = signals::catch()?;
    if settings.verbose {
        let online = root.online_cpus().len();
        print(&format!("Max CPUs = {online}\nOnline CPUs = {online}\n"));
    }
    if let Some(cpus) = &settings.main_affinity {
        let set = cpus.resolve(usable).map_err(std::io::Error::other);
        let set = set.and_then(|cpus| system::scheduling::set_affinity(None, &cpus));
        if let Err(error) = set {
            complain!("teiji cyclictest: the main thread stays where it is: {error}");
        }
    }
    if settings.resolution {
        say_resolution();
    }
    let started = SystemTime::now();
    let (run, end) = match &call.record {
        None => unrecorded(settings, &order, watcher, &signals)?,
        Some(folder) => recorded(settings, &order, watcher, &signals, call, folder)?,
    };
    if call.record.is_none() && is_reader_gone() {
        return Ok(READER_GONE);
    }
    let cpus = match order.unpinned {
        Some(_) if call.record.is_none() => vec![None; threads],
        _ => order.run.cpus.iter().map(|cpu| Some(cpu.0)).collect(),
    };
    let command_line = call.command_line.to_owned();
    let frame = Frame { command_line, started, ended: SystemTime::now(), cpus };
    run.print_result(&end, &frame, &root)
}

/// A run of which nothing is kept, and how it ended.
fn unrecorded<'a>(
    settings: &'a Settings,
    order: &Unrecorded,
    watcher: Watcher,
    signals: &Signals,
) -> Result<(Running<'a>, End), Failure> {
    let mut rows = order.begin().map_err(Failure::run_failed)?;
    for warning in rows.warnings() {
        // What to do about it has another name there.
        complain!("teiji cyclictest: {}", warning_text(warning, Language::English).message);
    }
    let mut run = Running::new(settings, order, watcher);
    run.begun(&rows.threads(), rows.starts(), rows.holds_dma_latency());
    let poll = if settings.trace_mark { POLL_TO_MARK } else { POLL };
    loop {
        rows.drain(|thread, first, columns| run.take(thread, first, columns));
        let is_done = run.account.is_done();
        run.show();
        run.wait(poll);
        let is_asked = signals.caught().is_some() || run.is_long_enough();
        if is_done || rows.is_over() || is_asked || is_reader_gone() {
            break;
        }
        run.go_on();
    }
    if settings.trace_mark && rows.is_over() {
        end_trace();
    }
    let (end, _) = rows.end();
    rows.drain(|thread, first, columns| run.take(thread, first, columns));
    Ok((run, end))
}

/// The same with a recording besides, in a new folder below this one.
fn recorded<'a>(
    settings: &'a Settings,
    order: &Unrecorded,
    watcher: Watcher,
    signals: &Signals,
    call: &Call<'_>,
    folder: &Path,
) -> Result<(Running<'a>, End), Failure> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make {}", crate::output::path(folder)))?;
    let mut run = order.run.clone();
    // As long as there, where no cycle is skipped.
    run.length = match (settings.loops, settings.duration) {
        (Some(loops), _) => Length::DurationNs(Nanos(
            settings.interval.0.saturating_mul(i64::try_from(loops).unwrap_or(i64::MAX)),
        )),
        (None, Some(duration)) => Length::DurationNs(duration),
        (None, None) => Length::Forever,
    };
    run.hold_dma_latency = order.dma_latency_us.is_some();
    // Scripts call it several times a second.
    let end = format!("-{}.teiji", std::process::id());
    let directory = folder.join(crate::output::new_name("cyclictest", &end));
    let started = call.program_started;
    let order_of_run =
        measure::order(run, order.probe.clone(), Vec::new(), directory, &call.cpus, started)?;
    if order.unpinned.is_some() || settings.spread_priorities {
        complain!(
            "teiji cyclictest: in a recorded run each thread has a CPU of its own, and all the \
             same priority"
        );
    }
    if order.dma_latency_us.is_some_and(|micros| micros > 0) {
        complain!("teiji cyclictest: in a recorded run /dev/cpu_dma_latency is held at 0");
    }
    // What is printed is what the threads have.
    let in_force = Unrecorded {
        scheduling: vec![order.scheduling[0]; order.scheduling.len()],
        dma_latency_us: order.dma_latency_us.map(|_| 0),
        ..order.clone()
    };
    let (sender, receiver) = channel();
    let run = Running::new(settings, &in_force, watcher);
    let mut observer = Recorded { run, sender, receiver };
    let examined = execute(&order_of_run, signals, &mut observer, None)?;
    let end = examined.recorded.document.end.unwrap_or(End::Done);
    observer.take();
    if end == End::Done {
        observer.run.go_on();
        observer.run.show();
    }
    complain!("teiji cyclictest: recorded in {}", crate::output::path(&examined.recorded.path));
    if settings.trace_mark && matches!(end, End::BreakAbove { .. }) {
        end_trace();
    }
    Ok((observer.run, end))
}

/// Prints what a run is that is recorded.
struct Recorded<'a> {
    run: Running<'a>,
    sender: Sender<(usize, u64, Vec<i64>)>,
    receiver: Receiver<(usize, u64, Vec<i64>)>,
}

impl Recorded<'_> {
    fn take(&mut self) {
        for (thread, first, columns) in self.receiver.try_iter() {
            self.run.take(thread, first, &columns);
        }
    }
}

impl ProgressObserver for Recorded<'_> {
    fn observes(&self) -> bool {
        true
    }

    fn every(&self) -> Duration {
        POLL
    }

    fn rows(&mut self) -> Option<RowSink> {
        let sender = self.sender.clone();
        Some(Box::new(move |thread, first, columns| {
            // The receiver goes with the run.
            let _ = sender.send((thread, first, columns.to_vec()));
        }))
    }

    fn begun(&mut self, threads: &[i32], starts: &[Nanos], holds_dma_latency: bool) {
        self.run.begun(threads, starts, holds_dma_latency);
    }

    fn progress(&mut self, _: &Progress) {
        self.run.go_on();
        self.take();
        self.run.show();
    }
}

/// Each thread's; none where one would be below 0.
fn scheduling(settings: &Settings, threads: usize) -> Option<Vec<Scheduling>> {
    let of = |thread| {
        let lower = if settings.spread_priorities { u32::try_from(thread).ok()? } else { 0 };
        let priority = u8::try_from(settings.priority.checked_sub(lower)?).ok()?;
        Some(match priority {
            0 if settings.policy.is_real_time() => Scheduling::OTHER,
            0 => Scheduling { policy: settings.policy, prio: None },
            _ => Scheduling { policy: settings.policy, prio: Some(priority) },
        })
    };
    (0..threads).map(of).collect()
}

/// What the threads are to do.
fn order(
    settings: &Settings,
    scheduling: Vec<Scheduling>,
    inherited: &[CpuId],
    usable: &[CpuId],
) -> Result<Unrecorded, Failure> {
    let listed: Vec<CpuId>;
    let cpus = match &settings.affinity {
        Affinity::Listed { cpus, .. } => {
            listed = cpus.resolve(usable)?;
            &listed
        }
        Affinity::Any | Affinity::Each => inherited,
    };
    // 2.4 as Debian has it pins each thread anyway.
    let stays = settings.affinity != Affinity::Any || settings.pins_unasked();
    let mut run = Run::example(settings.interval, 1);
    run.cpus = cpus.iter().cycle().take(scheduling.len()).copied().collect();
    run.distance_ns = settings.distance;
    run.length = Length::Forever;
    run.scheduling = scheduling[0];
    // Above so many whole units.
    run.break_above_ns = settings.break_above.and_then(|above| {
        let unit = settings.unit().0;
        Some(Nanos(i64::try_from(above).ok()?.checked_mul(unit)?.checked_add(unit - 1)?))
    });
    run.aligned_ns = match settings.alignment {
        Alignment::None => None,
        Alignment::Instant(offset) => Some(offset),
        Alignment::Second(_) => Some(Nanos::ZERO),
    };
    let after_second = match settings.alignment {
        Alignment::Second(offset) => Some(offset),
        _ => None,
    };
    // For so long, and not until a time: both clocks count the same.
    let is_relative = settings.sleep() == "relative";
    let clock = if settings.realtime_clock && !is_relative { "realtime" } else { "monotonic" };
    for (setting, value) in [("sleep", settings.sleep()), ("clock", clock)] {
        run.probe_settings.insert(setting.to_owned(), value.to_owned());
    }
    run.check()?;
    let probe = probe::choose(&run.probe, &run.probe_settings)?;
    Ok(Unrecorded {
        run,
        probe,
        scheduling,
        unpinned: (!stays).then(|| inherited.to_vec()),
        after_second,
        dma_latency_us: settings.dma_latency,
    })
}

/// How fine the clock is, as the kernel says and as it is read.
fn say_resolution() {
    let calibration = probe::Calibration::measure();
    complain!("WARN: reported clock resolution: {} nsec", calibration.resolution_ns);
    complain!("WARN: measured clock resolution approximately: {} nsec", calibration.read_ns);
}

/// Who asks for the figures so far.
struct Watcher {
    status_asked: Arc<AtomicBool>,
    snapshot_asked: Arc<AtomicBool>,
    shared: Option<SharedFile>,
    pipe: Option<Pipe>,
}

impl Watcher {
    fn begin(settings: &Settings) -> Result<Self, Failure> {
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
        })
    }
}

/// A run under way.
struct Running<'a> {
    settings: &'a Settings,
    policy: Policy,
    lines: Vec<ThreadLine>,
    account: Account,
    intervals: Vec<Nanos>,
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
    fn new(settings: &'a Settings, order: &Unrecorded, watcher: Watcher) -> Self {
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
        Running {
            settings,
            policy: order.scheduling[0].policy,
            lines: order.scheduling.iter().zip(&intervals).map(line).collect(),
            account,
            starts: vec![0; intervals.len()],
            intervals,
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
    fn begun(&mut self, threads: &[i32], starts: &[Nanos], holds_dma_latency: bool) {
        for (thread, tid) in self.account.threads.iter_mut().zip(threads) {
            thread.tid = *tid;
        }
        // Of CLOCK_REALTIME by what it is ahead now.
        let ahead = if self.settings.realtime_clock { ahead_of_monotonic() } else { 0 };
        self.starts = starts.iter().map(|start| start.0 + ahead).collect();
        self.begun = Instant::now();
        if let Some(micros) = self.dma_latency_us.filter(|_| holds_dma_latency) {
            print(&format!("# /dev/cpu_dma_latency set to {micros}us\n"));
        }
        if self.settings.verbose {
            for (index, interval) in self.intervals.iter().enumerate() {
                // As it stands there for the next thread.
                let next = (interval.0 + self.settings.distance.0) / 1_000;
                print(&format!("Thread {index} Interval: {next}\n"));
            }
        }
    }

    /// Takes in successive rows of a thread, column after column; the first has the latencies.
    fn take(&mut self, thread: usize, first: u64, columns: &[i64]) {
        let latencies = &columns[..columns.len() / self.columns];
        for (row, latency) in (first..).zip(latencies) {
            let planned = self.starts[thread] + row.cast_signed() * self.intervals[thread].0;
            self.account.add(thread, row, *latency, planned + latency);
        }
    }

    /// Prints what is printed as it goes, and answers who asked.
    fn show(&mut self) {
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
    fn wait(&mut self, time: Duration) {
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
    fn go_on(&mut self) {
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

    fn is_long_enough(&self) -> bool {
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
    fn print_result(&self, end: &End, frame: &Frame, root: &HostRoot) -> CommandResult {
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

/// Marks the latency in the kernel's trace, and ends the trace.
fn end_trace() {
    let Some(folder) = TRACING
        .iter()
        .map(|folder| Path::new("/").join(folder))
        .find(|folder| folder.join("trace_marker").exists())
    else {
        return complain!(
            "teiji cyclictest: the kernel's trace is not mounted: nothing was marked"
        );
    };
    for (file, text) in [("trace_marker", "hit latency threshold\n"), ("tracing_on", "0\n")] {
        if let Err(error) = fs::write(folder.join(file), text) {
            complain!("teiji cyclictest: cannot write {file} of the kernel's trace: {error}");
        }
    }
}
