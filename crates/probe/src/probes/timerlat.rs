// SPDX-License-Identifier: MIT OR Apache-2.0
//! `timerlat`: the kernel's own measurement of its timers, in the interrupt and in a thread of its
//! own.
//!
//! The measured threads are the kernel's, one for each CPU, with the run's interval and scheduling;
//! or ones of this program in their place, which come back to user space each time. Our thread
//! reads what the tracer prints, a tenth of a second behind it.

use super::probe::{Probe, SetProbe, SettingConflict, conflict};
use super::setting::ProbeSetting;
use crate::attachment::Attachment;
use crate::observer::Observer;
use crate::outcome::{SampleError, Woken};
use crate::sampler::{Overrun, Sampler, Untraced};
use crate::thread::{Launched, Outlives, ThreadConfig};
use crate::timerlat::{Row, Rows, Thread, UserThread, file_of_user, lacks, trace};
use crate::tracer::Tracer;
use model::{Column, ProbeStatement};
use plan::{CpuId, Nanos, OverrunPolicy, Run, Scheduling};
use std::io;
use std::sync::Arc;
use trace::{Reader, Text};

pub(super) const PROBE: Probe = Probe {
    needs: "the timerlat tracer (CONFIG_TIMERLAT_TRACER, Linux 5.17 or later, with \
            --timerlat-thread user 6.5), and root",
    settings: &[THREAD],
    ..Probe::new(
        "timerlat",
        "latency of the kernel's timer in its interrupt and in a kernel thread (timerlat \
              tracer)",
        |settings| {
            let is_user = THREAD.text(settings) == "user";
            Arc::new(Settings { thread: if is_user { Thread::User } else { Thread::Kernel } })
        },
    )
};

const THREAD: ProbeSetting = ProbeSetting::one_of(
    "timerlat-thread",
    "Whose thread waits for the timer: the kernel's, or one in user space, of which the \
         return there is measured",
    &["kernel", "user"],
)
.default_not_recorded();

struct Settings {
    thread: Thread,
}

/// The column of `missed`.
const MISSED: usize = 2;

const MIN_INTERVAL: Nanos = Nanos::from_micros(100);
const MAX_INTERVAL: Nanos = Nanos::from_secs(1);

impl SetProbe for Settings {
    fn statement(&self, _: &Run) -> ProbeStatement {
        let irq = Column::ns("irq_ns", "from the timer's expiry until its interrupt handler runs");
        let missed = |meaning| Column::count(Column::MISSED, meaning);
        let (columns, measuring_point) = match self.thread {
            Thread::Kernel => (
                vec![
                    Column::ns(
                        "thread_ns",
                        "from the timer's expiry until the kernel's thread runs",
                    ),
                    irq,
                    missed(
                        "activations that passed before the kernel's thread waited for the next",
                    ),
                ],
                "from the time the kernel's timer was set to, to the clock read by its thread \
                 timerlat/N, in the kernel",
            ),
            Thread::User => (
                vec![
                    Column::ns(
                        "user_ns",
                        "from the timer's expiry until the thread is back in user space and calls \
                         read again",
                    ),
                    irq,
                    missed("activations that passed before the thread called read again"),
                    Column::ns(
                        "thread_ns",
                        "from the timer's expiry until the thread runs in the kernel",
                    ),
                ],
                "from the time the kernel's timer was set to, to the clock read by the kernel when \
                 the thread that had returned to user space entered it again",
            ),
        };
        ProbeStatement {
            columns,
            overrun_column: Some(MISSED),
            measuring_point: measuring_point.into(),
            ..ProbeStatement::cyclic()
        }
    }

    fn conflict(&self, run: &Run) -> Option<SettingConflict> {
        let interval = run.interval_ns;
        if !(MIN_INTERVAL..=MAX_INTERVAL).contains(&interval) || interval.0 % 1_000 != 0 {
            return conflict("interval", "the tracer's period is whole µs, from 100 µs to 1 s");
        }
        if run.cpus.len() > 1 && run.distance_ns != Nanos::ZERO {
            return conflict("distance", "the tracer has one period for all CPUs");
        }
        let mut cpus = run.cpus.clone();
        cpus.sort_unstable();
        if cpus.windows(2).any(|pair| pair[0] == pair[1]) {
            return conflict("cpus", "the tracer has one thread for each CPU");
        }
        if run.overrun_policy == OverrunPolicy::CatchUp {
            return conflict("catch-up", "the kernel's thread does not catch up");
        }
        None
    }

