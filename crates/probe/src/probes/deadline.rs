// SPDX-License-Identifier: MIT OR Apache-2.0
//! `deadline`: periodic jobs under SCHED_DEADLINE.
//!
//! The period is the run's interval. A job wakes at its planned time, reads the clock, and computes
//! for as long as it was asked to. The kernel throttles a thread that has used up its runtime until
//! its next period, so a job is over, and its thread free, when it has computed: that time decides
//! what was late and skipped.
//!
//! Whether a job overran its budget follows from its CPU time, which is what the kernel charges to
//! it. The kernel's own notice (`SCHED_FLAG_DL_OVERRUN`) is a signal to the process: it does not
//! say which thread it was, and two become one.

use super::probe::{Probe, SetProbe, SettingConflict, conflict};
use super::setting::{ProbeSetting, SettingValues};
use crate::attachment::Attachment;
use crate::clock::ns_of;
use crate::deadline::{Reserved, refused};
use crate::outcome::SampleError;

use crate::sampler::{Overrun, Sampler};
use crate::thread::{Launched, ThreadConfig};
use model::{Column, ProbeStatement};
use plan::{Nanos, ProbeSettings, Run, Scheduling};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::sync::Arc;
use system::scheduling::Reservation;

pub(super) const PROBE: Probe = Probe {
    needs: "root or CAP_SYS_NICE, and bandwidth that admission control has left",
    settings: &[RUNTIME, DEADLINE, WORK],
    default_scheduling: Scheduling::DEADLINE,
    ..Probe::new(
        "deadline",
        "wake-up latency and budget overruns of periodic jobs under SCHED_DEADLINE",
        |settings| Arc::new(Settings::from(settings)),
    )
};

const RUNTIME: ProbeSetting = ProbeSetting::new(
    "runtime",
    "CPU time reserved for the thread in each period, which is the interval",
    SettingValues::Time,
    "200us",
);

const DEADLINE: ProbeSetting = ProbeSetting::new(
    "deadline",
    "From the start of a period until the runtime is due [default: the interval]",
    SettingValues::Time,
    "",
)
.default_not_recorded();

const WORK: ProbeSetting = ProbeSetting::new(
    "work",
    "CPU time that each job computes for [default: nothing]",
    SettingValues::Time,
    "",
)
.default_not_recorded();

/// The kernel counts with no less (`DL_SCALE`).
const MIN_RUNTIME: Nanos = Nanos(1_024);
/// The longest a job may take. A thread that computes does not see that the run is to stop.
const MAX_JOB: Nanos = Nanos::from_secs(2);

struct Settings {
    runtime: Nanos,
    deadline: Option<Nanos>,
    work: Option<Nanos>,
}

impl From<&ProbeSettings> for Settings {
    fn from(settings: &ProbeSettings) -> Self {
        Settings {
            runtime: RUNTIME.time(settings).unwrap_or(MIN_RUNTIME),
            deadline: DEADLINE.time(settings),
            work: WORK.time(settings),
        }
    }
}

/// The column of `done_ns`.
const DONE: usize = 2;
/// All columns; jobs that do nothing but wake have fewer.
const COLUMNS: usize = 6;

impl SetProbe for Settings {
    fn statement(&self, _: &Run) -> ProbeStatement {
        let mut columns = ProbeStatement::cyclic().columns;
        columns.push(Column::count(Column::ON_CPU, "number of the CPU that the job began on"));
        if self.work.is_some() {
            columns.extend([
                Column::ns("done_ns", "from the planned time until the job was done"),
                Column::ns("cpu_ns", "CPU time of the job"),
                Column::count(
                    "over_budget",
                    "1 if the job used more CPU time than its runtime, else 0",
                ),
            ]);
        }
        columns.push(Column::count(
            Column::DEADLINE_MISSED,
            "1 if the job was done after its deadline, else 0. A skipped job missed its own too",
        ));
        let overrun_column = Some(if self.work.is_some() { DONE } else { 0 });
        ProbeStatement { columns, overrun_column, ..ProbeStatement::cyclic() }
    }

    fn conflict(&self, run: &Run) -> Option<SettingConflict> {
        let (runtime, period) = (self.runtime, run.interval_of(0));
        let deadline = self.deadline.unwrap_or(period);
        if runtime < MIN_RUNTIME {
            return conflict(
                RUNTIME.name,
                format!(
                    "the kernel reserves {MIN_RUNTIME} or more, not {runtime}. Give a longer \
                     runtime"
                ),
            );
        }
        if deadline > period {
            return conflict(
                DEADLINE.name,
                format!(
                    "{deadline} is longer than the period, which is the interval, {period}. Give \
                     a deadline of at most {period}, or a longer interval"
                ),
            );
        }
        if runtime > deadline {
            let lengthen = if self.deadline.is_some() { "deadline" } else { "interval" };
            return conflict(
                RUNTIME.name,
                format!(
                    "{runtime} is longer than the deadline, {deadline}. Give a runtime of at most \
                     {deadline}, or a longer {lengthen}"
                ),
            );
        }
        let work = self.work?;
        // In each period of the longest interval it gets its runtime.
        let longest = run.interval_of(run.cpus.len().saturating_sub(1));
        let whole_periods = Nanos((work.0 / runtime.0 + 1).saturating_mul(longest.0));
        let job = if work > runtime { whole_periods } else { work };
        if job <= MAX_JOB {
            return None;
        }
        conflict(
            WORK.name,
            format!(
                "with {runtime} in each {longest} a job of {work} takes {job}. At most {MAX_JOB} \
                 is allowed. Give less work, or a longer runtime"
            ),
        )
    }

