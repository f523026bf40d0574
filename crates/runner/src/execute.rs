// SPDX-License-Identifier: MIT OR Apache-2.0
//! The run itself.

use crate::conditions::Conditions;
use crate::live::Progress;
use crate::prepared_run::PreparedRun;
use crate::recorder::{Recorder, RowSink, Shown, Tracks};
use crate::watcher::Watcher;
use crate::{Signals, document, machine_check};
use host::{HostRoot, ProcessTimes};
use load::{Loads, StartError};
use model::{
    Document, End, Examined, HostFacts, Recorded, State, TakenBy, Thread, Warning, fill_in,
};
use plan::{MachineTime, Nanos, OverrunPolicy};
use probe::{Calibration, Control, Measurement, Monotonic, ProbeError, StopReason, ThreadResult};
use recording::{Folder, Recording, RecordingError, verify};
use stats::ExactRequest;
use std::path::Path;
use std::time::Duration;

/// Observes the progress of a run. Called at ordinary priority, a few times a second.
pub trait ProgressObserver {
    /// Whether it wants figures at all; asked once, since figures that are not shown are not
    /// computed.
    fn observes(&self) -> bool;
    /// Whether it wants the histories of threads with them.
    fn observes_histories(&self) -> bool {
        false
    }
    fn progress(&mut self, progress: &Progress);
    /// Between two calls, where it observes.
    fn every(&self) -> Duration {
        POLL_SHOWN
    }
    /// What is to be given each row that is recorded, by the thread that records.
    fn rows(&mut self) -> Option<RowSink> {
        None
    }
    /// The threads are let go: their numbers, when row 0 of each is due, CLOCK_MONOTONIC ns, and
    /// whether /dev/cpu_dma_latency is held at 0.
    fn begun(&mut self, _threads: &[i32], _starts: &[Nanos], _holds_dma_latency: bool) {}
}

