// SPDX-License-Identifier: MIT OR Apache-2.0
//! All loads of one measurement, held by the measuring process.
//!
//! It has no thread and no timer: the parent calls [`Loads::poll`] when it has time. Reports wait
//! in a pipe that holds many seconds of them, so late polling only delays the news of a load that
//! ended.

use crate::load_handle::{LoadHandle, LoadNow, PAUSE, Stage};
use crate::report::GO;
use crate::spec::ValidatedLoad;
use model::{LoadEvidence, LoadFailure, Warning};
use plan::{Nanos, Phase, Settle};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long loads may take to be running: this, and for each of their tasks a little more, since a
/// small board under an emulator forks a hundred times slower than a server.
const START: Duration = Duration::from_secs(10);
const START_PER_TASK: Duration = Duration::from_millis(10);
/// How long a supervisor's first reading is waited for. It runs ahead of its tasks.
const BEGIN_WITHIN: Duration = Duration::from_secs(5);
/// Between two checks of loads that settle.
const SETTLING_PAUSE: Duration = Duration::from_millis(10);
/// How long a load may take to hand in its last reading and go. A supervisor under a busy real-time
/// CPU can be late by seconds.
const STOP: Duration = Duration::from_secs(5);

/// Loads that run, until they are stopped or dropped.
#[derive(Debug)]
pub struct Loads {
    handles: Vec<LoadHandle>,
}

/// Why loads are not running.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program could not be executed.
    #[error("the load '{spec}' could not be started: executing {program}: {source}")]
    Spawn {
        spec: String,
        /// What was to be executed.
        program: PathBuf,
        source: io::Error,
    },
    /// The load itself says no.
    #[error("the load '{spec}' could not be started: {reason}")]
    Failed { spec: String, reason: String },
    /// It was running, and is not any more.
    #[error("the load '{spec}' ended before the measurement began: {reason}")]
    Ended {
        spec: String,
        /// How, and its own words.
        reason: String,
    },
    /// Whoever wanted the loads does not want them any more.
    #[error("interrupted before the loads were in their steady state")]
    Cancelled,
    /// It is not running yet.
    #[error("the load '{spec}' was not running after {}: {reason}", human_readable(*after))]
    TimedOut { spec: String, after: Duration, reason: String },
}

fn human_readable(after: Duration) -> String {
    format!("{} s", after.as_secs())
}

impl Loads {
    /// Starts these loads, and returns when every task of every load is running; all are released
    /// when the last is ready, each as much later as `phase` shifts it.
    /// `program` is executed once for each load with the arguments `hidden_verb` and an order, and
    /// is to call [`crate::worker`] with the order: `/proc/self/exe`, for a program that starts
    /// itself.
    ///
    /// `cancelled` is asked many times a second: hundreds of tasks on a slow board take a while.
    ///
    /// To be called on a thread that outlives the loads, such as the main thread: the kernel kills
    /// them when the *thread* that started them ends, not only when its process does.
    ///
    /// # Errors
    /// A load that cannot be run or takes too long, or it was cancelled. Then none is running.
    pub fn start(
        checked: Vec<ValidatedLoad>,
        phase: Phase,
        program: &Path,
        hidden_verb: &str,
        mut cancelled: impl FnMut() -> bool,
    ) -> Result<Self, StartError> {
        let tasks: usize = checked.iter().map(|load| load.tasks).sum();
        let timeout = START + START_PER_TASK * u32::try_from(tasks).unwrap_or(u32::MAX);
        let deadline = Instant::now() + timeout;
        let mut loads = Loads { handles: Vec::with_capacity(checked.len()) };
        for (place, load) in checked.into_iter().enumerate() {
            let spec = load.spec.to_string();
            let handle =
                LoadHandle::start(load, phase, place, program, hidden_verb).map_err(|source| {
                    StartError::Spawn { spec, program: program.to_owned(), source }
                })?;
            loads.handles.push(handle);
        }
        loads.wait_for(Stage::Prepared, deadline, timeout, &mut cancelled)?;
        loads.release(phase);
        loads.wait_for(Stage::Running, deadline, timeout, &mut cancelled)?;
        Ok(loads)
    }

    /// Waits until the loads have settled as asked, and returns how long that took since it was
    /// called. Without loads there is nothing to wait for. `cancelled` is asked a few times a
    /// second.
    ///
    /// # Errors
    /// When it was cancelled, or a load died.
    pub fn settle(
        &mut self,
        how: Settle,
        mut cancelled: impl FnMut() -> bool,
    ) -> Result<Duration, StartError> {
        let (began, bound) =
            (Instant::now(), Duration::from_nanos(how.bound_ns().0.unsigned_abs()));
        while !self.handles.is_empty() && began.elapsed() < bound {
            self.check_alive(&mut cancelled).map_err(|error| match error {
                StartError::Failed { spec, reason } => StartError::Ended { spec, reason },
                other => other,
            })?;
            if how == Settle::Auto && self.handles.iter().all(LoadHandle::settled) {
                break;
            }
            sleep(SETTLING_PAUSE.min(bound.saturating_sub(began.elapsed())));
        }
        Ok(began.elapsed())
    }