    fn lacks(&self, _: Nanos, _: Scheduling) -> Option<String> {
        refused()
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        let (runtime, period) = (self.runtime, config.cycle.interval);
        let deadline = self.deadline.unwrap_or(period);
        let attachment = Reserved(Reservation { runtime, deadline, period });
        let work_ns = self.work.map_or(0, |work| work.0);
        let times = Times { work_ns, runtime_ns: runtime.0, deadline_ns: deadline.0 };
        match self.work {
            None => config.launch(attachment, Job::<0>(times)),
            Some(_) => config.launch(attachment, Job::<DONE>(times)),
        }
    }
}

/// A job, of which this column shows overruns.
struct Job<const OVERRUN: usize>(Times);

#[derive(Clone, Copy)]
struct Times {
    work_ns: i64,
    runtime_ns: i64,
    deadline_ns: i64,
}

impl Times {
    /// For a job that was done this long after its planned time: what the column of missed
    /// deadlines has.
    fn is_missed(self, done_ns: i64) -> i64 {
        i64::from(done_ns > self.deadline_ns)
    }
}

/// CPU time of the calling thread, ns.
fn cpu_time_ns() -> i64 {
    ns_of(clock_gettime(ClockId::ThreadCPUTime))
}

/// Where the calling thread is.
fn on_cpu() -> i64 {
    i64::try_from(rustix::thread::sched_getcpu()).unwrap_or(-1)
}

impl<A: Attachment, const OVERRUN: usize> Sampler<A, COLUMNS> for Job<OVERRUN> {
    const OVERRUN: Overrun = Overrun::Time(OVERRUN);

    fn sample(
        &mut self,
        attachment: &mut A,
        planned: Nanos,
    ) -> Result<[i64; COLUMNS], SampleError> {
        let latency = attachment.now().0 - planned.0;
        let (cpu, times) = (on_cpu(), self.0);
        if OVERRUN != DONE {
            return Ok([latency, cpu, times.is_missed(latency), 0, 0, 0]);
        }
        let begin = cpu_time_ns();
        let used = loop {
            let used = cpu_time_ns() - begin;
            if used >= times.work_ns {
                break used;
            }
        };
        let done = attachment.now().0 - planned.0;
        let over_budget = i64::from(used > times.runtime_ns);
        Ok([latency, cpu, done, used, over_budget, times.is_missed(done)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::test_run;

    fn error(settings: &[(&str, &str)], scheduling: Scheduling) -> Option<String> {
        let mut run = test_run(Nanos::from_millis(10), 10);
        run.probe = PROBE.name.to_owned();
        run.scheduling = scheduling;
        run.probe_settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        crate::test_runs::statement(&run).err().map(|error| format!("{}: {error}", error.setting()))
    }

    #[test]
    fn runtime_is_at_most_the_deadline_which_is_at_most_the_period() {
        let error = |settings: &[(&str, &str)]| error(settings, Scheduling::DEADLINE);
        for settings in [
            &[][..],
            &[("runtime", "10ms")],
            &[("runtime", "5ms"), ("deadline", "5ms")],
            &[("work", "300us")],
        ] {
            assert_eq!(error(settings), None);
        }
        for (settings, setting, reason) in [
            (&[("runtime", "1us")][..], "runtime", "the kernel reserves 1024ns or more, not 1us"),
            (&[("runtime", "11ms")], "runtime", "11ms is longer than the deadline, 10ms"),
            (
                &[("runtime", "2ms"), ("deadline", "1ms")],
                "runtime",
                "2ms is longer than the deadline, 1ms",
            ),
            (
                &[("deadline", "20ms")],
                "deadline",
                "20ms is longer than the period, which is the interval, 10ms",
            ),
            (&[("work", "1s")], "work", "with 200us in each 10ms a job of 1s takes"),
        ] {
            let found = error(settings).unwrap();
            assert!(
                found.starts_with(&format!(
                    "{setting}: '{setting}' of the probe deadline is impossible here: {reason}"
                )),
                "{found}"
            );
        }
    }

    /// On the last nanosecond it is still met.
    #[test]
    fn a_deadline_is_missed_by_what_is_done_later() {
        let times = Times { work_ns: 0, runtime_ns: 0, deadline_ns: 5_000_000 };
        assert_eq!([-3, 5_000_000, 5_000_001].map(|done| times.is_missed(done)), [0, 0, 1]);
    }

    #[test]
    fn the_policy_is_the_probes_own() {
        let found = error(&[], Scheduling::DEFAULT).unwrap();
        assert!(
            found.starts_with("policy: 'policy' of the probe deadline is impossible here: "),
            "{found}"
        );
        let mut run = test_run(Nanos::from_millis(10), 10);
        run.scheduling = Scheduling::DEADLINE;
        let found = crate::test_runs::statement(&run).unwrap_err();
        assert_eq!(found.setting(), "policy");
        assert!(found.to_string().contains("of the probe cyclic"), "{found}");
    }
}
