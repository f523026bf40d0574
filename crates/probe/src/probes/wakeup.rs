// SPDX-License-Identifier: MIT OR Apache-2.0
//! `wakeup`: how long it takes until a thread runs that another has woken.
//!
//! In each trial the measuring thread asks its partner to wake it, and waits. The judged time is
//! from the call by which the partner wakes it to its own reading of the clock.

use super::probe::{Probe, SetProbe};
use super::setting::ProbeSetting;
use crate::attachment::{Attachment, Linux};
use crate::outcome::SampleError;
use crate::sampler::{Overrun, Sampler};
use crate::thread::{Launched, ThreadConfig};
use crate::wake::{NAMES, Named, Partner, Woke};
use model::{Column, ProbeStatement, RowKind};
use plan::{CpuId, Nanos, Run, Scheduling};
use std::io;
use std::sync::Arc;

pub(super) const PROBE: Probe = Probe {
    needs: "nothing; for --wake-on other two CPUs, for --by mq and semaphore kernels that have \
            them",
    settings: &[BY, WAKE_ON],
    ..Probe::new("wakeup", "time until a thread runs that another thread has woken", |settings| {
        let is_on_other = WAKE_ON.text(settings) == "other";
        Arc::new(Settings { way: Named::of(BY.text(settings)), is_on_other })
    })
};

const BY: ProbeSetting = ProbeSetting::one_of("by", "How one thread wakes the other", NAMES);

const WAKE_ON: ProbeSetting = ProbeSetting::one_of(
    "wake-on",
    "Which CPU the thread that wakes runs on: that of the thread that it wakes, or the next one",
    &["same", "other"],
);

struct Settings {
    way: &'static Named,
    is_on_other: bool,
}

impl SetProbe for Settings {
    fn statement(&self, _: &Run) -> ProbeStatement {
        let Named { wake_call, wait_call, .. } = self.way;
        let mut columns = vec![
            Column::ns(
                "wake_ns",
                "from the call that wakes to the clock read by the thread that was woken",
            ),
            Column::ns("done_ns", "from the planned time until both threads were done"),
            Column::ns("wakeup_ns", "from the planned time until the call"),
            Column::ns("return_ns", "from the call that wakes until it returned"),
        ];
        columns.extend(self.is_on_other.then_some(WAKER_CPU));
        let cpu = if self.is_on_other { "from another CPU" } else { "on the same CPU" };
        let measuring_point = format!(
            "from the clock read before {wake_call} to the clock read after {wait_call} in the \
             woken thread, {cpu}"
        );
        ProbeStatement {
            rows: RowKind::Trials,
            columns,
            overrun_column: Some(DONE),
            measuring_point: measuring_point.into(),
            ..ProbeStatement::cyclic()
        }
    }

    fn lacks(&self, _: Nanos, _: Scheduling) -> Option<String> {
        let usable = || crate::process_cpus().map_or(0, |cpus| cpus.usable.len());
        self.way.lacks().or_else(|| {
            (self.is_on_other && usable() < 2).then(|| {
                "--wake-on other needs a second CPU, and the process may use one only. Give \
                 --wake-on same"
                    .to_owned()
            })
        })
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        let cpu = if self.is_on_other {
            let next = next_cpu(config.cpu, &crate::process_cpus()?.usable);
            next.ok_or_else(|| io::Error::other("there is no second CPU"))?
        } else {
            config.cpu
        };
        let partner = Partner::start(self.way, config.cycle.thread, cpu, config.scheduling)?;
        let (helper, release) = ((cpu, partner.pid()), partner.release());
        let launched = config.launch(Linux, Wakeup { partner })?;
        let interrupt = Box::new(move |thread| {
            (launched.interrupt)(thread);
            release();
        });
        Ok(Launched { helper: Some(helper), interrupt, ..launched })
    }
}

/// The column of `done_ns`.
const DONE: usize = 1;
/// Where the thread that wakes ran, where that is not the CPU of the thread that is recorded
/// anyway.
const WAKER_CPU: Column =
    Column::count("waker_cpu", "number of the CPU that the waking thread ran on");

/// The next usable CPU after this one, the first after the last.
fn next_cpu(cpu: CpuId, usable: &[CpuId]) -> Option<CpuId> {
    let others = || usable.iter().copied().filter(|other| *other != cpu);
    others().find(|other| other.0 > cpu.0).or_else(|| others().next())
}

struct Wakeup {
    partner: Partner,
}

impl<A: Attachment> Sampler<A, 5> for Wakeup {
    const OVERRUN: Overrun = Overrun::Time(DONE);

    fn begin(
        &mut self,
        _attachment: &mut A,
        _first: Nanos,
        _interval: Nanos,
    ) -> Result<(), SampleError> {
        self.partner.attach();
        Ok(())
    }