#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The recording could not be begun or ended.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The threads could not be started.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// A load could not be started, or the run was interrupted before it began.
    #[error(transparent)]
    Load(#[from] StartError),
    /// A thread beside the measuring ones could not be made.
    #[error("cannot start the thread that {does}: {source}")]
    Thread { does: &'static str, source: std::io::Error },
    /// A signal came before the threads were let go.
    #[error("interrupted before measuring began")]
    Interrupted,
}

/// The nice level of what prepares and records: ordinary scheduling still, but ahead of the loads.
const RECORDER_NICE: i32 = -20;
/// Between two checks of rings, loads and signals. A signal ends the sleep between them.
const POLL: Duration = Duration::from_millis(250);
/// The same while a terminal shows progress.
const POLL_SHOWN: Duration = Duration::from_millis(100);
/// The same once the last thread should have ended.
const POLL_OVERTIME: Duration = Duration::from_millis(2);
/// No run lasts longer after its last activation was due.
const MAX_OVERTIME: Nanos = Nanos::from_secs(5);
/// Threads that catch up may, with activations or with events that the kernel still has: this, or
/// as long again as the run.
const MAX_OVERTIME_CATCHING_UP: Nanos = Nanos::from_secs(10);
/// For opening the samples files and starting the recorder, at first.
const SETUP: Nanos = Nanos::from_millis(5);
/// No more than this.
const MAX_SETUP: Nanos = Nanos::from_secs(5);
/// A disk slower than this breaks the promise that a power cut costs a second at most.
const MAX_SYNC: Nanos = Nanos::from_millis(500);

/// Executes a run. To be called on the program's main thread: loads end with the thread that
/// started them. `judged` is what its limits ask about; without limits it has no analyses.
///
/// # Errors
/// When it could not begin: then nothing is left behind. A run that ends early, or whose recording
/// fails half-way, is no error here but says so in its document.
pub fn execute(
    order: &PreparedRun,
    signals: &Signals,
    observer: &mut dyn ProgressObserver,
    judged: Option<&ExactRequest>,
) -> Result<Examined, RunnerError> {
    let host = HostRoot::system();
    let mut document = document::initial_document(order, snapshot(&host));
    let mut machine_check = machine_check::begin(order, &host);
    let own = std::process::id();
    let mut processes_before = ProcessesBefore::read(&host, own);
    let mut folder = Folder::create(&order.directory, &document)?;
    let cancelled = || signals.caught().is_some();
    let mut loads = Loads::start(
        order.loads.clone(),
        order.run.phase,
        Path::new("/proc/self/exe"),
        order.load_verb,
        cancelled,
    )?;
    let settling = loads.settle(order.run.settle, cancelled)?;
    document.warnings.extend(loads.not_settled());
    loads.begin();
    // Measuring threads of ordinary scheduling and a program that is measured would inherit it.
    let is_inherited =
        !order.granted.scheduling.policy.is_real_time() || machine_check::program(order).is_some();
    let early_boost = (!is_inherited).then(NiceBoost::begin);
    let conditions = Conditions::arrange(order.run.hold_dma_latency.then_some(0), &host);
    let calibration = Calibration::measure();

    let control = Control::new();
    let mut measurement =
        Measurement::prepare(&order.run, &order.probe, order.granted.scheduling, &control)?;
    document.warnings.extend(conditions.warnings().iter().cloned());
    let nice_boost = early_boost.unwrap_or_else(NiceBoost::begin);
    // What happened while loads started and settled is not what happened while measuring. This
    // snapshot takes long under hundreds of tasks, so it comes before the warm-up begins, not
    // within it.
    if !order.run.loads.is_empty() {
        document.host.before = snapshot(&host);
        processes_before = ProcessesBefore::read(&host, own);
    }
    let poll = if observer.observes() { observer.every() } else { POLL };
    let slots = measurement.consumers.iter().map(probe::Consumer::slots).max().unwrap_or(0);
    // Its buffers and its events are made before the threads are let go.
    let threads: Vec<i32> = measurement.threads().map(|pid| pid.as_raw_nonzero().get()).collect();
    let width = order.statement.columns.len();
    let shown = observer.observes().then(|| match observer.observes_histories() {
        true => Shown::Histories(order.run.explain_above_ns),
        false => Shown::Figures,
    });
    let shows_causes = matches!(shown, Some(Shown::Histories(_)));
    let watcher = Watcher::start(&order.run, &threads, &host, width, shows_causes).transpose();
    let (watcher, mut sinks) = match watcher {
        Ok(watcher) => watcher.map(|(watcher, sink)| (watcher, vec![sink])).unzip(),
        Err(error) => {
            document.warnings.push(Warning::NotWatched { error: error.to_string() });
            (None, None)
        }
    };
    let not_interrupted = || if cancelled() { Err(RunnerError::Interrupted) } else { Ok(()) };
    let mut prepare = || -> Result<(Nanos, Recorder), RunnerError> {
        folder.begin(&document)?;
        not_interrupted()?;
        if order.run.sync {
            folder.sync(&cancelled)?;
        }
        let consumers = std::mem::take(&mut measurement.consumers);
        let no_thread = |does| move |source| RunnerError::Thread { does, source };
        let beside = sinks.take().into_iter().flatten().chain(observer.rows()).collect();
        let tracks = Tracks::new(&folder, &document, consumers, shown, beside);
        let mut tracks = tracks.map_err(no_thread("forces samples to the disk"))?;
        let open = |first| {
            not_interrupted()?;
            document.threads =
                document::threads(order, &measurement.starts(first), nice_boost.nice_before);
            document.instrument =
                document::instrument(order, calibration, &conditions, slots, first, settling);
            tracks.open(&folder, &document)?;
            Ok(folder.stage(&document)?)
        };
        let begin = plan_start(&measurement, open, || Ok(folder.put_in_place()?))?;
        let recorder = Recorder::start(tracks, poll).map_err(no_thread("records samples"))?;
        let starts = measurement.starts(begin);
        if let Some(watcher) = &watcher {
            watcher.begins(&order.run, &threads, &starts);
        }
        observer.begun(&threads, &starts, conditions.dma_latency_held());
        measurement.begin(begin);
        loads.measured_from(begin);
        Ok((begin, recorder))
    };
    let (begin, recorder) = match prepare() {
        Ok(prepared) => prepared,
        Err(error) => {
            control.stop(StopReason::Asked);
            measurement.join();
            folder.discard();
            return Err(error);
        }
    };
    let mut observe = Observe {
        order,
        signals,
        control: &control,
        begin,
        poll,
        observer,
        watcher: watcher.as_ref(),
    };
    observe.until_the_end(&measurement, &recorder, &mut loads);
    let results = measurement.join();
    let ended = Monotonic.now();
    watcher.iter().for_each(Watcher::freeze);
    // While the loads still run: killing them is work that no activation met.
    document.host.after = Some(snapshot(&host));
    // While a program that is measured still runs.
    machine_check::see_program(&mut machine_check, order, &host);
    let children_ms = host.waited_for_ms(own).saturating_sub(processes_before.waited_for_ms);
    let tracks = recorder.stop()?;
    match watcher.map(Watcher::end) {
        Some(Ok((explained, watched))) => {
            // What was measured is whole without it.
            match recording::write_explained(folder.path(), &explained) {
                Ok(()) => document.instrument.watched = Some(watched),
                Err(error) => {
                    document.warnings.push(Warning::NotWatched { error: error.to_string() });
                }
            }
        }
        Some(Err(error)) => {
            document.warnings.push(Warning::NotWatched { error: error.to_string() });
        }
        None => {}
    }
    drop(nice_boost);
    drop(conditions);

    document.load = loads.stop();
    document.load_off_target = document.load.iter().any(|load| load.off_target);
    document.warnings.extend(loads.warnings());
    // Tracers end only now that the machine is quiet.
    drop(measurement);
    let processes_after = host.process_lines();
    let elapsed_ms = processes_before.elapsed_ms();
    let mut processes = processes_after.since(&processes_before.times, own);
    processes.elapsed_ms = Some(elapsed_ms);
    // Of a probe that starts processes. Those of loads are waited for only when they are stopped.
    processes.own_ms += children_ms;
    document.host.processes = Some(processes);
    let bad = machine_check.map(|check| check.end(&host, &processes_after));
    document.warnings.extend(bad.unwrap_or_default());
    document.end = Some(document::end(control.reason(), signals.caught()));
    Ok(closing(order, folder, document, &results, tracks, ended, judged)?)
}

/// What processes had used when they were first read.
struct ProcessesBefore {
    times: ProcessTimes,
    /// Of our children that we had waited for.
    waited_for_ms: u64,
    at: Nanos,
}

impl ProcessesBefore {
    fn read(host: &HostRoot, own: u32) -> Self {
        let times = host.process_lines().times();
        ProcessesBefore { times, waited_for_ms: host.waited_for_ms(own), at: Monotonic.now() }
    }

    /// Since then, ms.
    fn elapsed_ms(&self) -> u64 {
        u64::try_from((Monotonic.now().0 - self.at.0) / Nanos::from_millis(1).0).unwrap_or(0)
    }
}

/// The calling thread ahead of ordinary ones: among hundreds of busy tasks it would wait its turn
/// for seconds, and samples with it. Without the right to, it stays as it is. Dropped, it is given
/// back: the next run of a plan begins as the first one did.
struct NiceBoost {
    nice_before: Option<i32>,
}

impl NiceBoost {
    fn begin() -> Self {
        let nice_before = rustix::process::getpriority_process(None).ok();
        let _ = rustix::process::setpriority_process(None, RECORDER_NICE);
        NiceBoost { nice_before }
    }
}

impl Drop for NiceBoost {
    fn drop(&mut self) {
        if let Some(nice) = self.nice_before {
            let _ = rustix::process::setpriority_process(None, nice);
        }
    }
}

/// The machine, with how its kernel can be preempted as `check` finds it.
fn snapshot(host: &HostRoot) -> HostFacts {
    HostFacts { preemption: check::preemption(host), ..host.snapshot() }
}

/// Plans when activation 0 of the first thread falls due, opens the files that have to know it, and
/// announces it once they are made. What a run needs is made before it begins: made meanwhile, it
/// would stand in the first latencies. If it took longer than planned, or announcing it did, it is
/// made again for a later start; the last attempt stands, and whatever is late then is counted so.
fn plan_start(
    measurement: &Measurement,
    mut open: impl FnMut(Nanos) -> Result<(), RunnerError>,
    mut announce: impl FnMut() -> Result<(), RunnerError>,
) -> Result<Nanos, RunnerError> {
    let mut allowed = SETUP.0;
    loop {
        let first = Nanos(measurement.earliest().0 + allowed);
        let stands = || measurement.earliest() <= first || allowed > MAX_SETUP.0;
        open(first)?;
        if stands() {
            announce()?;
            if stands() {
                return Ok(first);
            }
        }
        allowed *= 4;
    }
}

struct Observe<'a> {
    order: &'a PreparedRun,
    signals: &'a Signals,
    control: &'a Control,
    begin: Nanos,
    poll: Duration,
    observer: &'a mut dyn ProgressObserver,
    watcher: Option<&'a Watcher>,
}