    fn lacks(&self, _: Nanos, _: Scheduling) -> Option<String> {
        lacks(self.thread)
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        let (cpu, interval, scheduling) = (config.cpu, config.cycle.interval, config.scheduling);
        let thread = self.thread;
        let tracer = trace(cpu, interval, thread, scheduling).map_err(io::Error::other)?;
        let reader = tracer.lock().session.reader(cpu).map_err(io::Error::other)?;
        let outlives = Some(Arc::clone(&tracer) as Outlives);
        let rows = Rows::new(Nanos(0), interval);
        let rows = if thread == Thread::User { rows.with_user() } else { rows };
        let timerlat = Timerlat {
            reader,
            rows,
            row: None,
            lost: 0,
            untraced: 0,
            owed: 0,
            silent_since: 0,
            limit: 0,
            thread,
            cpu,
            scheduling,
            user: None,
            tracer,
        };
        Ok(Launched { outlives, ..config.launch(Observer, timerlat)? })
    }
}

/// How often the trace is read: seldom, because reading takes time on the measured CPU where there
/// is no other.
const READ_EVERY: Nanos = Nanos::from_millis(100);
/// A tracer that says nothing for so long, or for ten intervals, has ended.
const MAX_SILENCE: Nanos = Nanos::from_secs(30);

struct Timerlat {
    reader: Reader,
    rows: Rows,
    /// The one that was waited for.
    row: Option<Row>,
    /// After the row that was sampled.
    lost: u64,
    /// Those that were lost so far.
    untraced: u64,
    /// Rows of the warm-up that the last one passed. Of those that are measured the engine takes
    /// account.
    owed: u64,
    /// When the last row was read.
    silent_since: i64,
    limit: i64,
    thread: Thread,
    cpu: CpuId,
    scheduling: Scheduling,
    /// In user space. It begins when the tracer runs on all CPUs.
    user: Option<UserThread>,
    /// Ends after the reader and the thread: fields are dropped in this order.
    tracer: Arc<Tracer>,
}

impl Timerlat {
    /// Reads up to the next row; none if there is none yet.
    fn next_row(&mut self) -> io::Result<Option<Row>> {
        while let Some(text) = self.reader.next()? {
            // What is lost shows in the numbers of those that follow.
            if let Text::Line(line) = text
                && let Some(row) = self.rows.line(line)
            {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

impl<A: Attachment> Sampler<A, 4> for Timerlat {
    const OVERRUN: Overrun = Overrun::Missed(MISSED);

    fn begin(
        &mut self,
        attachment: &mut A,
        first: Nanos,
        interval: Nanos,
    ) -> Result<(), SampleError> {
        self.rows.restart(first, interval);
        if self.thread == Thread::User && self.user.is_none() {
            let file = file_of_user(&self.tracer, self.cpu);
            let user = UserThread::start(file, self.cpu, self.scheduling);
            let user = user.map_err(|error| SampleError::new("start of a thread", &error))?;
            self.user = Some(user);
        }
        (self.owed, self.lost) = (0, 0);
        self.limit = MAX_SILENCE.0.max(interval.0.saturating_mul(10));
        self.silent_since = attachment.now().0.max(first.0);
        Ok(())
    }

    fn wait(&mut self, attachment: &mut A, _planned: Nanos) -> Woken {
        if self.owed > 0 {
            self.owed -= 1;
            self.row = Some(Row::default());
            return Woken::OnTime;
        }
        loop {
            match self.next_row() {
                Ok(None) => {}
                Ok(row) => {
                    self.row = row;
                    self.silent_since = attachment.now().0;
                    return Woken::OnTime;
                }
                Err(error) => return Woken::from(error),
            }
            if let Some(errno) = self.user.as_ref().and_then(UserThread::error) {
                return Woken::Failed(errno);
            }
            let now = attachment.now().0;
            if now - self.silent_since > self.limit {
                return Woken::Failed(libc::ETIMEDOUT);
            }
            match attachment.sleep_until(Nanos(now + READ_EVERY.0)) {
                Woken::OnTime => {}
                otherwise => return otherwise,
            }
        }
    }

    fn wait_call(&self) -> &'static str {
        let ended = self.user.as_ref().and_then(UserThread::error).is_some();
        if ended { "read of timerlat_fd" } else { "read of trace_pipe" }
    }

    fn sample(&mut self, _attachment: &mut A, _planned: Nanos) -> Result<[i64; 4], SampleError> {
        let row =
            self.row.take().ok_or(SampleError { doing: "read of trace_pipe", errno: libc::EIO })?;
        self.lost = row.lost;
        self.owed = self.owed.saturating_add(row.lost).saturating_add(row.missed.unsigned_abs());
        let judged = if self.thread == Thread::User { row.user_ns } else { row.thread_ns };
        Ok([judged, row.irq_ns, row.missed, row.thread_ns])
    }

    fn lost(&mut self) -> u64 {
        self.owed = 0;
        self.untraced += self.lost;
        std::mem::take(&mut self.lost)
    }

    fn untraced(&self) -> Untraced {
        Untraced { rows: self.untraced, without_switch: 0 }
    }
}
