// SPDX-License-Identifier: MIT OR Apache-2.0
//! All measuring threads of a run.

use crate::cycle::BreakLimit;
use crate::guard::Guard;
use crate::probes::{ChosenProbe, ProbeSettingError};
use crate::thread::{Decision, Interrupt, Outlives, StartBarrier, ThreadConfig};
use crate::{Consumer, Control, Cycle, Monotonic, ThreadResult, sys};
use model::Quantity;
use plan::{CpuId, Nanos, Run, Scheduling};
use rustix::thread::Pid;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

/// Why measuring could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A thread could not be made.
    #[error("cannot start measuring thread {thread}: {source}")]
    Spawn { thread: usize, source: io::Error },
    /// What watches over the machine while real-time threads run could not be started.
    #[error("cannot start the guard threads, which end a run that locks all others out: {0}")]
    Guard(io::Error),
    /// A thread could not be pinned or given its scheduling.
    #[error("measuring thread {thread} cannot run on CPU {cpu} with {scheduling}: {source}")]
    Prepare {
        thread: usize,
        /// Its CPU.
        cpu: CpuId,
        scheduling: Scheduling,
        source: io::Error,
    },
    /// A thread could not have its scheduling, which is not of one CPU.
    #[error("measuring thread {thread}: {source}")]
    Admit { thread: usize, source: io::Error },
    /// The probe cannot be made ready.
    #[error(transparent)]
    Probe(#[from] ProbeSettingError),
    /// Signals could not be set up.
    #[error("cannot install the handler of the wake-up signal: {0}")]
    Signal(io::Error),
}

/// Measuring threads at work.
pub struct Measurement {
    /// Where each thread's samples come out, in order of thread index.
    pub consumers: Vec<Consumer>,
    offsets: Vec<Nanos>,
    warmup: Nanos,
    /// How much later than without its phase they begin.
    shift: Nanos,
    barrier: Arc<StartBarrier>,
    threads: Vec<JoinHandle<ThreadResult>>,
    pids: Vec<Option<Pid>>,
    /// How the sleep of each is ended.
    interrupts: Vec<Interrupt>,
    control: Control,
    guard: Option<Guard>,
    /// What ends when the measurement is dropped.
    outlives: Vec<Outlives>,
}

/// From "all threads are ready" to the first planned wake-up: time for the last of them to fall
/// asleep.
const LEAD: Nanos = Nanos::from_millis(2);
/// How long the threads of a stopped run may take to end before they are given up.
pub const JOIN_TIMEOUT: Duration = Duration::from_secs(3);

impl Measurement {
    /// Makes the threads of a run, with the scheduling they were granted. They are ready, and wait
    /// for [`Measurement::begin`].
    ///
    /// # Errors
    /// When a thread cannot be made, pinned or scheduled; none is left behind.
    pub fn prepare(
        run: &Run,
        probe: &ChosenProbe,
        scheduling: Scheduling,
        control: &Control,
    ) -> Result<Self, ProbeError> {
        sys::let_wake_interrupt().map_err(ProbeError::Signal)?;
        let mut measurement = Measurement {
            consumers: Vec::new(),
            offsets: (0..run.cpus.len()).map(|index| run.offset_of(index)).collect(),
            warmup: run.whole_warmup_ns(),
            shift: run.phase_shift(),
            barrier: Arc::new(StartBarrier::default()),
            threads: Vec::new(),
            pids: vec![None; run.cpus.len()],
            interrupts: Vec::new(),
            control: control.clone(),
            guard: None,
            outlives: Vec::new(),
        };
        match measurement.make_ready(run, probe, scheduling) {
            Ok(()) => Ok(measurement),
            Err(error) => {
                measurement.join();
                Err(error)
            }
        }
    }

    /// The earliest time for activation 0 of the first thread, if they begin now.
    pub fn earliest(&self) -> Nanos {
        Nanos(Monotonic.now().0 + LEAD.0 + self.shift.0 + self.warmup.0)
    }

    /// Planned time of each thread's activation 0, CLOCK_MONOTONIC ns, if that of the first is
    /// this.
    pub fn starts(&self, first: Nanos) -> Vec<Nanos> {
        self.offsets.iter().map(|offset| Nanos(first.0 + offset.0)).collect()
    }

    /// Lets the threads go: they warm up until this time, which is activation 0 of the first of
    /// them.
    pub fn begin(&self, first: Nanos) {
        self.barrier.open(Decision::Start(first));
    }