impl Observe<'_> {
    /// Waits until all threads have ended or the run is stopped.
    fn until_the_end(&mut self, measurement: &Measurement, recorder: &Recorder, loads: &mut Loads) {
        let expected = self.order.run.expected_ns().0 - self.order.run.whole_warmup_ns().0;
        let allowed = match self.order.run.overrun_policy {
            OverrunPolicy::Skip if self.order.statement.is_planned() => MAX_OVERTIME,
            _ => MAX_OVERTIME_CATCHING_UP.max(Nanos(expected)),
        };
        let mut overtime = Overtime::new(expected, self.poll);
        while !measurement.is_finished() && !self.control.is_stopped() {
            loads.poll();
            let elapsed = Nanos(Monotonic.now().0 - self.begin.0);
            if self.observer.observes() {
                let run = &self.order.run;
                let expected_ns = (!run.length.is_endless()).then(|| run.measured_ns());
                let (threads, loads) = (recorder.shown(), loads.now());
                let causes = self.watcher.map(Watcher::causes);
                self.observer.progress(&Progress {
                    elapsed_ns: elapsed,
                    expected_ns,
                    threads,
                    loads,
                    explain_above: run.explain_above_ns,
                    causes,
                });
            }
            if self.signals.caught().is_some() || recorder.has_failed() {
                self.control.stop(StopReason::Asked);
                return;
            }
            let by_ns = overtime.observe(elapsed.0);
            if by_ns > allowed.0 && !measurement.is_finished() {
                self.control.stop(StopReason::Overtime { by_ns });
                return;
            }
            sleep(match u64::try_from(expected - elapsed.0) {
                Ok(left @ 1..) => {
                    self.poll.min(Duration::from_nanos(left) + Duration::from_millis(1))
                }
                _ => POLL_OVERTIME,
            });
        }
    }
}

