// SPDX-License-Identifier: MIT OR Apache-2.0
//! The run: threads measure, and what comes out of them is printed every 10 ms.

use super::account::Account;
use super::json::{Frame, json};
use super::output::{self, ThreadLine};
use super::settings::{Affinity, Alignment, Settings};
use super::status::{Pipe, SharedFile};
use super::traps;
use crate::exit::{CommandResult, DONE, EXCEEDED, Failure, RUN_FAILED};
use crate::output::print;
use crate::signals;
use anyhow::Context;
use host::HostRoot;
use plan::{CpuId, Length, Nanos, Policy, ProcessCpus, Run, Scheduling};
use probe::StopReason;
use report::{Language, warning_text};
use runner::{Rows, Unrecorded, grant};
use signal_hook::consts::{SIGUSR1, SIGUSR2};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Between two times that rows are taken from the threads.
const POLL: Duration = Duration::from_millis(10);

/// The same where the kernel's trace is to end soon after a latency.
const POLL_TO_MARK: Duration = Duration::from_micros(200);

/// The kernel's trace, as it lies since Linux 4.1 and before.
const TRACING: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// Runs it on these CPUs; `command_line` is how it was called.
pub fn run(settings: &Settings, cpus: ProcessCpus, command_line: &str) -> CommandResult {
    let root = HostRoot::system();
    let ProcessCpus { inherited, usable, .. } = cpus;
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
    let order = match order(settings, scheduling, &inherited, &usable) {
        Ok(order) => order,
        Err(error) => {
            complain!("error: {error}");
            return Ok(EXCEEDED);
        }
    };
    let watcher = Watcher::begin(settings)?;
    if settings.verbose {
        let online = root.online_cpus().len();
        print(&format!("Max CPUs = {online}\nOnline CPUs = {online}\n"));
    }
    if let Some(cpus) = &settings.main_affinity {
        let set = cpus.resolve(&usable).map_err(std::io::Error::other);
        let set = set.and_then(|cpus| system::scheduling::set_affinity(None, &cpus));
        if let Err(error) = set {
            complain!("teiji cyclictest: the main thread stays where it is: {error}");
        }
    }
    if settings.resolution {
        say_resolution();
    }
    let started = SystemTime::now();
    let mut rows = order.begin().map_err(Failure::run_failed)?;
    for warning in rows.warnings() {
        // What to do about it has another name there.
        complain!("teiji cyclictest: {}", warning_text(warning, Language::English).message);
    }
    if let (Some(micros), true) = (order.dma_latency_us, rows.holds_dma_latency()) {
        print(&format!("# /dev/cpu_dma_latency set to {micros}us\n"));
    }
    let mut run = Running::new(settings, &order, &rows, watcher);
    let reason = run.until_the_end(&mut rows);
    let cpus = match order.unpinned {
        Some(_) => vec![None; threads],
        None => order.run.cpus.iter().map(|cpu| Some(cpu.0)).collect(),
    };
    let frame =
        Frame { command_line: command_line.to_owned(), started, ended: SystemTime::now(), cpus };
    run.print_result(reason.as_ref(), &frame, &root)
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
    let clock = if settings.realtime_clock { "realtime" } else { "monotonic" };
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

/// Who asks for the end, and who for the figures so far.
struct Watcher {
    signals: runner::Signals,
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
            signals: signals::catch()?,
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
    watcher: Watcher,
    begun: Instant,
    shown_max: i64,
}

impl<'a> Running<'a> {
    fn new(settings: &'a Settings, order: &Unrecorded, rows: &Rows, watcher: Watcher) -> Self {
        let intervals: Vec<Nanos> =
            (0..order.scheduling.len()).map(|index| order.run.interval_of(index)).collect();
        let line = |(scheduling, interval): (&Scheduling, &Nanos)| ThreadLine {
            priority: scheduling.prio.unwrap_or(0),
            interval: *interval,
        };
        let mut account = Account::new(settings, intervals.len());
        for (thread, tid) in account.threads.iter_mut().zip(rows.threads()) {
            thread.tid = tid;
        }
        // Of CLOCK_REALTIME by what it is ahead now.
        let ahead = if settings.realtime_clock { ahead_of_monotonic() } else { 0 };
        Running {
            settings,
            policy: order.scheduling[0].policy,
            lines: order.scheduling.iter().zip(&intervals).map(line).collect(),
            account,
            starts: rows.starts().iter().map(|start| start.0 + ahead).collect(),
            intervals,
            watcher,
            begun: Instant::now(),
            shown_max: 0,
        }
    }

    /// Prints as it goes. Why it ended, where that was no signal, no length and no loops.
    fn until_the_end(&mut self, rows: &mut Rows) -> Option<StopReason> {
        let settings = self.settings;
        let is_live = !settings.quiet && !settings.verbose;
        if settings.verbose {
            for (index, interval) in self.intervals.iter().enumerate() {
                // As it stands there for the next thread.
                let next = (interval.0 + settings.distance.0) / 1_000;
                print(&format!("Thread {index} Interval: {next}\n"));
            }
        }
        let poll = if settings.trace_mark { POLL_TO_MARK } else { POLL };
        let mut is_first = true;
        loop {
            self.take(rows);
            let is_done = self.account.is_done();
            let is_shown = is_live && self.is_to_be_shown(is_first);
            if settings.verbose {
                print(&output::values(&mut self.account));
            } else if is_shown {
                let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
                let policy = output::policy_lines(self.policy, &self.lines, load.trim());
                print(&format!("{policy}{}", self.thread_lines()));
                is_first = false;
            }
            self.answer();
            std::thread::sleep(poll);
            if is_done || rows.is_over() || self.is_to_end() {
                break;
            }
            if is_shown {
                print(&output::up(self.lines.len()));
            }
        }
        if settings.trace_mark && rows.is_over() {
            end_trace();
        }
        let (reason, _) = rows.end();
        self.take(rows);
        if is_live && settings.refresh_on_max {
            print(&output::down(self.lines.len()));
        }
        reason
    }

    fn take(&mut self, rows: &mut Rows) {
        let Running { account, starts, intervals, .. } = self;
        rows.drain(|thread, first, latencies| {
            for (row, latency) in (first..).zip(latencies) {
                let planned = starts[thread] + row.cast_signed() * intervals[thread].0;
                account.add(thread, row, *latency, planned + latency);
            }
        });
    }

    /// With `-M` only a new maximum is.
    fn is_to_be_shown(&mut self, is_first: bool) -> bool {
        let max = self.account.max();
        let is_new = max > self.shown_max;
        self.shown_max = max;
        !self.settings.refresh_on_max || is_first || is_new
    }

    fn is_to_end(&self) -> bool {
        let is_long_enough = |length: Nanos| {
            u64::try_from(length.0).is_ok_and(|ns| self.begun.elapsed() >= Duration::from_nanos(ns))
        };
        self.watcher.signals.caught().is_some()
            || self.settings.duration.is_some_and(is_long_enough)
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
    fn print_result(
        &self,
        reason: Option<&StopReason>,
        frame: &Frame,
        root: &HostRoot,
    ) -> CommandResult {
        let settings = self.settings;
        if let Some(file) = &settings.json {
            write(file, &json(settings, &self.account, frame, root))?;
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
                Some(file) => write(file, &histogram)?,
                None => print(&histogram),
            }
        }
        if settings.break_above.is_some() {
            let broken = match reason {
                Some(StopReason::BreakAbove { thread, latency_ns, .. }) => {
                    Some((*thread, latency_ns / settings.unit().0))
                }
                _ => None,
            };
            print(&output::break_lines(&self.account, broken));
        }
        if let Some(trap) = traps::of_run(&self.account) {
            complain!("teiji cyclictest: {trap}");
        }
        match reason {
            None | Some(StopReason::BreakAbove { .. }) => Ok(DONE),
            Some(reason) => {
                complain!("error: the run was ended: {reason:?}");
                Ok(RUN_FAILED)
            }
        }
    }
}

/// Into a file, or with `-` to standard output.
fn write(file: &str, text: &str) -> Result<(), Failure> {
    if file == "-" {
        print(text);
        return Ok(());
    }
    fs::write(file, text)
        .with_context(|| format!("cannot write {file}"))
        .map_err(Failure::run_failed)
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