    fn sample(&mut self, _attachment: &mut A, planned: Nanos) -> Result<[i64; 5], SampleError> {
        let doing = self.partner.wake_call();
        let failed = |error: io::Error| SampleError::new(doing, &error);
        let Woke { called_ns, returned_ns, cpu, woken_ns, done_ns } =
            self.partner.wake().map_err(failed)?;
        let from_plan = |time: i64| time - planned.0;
        Ok([
            woken_ns - called_ns,
            from_plan(done_ns),
            from_plan(called_ns),
            returned_ns - called_ns,
            cpu.into(),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::{prepare, statement, test_run};
    use crate::{Control, StopReason};
    use std::time::{Duration, Instant};

    fn run(by: &str, wake_on: &str, interval: Nanos) -> Run {
        let mut run = test_run(interval, 30);
        run.probe = PROBE.name.to_owned();
        run.probe_settings = [("by", by), ("wake-on", wake_on)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        run
    }

    fn has_two_cpus() -> bool {
        crate::process_cpus().unwrap().usable.len() > 1
    }

    /// Where the waking thread can run on this machine.
    fn places() -> &'static [&'static str] {
        if has_two_cpus() { &["same", "other"] } else { &["same"] }
    }

    /// Rows of every thread, each as wide as the statement says.
    fn measured(run: &Run) -> Vec<Vec<i64>> {
        let width = statement(run).unwrap().columns.len();
        let mut measurement = prepare(run, &Control::new()).unwrap();
        measurement.begin(measurement.earliest());
        let mut consumers = std::mem::take(&mut measurement.consumers);
        let due: u64 =
            measurement.join().into_iter().map(|result| result.unwrap().counts.due()).sum();
        assert_eq!(due, 30 * run.cpus.len() as u64);
        let mut rows = Vec::new();
        for consumer in &mut consumers {
            let Ok(()) = consumer.drain(|_, values| {
                let count = values.len() / width;
                rows.extend(
                    (0..count)
                        .map(|row| (0..width).map(|column| values[column * count + row]).collect()),
                );
                Ok::<_, std::convert::Infallible>(())
            });
        }
        rows
    }

    #[test]
    fn the_parts_of_a_wake_up_are_in_order() {
        for (by, wake_on) in
            NAMES.iter().flat_map(|by| places().iter().map(move |wake_on| (*by, *wake_on)))
        {
            let run = run(by, wake_on, Nanos::from_millis(2));
            let rows = measured(&run);
            assert!(!rows.is_empty());
            for row in rows {
                let [wake, done, wakeup, returned] = [row[0], row[1], row[2], row[3]];
                assert!(wake > 0 && wakeup >= 0 && returned > 0, "{by} {wake_on}: {row:?}");
                assert!(
                    done >= wakeup + wake && done >= wakeup + returned,
                    "{by} {wake_on}: {row:?}"
                );
                assert_eq!(row.len(), if wake_on == "other" { 5 } else { 4 });
            }
        }
    }

    #[test]
    fn the_next_cpu_is_another_one() {
        let cpus = [0, 2, 3].map(CpuId);
        let next = |cpu: u32, usable: &[CpuId]| next_cpu(CpuId(cpu), usable).map(|cpu| cpu.0);
        assert_eq!(
            (next(0, &cpus), next(2, &cpus), next(3, &cpus), next(1, &cpus)),
            (Some(2), Some(3), Some(0), Some(2))
        );
        assert_eq!(next(0, &cpus[..1]), None);
    }

    #[test]
    fn the_waking_thread_runs_where_it_was_put() {
        let mut run = run("pipe", "other", Nanos::from_millis(1));
        run.cpus.truncate(1);
        match next_cpu(run.cpus[0], &crate::process_cpus().unwrap().usable) {
            Some(expected) => {
                assert!(measured(&run).iter().all(|row| row[4] == i64::from(expected.0)))
            }
            None => {
                assert!(prepare(&run, &Control::new()).is_err())
            }
        }
    }

    /// Whatever either side waits for, in every way, and however early.
    #[test]
    fn a_run_that_is_stopped_ends_at_once() {
        for by in NAMES {
            for (interval, after) in [
                (Nanos::from_secs(3_600), 20),
                (Nanos::from_micros(300), 20),
                (Nanos::from_millis(1), 0),
            ] {
                let (mut run, control) = (run(by, "same", interval), Control::new());
                run.length = plan::Length::Samples(1_000_000);
                let mut measurement = prepare(&run, &control).unwrap();
                measurement.begin(measurement.earliest());
                std::thread::sleep(Duration::from_millis(after));
                control.stop(StopReason::Asked);
                let before = Instant::now();
                assert!(measurement.join().iter().all(Option::is_some), "{by}");
                assert!(before.elapsed() < Duration::from_secs(2), "{by}: {:?}", before.elapsed());
            }
        }
    }
}
