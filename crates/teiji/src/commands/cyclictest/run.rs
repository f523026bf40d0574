// SPDX-License-Identifier: MIT OR Apache-2.0
//! The run: what threads are to do, and how they do it, with a recording or without. What comes out
//! of them is printed every 10 ms.

use super::idle_states::IdleStates;
use super::json::Frame;
use super::options::Version;
use super::running::{Running, Watcher};
use super::settings::{Affinity, Alignment, Settings};
use crate::commands::measure;
use crate::exit::{CommandResult, EXCEEDED, Failure};
use crate::output::{is_reader_gone, print};
use crate::signals;
use anyhow::Context;
use host::HostRoot;
use model::{End, SmisUnknown};
use plan::{CpuError, CpuId, CpuList, Length, Nanos, Policy, ProcessCpus, Run, Scheduling};
use probe::SmiCounter;
use report::{Language, warning_text};
use runner::{Progress, ProgressObserver, RowSink, Signals, Unrecorded, execute, grant};
use signal_hook::consts::SIGALRM;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime};

/// Between two times that rows are taken from the threads.
const POLL: Duration = Duration::from_millis(10);

/// The same where the kernel's trace is to end soon after a latency.
const POLL_TO_MARK: Duration = Duration::from_micros(200);

/// As a shell has it of a program that SIGPIPE ended.
const READER_GONE: u8 = 141;

/// As cyclictest has it where it cannot set idle states.
const IDLE_STATES_REFUSED: u8 = 255;

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
    for list in &settings.counted {
        let Ok(cpus) = listed(list, usable) else { break };
        let function = if settings.version == Version::One { "parse_cpumask: " } else { "" };
        print(&format!("{function}Using {} cpus.\n", cpus.len()));
    }
    let threads = settings.threads.unwrap_or(inherited.len());
    let Some(scheduling) = scheduling(settings, threads) else {
        complain!("error: thread {} would have a priority below 0", settings.priority + 1);
        return Ok(EXCEEDED);
    };
    if grant(Scheduling { policy: Policy::Fifo, prio: Some(1) }).warning.is_some() {
        complain!("Unable to change scheduling policy!");
        complain!("teiji cyclictest: run it as root, or see teiji check");
        return Ok(EXCEEDED);
    }
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
    let smis = match smi_counters(settings, &order, &root) {
        Ok(smis) => smis,
        Err(why) => {
            complain!("FATAL: {why}");
            return Ok(EXCEEDED);
        }
    };
    let watcher = Watcher::begin(settings, smis)?;
    let signals = signals::catch_as_rt_tests()?;
    // There it is blocked: a run that is sent one goes on.
    signal_hook::flag::register(SIGALRM, Arc::default())
        .context("cannot catch signals")
        .map_err(Failure::run_failed)?;
    let idle_states = match idle_states(settings, &root, usable, &signals) {
        Ok(limited) => limited,
        Err(why) => {
            complain!("{why}");
            return Ok(IDLE_STATES_REFUSED);
        }
    };
    if settings.verbose {
        let online = root.online_cpus().len();
        print(&format!("Max CPUs = {online}\nOnline CPUs = {online}\n"));
        if let Affinity::Listed { cpus, .. } = &settings.affinity {
            print(&format!("Using {} cpus.\n", listed(cpus, usable)?.len()));
        }
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
    drop(idle_states);
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
    fs::create_dir_all(folder)
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

/// Keeps CPUs from deeper idle states until what this gives goes: those of `-a`, or all.
fn idle_states(
    settings: &Settings,
    root: &HostRoot,
    usable: &[CpuId],
    signals: &Signals,
) -> Result<Option<IdleStates>, String> {
    let Some(deepest) = settings.deepest_idle_state else { return Ok(None) };
    let cpus = match &settings.affinity {
        Affinity::Listed { cpus, .. } => cpus.resolve(usable).unwrap_or_default(),
        Affinity::Any | Affinity::Each => root.online_cpus(),
    };
    IdleStates::limit(root, &cpus, deepest, &|| signals.caught().is_some())
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

/// The CPUs of a list. One that is not there is an error though it is left out.
fn listed(list: &CpuList, usable: &[CpuId]) -> Result<Vec<CpuId>, CpuError> {
    match list.largest().filter(|cpu| Some(cpu) > usable.last()) {
        Some(CpuId(cpu)) => Err(CpuError::NotAvailable { cpu, available: CpuList::format(usable) }),
        None => list.resolve(usable),
    }
}

/// What the threads are to do.
fn order(
    settings: &Settings,
    scheduling: Vec<Scheduling>,
    inherited: &[CpuId],
    usable: &[CpuId],
) -> Result<Unrecorded, Failure> {
    let resolved: Vec<CpuId>;
    let cpus = match &settings.affinity {
        Affinity::Listed { cpus, .. } => {
            resolved = listed(cpus, usable)?;
            &resolved
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

/// One for each thread's CPU where `--smi` asks for them, or why there are none, in the words of
/// cyclictest.
fn smi_counters(
    settings: &Settings,
    order: &Unrecorded,
    root: &HostRoot,
) -> Result<Vec<SmiCounter>, &'static str> {
    if !settings.smi {
        return Ok(Vec::new());
    }
    if order.unpinned.is_some() {
        return Err("SMI counter relies on thread affinity");
    }
    let begin = |cpu: &CpuId| {
        let mut counter = SmiCounter::open(&root.path(""), *cpu);
        counter.begin();
        match counter.since_begin().unknown {
            None => Ok(counter),
            Some(SmisUnknown::VirtualMachine | SmisUnknown::NotIntel) => {
                Err("SMI counter is not supported on this processor")
            }
            Some(SmisUnknown::NoDevice | SmisUnknown::NoRight) => Err(
                "Could not open MSR interface: as root, and after modprobe msr, it can be opened",
            ),
            Some(SmisUnknown::Unreadable) => Err("Could not read SMI counter"),
        }
    };
    order.run.cpus.iter().map(begin).collect()
}

/// How fine the clock is, as the kernel says and as it is read.
fn say_resolution() {
    let calibration = probe::Calibration::measure();
    complain!("WARN: reported clock resolution: {} nsec", calibration.resolution_ns);
    complain!("WARN: measured clock resolution approximately: {} nsec", calibration.read_ns);
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
