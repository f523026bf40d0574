// SPDX-License-Identifier: MIT OR Apache-2.0
//! The run itself.

use crate::conditions::Conditions;
use crate::live::{Progress, Tally};
use crate::recorder::Recorder;
use crate::{Granted, Signals, document};
use host::HostRoot;
use load::{Checked, Loads, StartError};
use plan::{Nanos, Run};
use probe::{Calibration, Clock, Control, Measurement, Monotonic, Outcome, ProbeError, StopReason};
use recording::{Document, End, Folder, Recorded, Recording, RecordingError, State, Thread, Warning, fill_in, verify};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything a run needs, decided before it begins.
#[derive(Clone, Debug)]
pub struct Order {
    /// What to measure.
    pub run: Run,
    /// What the threads may have of it.
    pub granted: Granted,
    /// The loads of the run, checked.
    pub loads: Vec<Checked>,
    /// The verb by which the program, executed anew, becomes a load.
    pub load_verb: &'static str,
    /// The folder to be made.
    pub directory: PathBuf,
    /// For the recording.
    pub command_line: Vec<String>,
    /// For the recording.
    pub version: String,
    /// When the program started, CLOCK_MONOTONIC ns.
    pub program_started: Nanos,
}

/// Looks on while a run goes on. Called at ordinary priority, a few times a second.
pub trait Watch {
    /// Whether it wants to look at all; asked once, since figures that nobody sees are not computed.
    fn looks_on(&self) -> bool;
    /// How far it is.
    fn progress(&mut self, progress: &Progress);
}

/// Why a run could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The recording could not be begun or ended.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The threads could not be started.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// A load could not be started.
    #[error(transparent)]
    Load(#[from] StartError),
}

/// The recorder's nice level: ordinary scheduling still, but ahead of the loads.
const RECORDER_NICE: i32 = -10;
/// Between two looks at rings, loads and signals. A signal ends the sleep between them.
const POLL: Duration = Duration::from_millis(250);
/// The same while somebody looks on: a picture that moves.
const POLL_SHOWN: Duration = Duration::from_millis(100);

/// Carries out a run. To be called on the program's main thread: loads end with the thread that started them.
///
/// # Errors
/// When it could not begin: then nothing is left behind. A run that ends early, or whose recording fails half-way, is no
/// error here but says so in its document.
pub fn carry_out(order: &Order, signals: &Signals, watch: &mut dyn Watch) -> Result<Recorded, RunnerError> {
    let host = HostRoot::system();
    let mut document = document::opening(order, host.snapshot());
    let mut folder = Folder::create(&order.directory, &document)?;
    let mut loads = Loads::start(order.loads.clone(), Path::new("/proc/self/exe"), order.load_verb)?;
    let conditions = Conditions::arrange(&order.run, &host);
    let calibration = Calibration::of(&mut Monotonic);

    let control = Control::new();
    let mut measurement = Measurement::start(&order.run, order.granted.scheduling, &control)?;
    let consumers = std::mem::take(&mut measurement.consumers);
    let slots = consumers.iter().map(probe::Consumer::slots).max().unwrap_or(0);
    document.instrument = document::instrument(order, calibration, &conditions, slots, measurement.starts.first());
    document.threads = document::threads(order, &measurement.starts);
    document.warnings.extend(conditions.warnings().iter().cloned());
    let begun =
        folder.begin(&document).and_then(|()| Recorder::open(&folder, &document, consumers, Monotonic.now(), watch.looks_on()));
    let mut recorder = match begun {
        Ok(recorder) => recorder,
        Err(error) => {
            control.stop(StopReason::Asked);
            measurement.join();
            folder.discard();
            return Err(error.into());
        }
    };
    // Among hundreds of busy tasks an ordinary thread waits its turn for seconds, and samples wait with it. Only now, so
    // that measuring threads of ordinary scheduling do not inherit it; without the right to, it stays as it is.
    let nice_before = rustix::process::getpriority_process(None);
    let _ = rustix::process::setpriority_process(None, RECORDER_NICE);
    loads.begin();
    let begin = measurement.starts.iter().min().copied().unwrap_or_default();
    let mut observe = Observe { order, signals, control: &control, begin, watch };
    observe.until_the_end(&measurement, &mut recorder, &mut loads);
    let outcomes = measurement.join();
    let ended = Monotonic.now();
    recorder.take(ended);
    // The next run of a plan begins as the first one did.
    if let Ok(nice) = nice_before {
        let _ = rustix::process::setpriority_process(None, nice);
    }
    drop(conditions);

    document.load = loads.stop();
    document.load_missed = document.load.iter().any(|load| load.missed);
    document.warnings.extend(loads.warnings());
    document.host.after = Some(host.snapshot());
    Ok(closing(order, folder, document, &outcomes, recorder, document::end(control.reason(), signals.caught()), ended)?)
}