    /// Takes in what the loads have said.
    fn check_alive(&mut self, cancelled: &mut dyn FnMut() -> bool) -> Result<(), StartError> {
        self.poll();
        if cancelled() {
            return Err(StartError::Cancelled);
        }
        let Some(handle) = self.handles.iter_mut().find(|handle| !handle.alive()) else {
            return Ok(());
        };
        // Its complaints may still be on their way.
        handle.end();
        Err(StartError::Failed { spec: handle.load.spec.to_string(), reason: handle.reason() })
    }

    fn wait_for(
        &mut self,
        stage: Stage,
        deadline: Instant,
        timeout: Duration,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<(), StartError> {
        loop {
            self.check_alive(cancelled)?;
            let Some(late) = self.handles.iter_mut().find(|handle| handle.stage < stage) else {
                return Ok(());
            };
            if Instant::now() > deadline {
                return Err(StartError::TimedOut {
                    spec: late.load.spec.to_string(),
                    after: timeout,
                    reason: late.reason(),
                });
            }
            sleep(PAUSE);
        }
    }

    /// Has all tasks begin their work.
    fn release(&mut self, phase: Phase) {
        let shift = |place| Duration::from_nanos(phase.load_shift(place).0.unsigned_abs());
        let mut in_turn: Vec<(Duration, &mut LoadHandle)> = self
            .handles
            .iter_mut()
            .enumerate()
            .map(|(place, handle)| (shift(place), handle))
            .collect();
        // Those that begin later are shifted then.
        in_turn
            .iter_mut()
            .filter(|(_, handle)| handle.begins_later())
            .for_each(|(shift, _)| *shift = Duration::ZERO);
        in_turn.sort_by_key(|(shift, _)| *shift);
        let began = Instant::now();
        for (shift, handle) in in_turn {
            // Without a phase not even the clock is asked.
            if !phase.is_none() {
                sleep(shift.saturating_sub(began.elapsed()));
            }
            handle.order(GO);
        }
    }

    /// The measured span begins: what the loads did before is not counted. Without it the span
    /// begins at the start. Returns when each supervisor has taken its reading, so that it is
    /// in no figure: a kernel that cannot be preempted while it reads /proc/stat and hundreds
    /// of clocks is late by 150 us.
    pub fn begin(&mut self) {
        self.handles.iter_mut().for_each(LoadHandle::begin);
        let deadline = Instant::now() + BEGIN_WITHIN;
        while self.poll()
            && Instant::now() < deadline
            && !self.handles.iter().all(LoadHandle::has_begun)
        {
            sleep(PAUSE);
        }
    }

    /// Says when measuring begins, by which loads know when to start or stop meanwhile.
    pub fn measured_from(&mut self, begin: Nanos) {
        self.handles.iter_mut().for_each(|handle| handle.measured_from(begin));
    }

    /// Takes in what the loads have said, without waiting, and returns whether all of them are as
    /// they should be. To be called a few times a second; the death of a task is known at most
    /// a second after it.
    pub fn poll(&mut self) -> bool {
        for handle in &mut self.handles {
            handle.poll();
        }
        self.handles.iter().all(LoadHandle::alive)
    }

    /// What each load does at the moment, as of the last [`Loads::poll`].
    pub fn now(&self) -> Vec<LoadNow> {
        self.handles.iter().map(LoadHandle::now).collect()
    }

    /// The measured span ends: stops all loads, waits until they are gone, at most some seconds,
    /// and returns what they reached, in the order they were given. Called again, it returns
    /// the same again.
    pub fn stop(&mut self) -> Vec<LoadEvidence> {
        for handle in &mut self.handles {
            handle.close();
        }
        let deadline = Instant::now() + STOP;
        loop {
            self.poll();
            if self.handles.iter().all(|handle| handle.stage == Stage::Gone) {
                break;
            }
            if Instant::now() > deadline {
                for handle in self.handles.iter_mut().filter(|handle| handle.stage < Stage::Final) {
                    handle.fail(LoadFailure::NotStopped { waited_s: STOP.as_secs() });
                }
                self.kill();
                break;
            }
            sleep(PAUSE);
        }
        self.handles.iter().map(LoadHandle::evidence).collect()
    }

    /// What a reader of the figures should know of loads that have not settled so far.
    pub fn not_settled(&self) -> Vec<Warning> {
        self.handles.iter().filter_map(LoadHandle::not_settled).collect()
    }

    /// What a reader of the figures should know of the loads; complete once they have been stopped.
    pub fn warnings(&self) -> Vec<Warning> {
        self.handles.iter().flat_map(LoadHandle::warnings).collect()
    }

    fn kill(&mut self) {
        for handle in &mut self.handles {
            handle.end();
        }
    }
}

impl Drop for Loads {
    /// Kills what is still running, without asking for evidence.
    fn drop(&mut self) {
        self.kill();
    }
}