    /// Makes the threads and waits until each is pinned and has its scheduling.
    fn make_ready(
        &mut self,
        run: &Run,
        probe: &ChosenProbe,
        scheduling: Scheduling,
    ) -> Result<(), ProbeError> {
        let stated = probe.ready(run)?;
        let break_limit = match stated.quantity {
            Quantity::Jitter => BreakLimit::either_side,
            Quantity::Latency | Quantity::Interval => BreakLimit::above,
        };
        let (ready, receiver) = channel();
        let mut helpers = Vec::new();
        for (index, (cpu, offset)) in run.cpus.iter().zip(&self.offsets).enumerate() {
            let interval = run.interval_of(index);
            let cycle = Cycle {
                thread: index,
                start: *offset,
                interval,
                activations: run.activations_of(index),
                break_above: run.break_above_ns.map(break_limit),
                overrun_policy: run.overrun_policy,
            };
            let config = ThreadConfig {
                cpu: *cpu,
                scheduling,
                warmup: run.whole_warmup_ns(),
                cycle,
                columns: stated.columns.len(),
                control: self.control.clone(),
                barrier: Arc::clone(&self.barrier),
                ready: ready.clone(),
            };
            let launched = probe
                .launch(&stated, config)
                .map_err(|source| ProbeError::Spawn { thread: index, source })?;
            self.threads.push(launched.thread);
            self.consumers.push(launched.consumer);
            self.interrupts.push(launched.interrupt);
            helpers.extend(launched.helper);
            self.outlives.extend(launched.outlives);
        }
        // What is bound to no CPU has none to itself: the heartbeat shows whether others run.
        let can_pin = scheduling.policy.can_pin();
        let cpus = run.cpus.iter().filter(|_| can_pin).chain(helpers.iter().map(|(cpu, _)| cpu));
        self.guard = Guard::over(scheduling, cpus.copied()).map_err(ProbeError::Guard)?;
        for (index, ready) in receiver.iter().take(run.cpus.len()) {
            let cpu = run.cpus[index];
            let failed = |source| match can_pin {
                true => ProbeError::Prepare { thread: index, cpu, scheduling, source },
                false => ProbeError::Admit { thread: index, source },
            };
            self.pids[index] = Some(ready.map_err(failed)?);
        }
        if let Some(guard) = &mut self.guard {
            let measuring =
                run.cpus.iter().zip(&self.pids).filter_map(|(cpu, pid)| pid.map(|pid| (*cpu, pid)));
            let watched: Vec<(CpuId, Pid)> = measuring.filter(|_| can_pin).chain(helpers).collect();
            guard.watch(&watched, &self.control).map_err(ProbeError::Guard)?;
        }
        Ok(())
    }

    /// The threads' numbers, in order of thread index.
    pub fn threads(&self) -> impl Iterator<Item = Pid> {
        self.pids.iter().flatten().copied()
    }

    /// Whether all threads have ended.
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits for the threads to end, waking those that sleep if the run was stopped. A thread that
    /// does not end, because something keeps it from its CPU, is given up after a few seconds
    /// and has no result. One that never began has counted nothing. Tracers end when the
    /// measurement is dropped: after the loads, among whose tasks that could take seconds.
    pub fn join(&mut self) -> Vec<Option<ThreadResult>> {
        // Those that never began go home.
        self.barrier.open(Decision::GiveUp);
        let step = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        while !self.threads.iter().all(JoinHandle::is_finished) && waited < JOIN_TIMEOUT {
            if self.control.is_stopped() {
                let asleep = self.threads.iter().zip(self.pids.iter().zip(&self.interrupts));
                for (_, (pid, interrupt)) in asleep.filter(|(thread, _)| !thread.is_finished()) {
                    if let Some(pid) = pid {
                        interrupt(*pid);
                    }
                }
                waited += step;
            }
            std::thread::sleep(step);
        }
        if let Some(guard) = self.guard.take() {
            guard.end();
        }
        let result = |thread: JoinHandle<ThreadResult>| {
            thread.is_finished().then(|| thread.join().ok()).flatten()
        };
        self.threads.drain(..).map(result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StopReason;
    use crate::test_runs::{prepare, test_run as run};

    #[test]
    fn every_thread_accounts_for_every_activation() {
        let run = run(Nanos::from_millis(1), 50);
        let mut measurement = prepare(&run, &Control::new()).unwrap();
        measurement.begin(measurement.earliest());
        let mut consumers = std::mem::take(&mut measurement.consumers);
        for (result, consumer) in measurement.join().into_iter().zip(&mut consumers) {
            let result = result.unwrap();
            assert_eq!((result.counts.due(), result.lost), (50, 0));
            let mut samples = 0;
            let Ok(()) = consumer.drain(|_, latencies| {
                samples += latencies.len() as u64;
                Ok::<_, std::convert::Infallible>(())
            });
            assert_eq!(result.counts.on_time + result.counts.late, samples);
        }
    }

    /// What is there before row 0, the warm-up, is shifted with it.
    #[test]
    fn threads_begin_later_by_the_shift_of_their_phase() {
        let run = Run { phase: "17".parse().unwrap(), ..run(Nanos::from_secs(1), 5) };
        let shift = run.phase_shift();
        assert!(shift > Nanos::from_millis(20), "{shift}");
        let mut measurement = prepare(&run, &Control::new()).unwrap();
        let before = Monotonic.now();
        let ahead = measurement.earliest().0 - before.0 - LEAD.0 - run.whole_warmup_ns().0;
        assert!((shift.0..shift.0 + 500_000_000).contains(&ahead), "{ahead} ns for {shift}");
        measurement.join();
    }

    #[test]
    fn a_thread_asleep_for_an_hour_is_woken_to_stop() {
        let control = Control::new();
        let mut measurement = prepare(&run(Nanos::from_secs(3_600), 5), &control).unwrap();
        measurement.begin(measurement.earliest());
        std::thread::sleep(Duration::from_millis(30));
        control.stop(StopReason::Asked);
        let before = std::time::Instant::now();
        for result in measurement.join() {
            // The first activation fell due at once; the next lies an hour ahead.
            assert!(result.unwrap().counts.due() <= 1);
        }
        assert!(before.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_and_leaves_no_thread() {
        let mut run = run(Nanos::from_millis(1), 5);
        run.cpus = vec![run.cpus[0], CpuId(1_000)];
        let failed = prepare(&run, &Control::new());
        assert!(matches!(failed, Err(ProbeError::Prepare { thread: 1, cpu: CpuId(1_000), .. })));
    }
}