/// How long threads have run past the end of their run. Counted check by check and not read off the
/// clock: while the process was stopped (Ctrl-Z) or the machine was suspended, threads could not
/// end, and nothing was checked.
struct Overtime {
    /// No more than this passes between two checks.
    max_step_ns: i64,
    checked_ns: i64,
    so_far_ns: i64,
}

impl Overtime {
    /// Of a run that is expected to take so long, looked at so often.
    fn new(expected_ns: i64, poll: Duration) -> Self {
        let max_step_ns = Nanos::from(poll).0.saturating_mul(2);
        Overtime { max_step_ns, checked_ns: expected_ns, so_far_ns: 0 }
    }

    /// Takes in how long the run has taken, ns, and returns how long that is too long.
    fn observe(&mut self, elapsed_ns: i64) -> i64 {
        if elapsed_ns > self.checked_ns {
            self.so_far_ns += (elapsed_ns - self.checked_ns).min(self.max_step_ns);
            self.checked_ns = elapsed_ns;
        }
        self.so_far_ns
    }
}

/// Sleeps so long, or until a signal comes.
fn sleep(time: Duration) {
    if let Ok(time) = time.try_into() {
        let _ = rustix::thread::nanosleep(&time);
    }
}

/// Sums up from the disk, and writes the final document.
fn closing(
    order: &PreparedRun,
    folder: Folder,
    mut document: Document,
    results: &[Option<ThreadResult>],
    mut tracks: Tracks,
    ended: Nanos,
    judged: Option<&ExactRequest>,
) -> Result<Examined, RecordingError> {
    let is_planned = document.probe.is_planned();
    let planned = |thread: &Thread| order.run.activations_of(thread.index);
    let due = |(thread, result): (&Thread, &Option<ThreadResult>)| {
        document::due(thread, is_planned, result.as_ref(), planned(thread), ended)
    };
    let due: Vec<u64> = document.threads.iter().zip(results).map(due).collect();
    if let Some(longest) = tracks.finish(&due) {
        document.warnings.extend(document::slow_disk_warning(longest, MAX_SYNC));
    }
    if let Some(error) = tracks.failed() {
        document.end = Some(End::RecordingFailed { error: error.to_string() });
    }
    // Rings and buffers go before the statistics take their memory: without limits, the end of a
    // run needs no more than the run.
    drop(tracks);
    for (thread, result) in document.threads.iter_mut().zip(results) {
        thread.given_up_ns = result.is_none().then_some(ended);
    }
    document.state = if document.end == Some(End::Done) { State::Complete } else { State::Stopped };
    document.ended_at = Some(document::time_of_day());
    if let Some(after) = &document.host.after {
        document.warnings.extend(host::warnings(&document.host.before, after, order.time));
    }
    let stolen = document.steal().filter(|cpus| !cpus.is_empty());
    document.warnings.extend(stolen.map(|cpus| Warning::StealTime { cpus }));
    document.instrument.virtual_time = order.time == MachineTime::Virtual;
    document.warnings.extend(host::other_work(&document));
    let of_threads = results.iter().flatten().flat_map(|result| result.warnings.iter().cloned());
    document
        .warnings
        .extend(of_threads.filter_map(|warning| document::unless_its_end(order, warning)));
    let recording = Recording::from_document(folder.path(), document);
    let mut examined = match judged {
        Some(exact) => recording.examine(exact, |_| ())?.0,
        None => Examined { recorded: recording.summarise()?, analyses: Vec::new(), pool: None },
    };
    let recorded = &mut examined.recorded;
    let Recorded { document, threads: statistics, beside, .. } = recorded;
    for (index, thread) in document.threads.iter_mut().enumerate() {
        fill_in(thread, &document.probe, &statistics[index], &beside[index]);
        document::enter(
            thread,
            &document.probe,
            results[index].as_ref(),
            due[index],
            &statistics[index],
        );
        document.warnings.extend(document::thread_warnings(
            thread,
            document.probe.rows,
            results[index].as_ref(),
        ));
        let core = document.instrument.co_kernel.as_ref();
        document.warnings.extend(core.and_then(|_| document::fell_back(thread)));
    }
    document.warnings.extend(document::clock_warning(&document.probe, beside));
    // The first of them: what is said of the stream follows from its period.
    document.warnings.splice(0..0, document::period_warning(&document.probe, statistics));
    if recorded.document.probe.taken_by() == TakenBy::AnotherMachine {
        recorded.document.warnings.retain(|warning| !warning.is_of_measuring());
    }
    for difference in verify(recorded) {
        let (counted, recorded_as) = (difference.recorded, difference.recomputed);
        let warning =
            Warning::AccountingDiffers { place: difference.place, counted, recorded: recorded_as };
        recorded.document.warnings.push(warning);
    }
    folder.finish(&recorded.document)?;
    Ok(examined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nice_boost_is_given_back() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let before = nice();
        let nice_boost = NiceBoost::begin();
        assert!(nice() == RECORDER_NICE || nice() == before);
        drop(nice_boost);
        assert_eq!(nice(), before);
    }

    #[test]
    fn overtime_is_what_was_looked_at() {
        let mut overtime = Overtime::new(1_000_000_000, Duration::from_millis(250));
        assert_eq!(
            [0, 999_999_999, 1_000_000_000].map(|elapsed| overtime.observe(elapsed)),
            [0, 0, 0]
        );
        assert_eq!(overtime.observe(1_002_000_000), 2_000_000);
        // Stopped for an hour.
        assert_eq!(overtime.observe(3_600_000_000_000), 502_000_000);
        assert_eq!(overtime.observe(3_600_002_000_000), 504_000_000);
    }
}
