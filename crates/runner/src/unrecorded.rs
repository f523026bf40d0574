// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run of which nothing is kept: whoever asked for it takes the rows as they come. For output in
//! the manner of other programs, whose settings of threads [`execute`](crate::execute) does not
//! have.

use crate::conditions::Conditions;
use crate::{RunnerError, document};
use host::HostRoot;
use model::{End, Warning};
use plan::{CpuId, Nanos, Run, Scheduling};
use probe::{ChosenProbe, Control, Measurement, ProbeError, StopReason, ThreadResult};
use rustix::thread::Pid;
use std::io;
use system::scheduling::{set_affinity, set_scheduling};

/// What a run without a recording needs.
#[derive(Clone, Debug)]
pub struct Unrecorded {
    pub run: Run,
    pub probe: ChosenProbe,
    /// Of each thread; the policy is the same for all.
    pub scheduling: Vec<Scheduling>,
    /// Where all threads may run; none where each stays on its CPU of the run.
    pub unpinned: Option<Vec<CpuId>>,
    /// Row 0 of the first thread is due so long after the beginning of a second of CLOCK_MONOTONIC;
    /// none: as soon as may be.
    pub after_second: Option<Nanos>,
    /// What /dev/cpu_dma_latency is held at, µs; none: it is left alone.
    pub dma_latency_us: Option<i32>,
}

/// Threads that measure.
pub struct Rows {
    measurement: Measurement,
    control: Control,
    starts: Vec<Nanos>,
    conditions: Conditions,
}

impl Unrecorded {
    /// Makes the threads and lets them go.
    ///
    /// # Errors
    /// When a thread cannot be made, or may not have its scheduling; none is left behind.
    pub fn begin(&self) -> Result<Rows, RunnerError> {
        let control = Control::new();
        let conditions = Conditions::arrange(self.dma_latency_us, &HostRoot::system());
        // The first thread has the highest priority, and each of the others can have its own.
        let first = self.scheduling.first().copied().unwrap_or(Scheduling::OTHER);
        let mut measurement = Measurement::prepare(&self.run, &self.probe, first, &control)?;
        let set = |thread: usize, pid: Pid| -> io::Result<()> {
            // As any other program's: the engine has ordinary threads ask for the least.
            let slack = format!("/proc/{}/timerslack_ns", pid.as_raw_nonzero());
            let _ = std::fs::write(slack, "0");
            if let Some(cpus) = &self.unpinned {
                set_affinity(Some(pid), cpus)?;
            }
            match self.scheduling.get(thread) {
                Some(own) if *own != first => set_scheduling(Some(pid), *own),
                _ => Ok(()),
            }
        };
        let pids: Vec<Pid> = measurement.threads().collect();
        for (thread, pid) in pids.into_iter().enumerate() {
            if let Err(source) = set(thread, pid) {
                control.stop(StopReason::Asked);
                measurement.join();
                return Err(ProbeError::Admit { thread, source }.into());
            }
        }
        let earliest = measurement.earliest();
        let begin = self.after_second.map_or(earliest, |after| {
            let second = Nanos::from_secs(1).0;
            Nanos((earliest.0 - after.0).div_euclid(second).saturating_add(1) * second + after.0)
        });
        let starts = measurement.starts(begin);
        measurement.begin(begin);
        Ok(Rows { measurement, control, starts, conditions })
    }
}

impl Rows {
    /// The threads' numbers, in order of thread index.
    pub fn threads(&self) -> Vec<i32> {
        self.measurement.threads().map(|pid| pid.as_raw_nonzero().get()).collect()
    }

    /// Planned time of each thread's activation 0, CLOCK_MONOTONIC ns.
    pub fn starts(&self) -> &[Nanos] {
        &self.starts
    }

    pub fn holds_dma_latency(&self) -> bool {
        self.conditions.dma_latency_held()
    }

    /// What the machine refused.
    pub fn warnings(&self) -> &[Warning] {
        self.conditions.warnings()
    }

    /// Hands over what has come: thread, number of the first row, and columns of successive rows
    /// one after the other, as the probe states them.
    pub fn drain(&mut self, mut take: impl FnMut(usize, u64, &[i64])) {
        for (thread, consumer) in self.measurement.consumers.iter_mut().enumerate() {
            let Ok(()) = consumer.drain(|first, values| {
                take(thread, first, values);
                Ok::<(), std::convert::Infallible>(())
            });
        }
    }

    /// Whether threads measure no more.
    pub fn is_over(&self) -> bool {
        self.control.is_stopped() || self.measurement.is_finished()
    }

    /// Ends the threads; [`Rows::drain`] then has the last rows. How they ended, done where nothing
    /// but this call did it, and the result of each that did end.
    pub fn end(&mut self) -> (End, Vec<Option<ThreadResult>>) {
        self.control.stop(StopReason::Asked);
        let results = self.measurement.join();
        let reason = self.control.reason().filter(|reason| *reason != StopReason::Asked);
        (document::end(reason, None), results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Policy;
    use system::scheduling::affinity;

    /// Rows come out without a recording, of threads that are not pinned.
    #[test]
    fn rows_of_threads_that_may_run_anywhere() {
        let cpus = probe::process_cpus().unwrap().inherited;
        let mut run = Run::example(Nanos::from_millis(1), 20);
        run.cpus = vec![cpus[0]; 2];
        run.scheduling = Scheduling { policy: Policy::Other, prio: None };
        let order = Unrecorded {
            probe: probe::choose(&run.probe, &run.probe_settings).unwrap(),
            scheduling: vec![run.scheduling; 2],
            unpinned: Some(cpus.clone()),
            after_second: Some(Nanos::from_millis(3)),
            dma_latency_us: None,
            run,
        };
        let mut rows = order.begin().unwrap();
        let threads = rows.threads();
        assert_eq!(threads.len(), 2);
        assert_eq!(affinity(Pid::from_raw(threads[1])).unwrap(), cpus);
        assert_eq!(rows.starts()[0].0 % 1_000_000_000, 3_000_000);
        let mut seen = [0; 2];
        while !rows.is_over() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let (end, results) = rows.end();
        rows.drain(|thread, _, values| seen[thread] += values.len());
        let counted = results.iter().map(|result| {
            let counts = result.as_ref().unwrap().counts;
            usize::try_from(counts.on_time + counts.late).unwrap()
        });
        assert_eq!((end, counted.collect::<Vec<_>>()), (End::Done, seen.to_vec()));
        assert!(seen.iter().all(|seen| *seen > 0));
    }
}