struct Observe<'a> {
    order: &'a Order,
    signals: &'a Signals,
    control: &'a Control,
    begin: Nanos,
    watch: &'a mut dyn Watch,
}

impl Observe<'_> {
    /// Records until all threads have ended or the run is stopped.
    fn until_the_end(&mut self, measurement: &Measurement, recorder: &mut Recorder, loads: &mut Loads) {
        let expected = self.order.run.expected_ns().0 - self.order.run.warmup_ns.0;
        let poll = if self.watch.looks_on() { POLL_SHOWN } else { POLL };
        while !measurement.is_finished() && !self.control.is_stopped() {
            let now = Monotonic.now();
            self.control.beat(now.0);
            recorder.take(now);
            loads.poll();
            let elapsed = Nanos(now.0 - self.begin.0);
            if self.watch.looks_on() {
                let threads = recorder.tallies().map(Tally::show).collect();
                let (elapsed_ns, expected_ns, loads) = (elapsed, Nanos(expected), loads.now());
                self.watch.progress(&Progress { elapsed_ns, expected_ns, threads, loads });
            }
            if self.signals.caught().is_some() || recorder.failed().is_some() {
                self.control.stop(StopReason::Asked);
                return;
            }
            let left = Duration::from_nanos(u64::try_from(expected - elapsed.0).unwrap_or(0));
            sleep(poll.min(left + Duration::from_millis(1)));
        }
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
    order: &Order,
    folder: Folder,
    mut document: Document,
    outcomes: &[Option<Outcome>],
    mut recorder: Recorder,
    end: End,
    ended: Nanos,
) -> Result<Recorded, RecordingError> {
    let planned = |thread: &Thread| order.run.activations_of(thread.index);
    let due = |(thread, outcome): (&Thread, &Option<Outcome>)| document::due(thread, outcome.as_ref(), planned(thread), ended);
    let due: Vec<u64> = document.threads.iter().zip(outcomes).map(due).collect();
    recorder.finish(&due);
    document.end = Some(recorder.failed().map_or(end, |error| End::RecordingFailed { error: error.to_string() }));
    document.state = if document.end == Some(End::Done) { State::Complete } else { State::Stopped };
    document.ended_at = Some(document::time_of_day());
    if let Some(after) = &document.host.after {
        document.warnings.extend(host::warnings(&document.host.before, after));
    }
    let mut recorded = Recording::of(folder.path(), document).summarise()?;
    let Recorded { document, threads: statistics, .. } = &mut recorded;
    for (index, thread) in document.threads.iter_mut().enumerate() {
        fill_in(thread, &statistics[index]);
        document::enter(thread, outcomes[index].as_ref(), due[index], &statistics[index]);
        document.warnings.extend(document::thread_warnings(thread, outcomes[index].is_some()));
    }
    for difference in verify(&recorded) {
        recorded.document.warnings.push(Warning {
            code: "accounting-differs".to_owned(),
            message: format!(
                "{} was counted as {} and recorded as {}.",
                difference.place, difference.recorded, difference.recomputed
            ),
            evidence: "the thread's own count against the samples on disk".to_owned(),
            next_step: "Please report this as a defect of teiji, with the recording.".to_owned(),
        });
    }
    folder.finish(&recorded.document)?;
    Ok(recorded)
}
