// SPDX-License-Identifier: MIT OR Apache-2.0
//! A measuring thread, from its start to its result.

use crate::attachment::Attachment;
use crate::guard::StarvationCheck;
use crate::outcome::{SampleError, Woken};
use crate::ring::slots_for;
use crate::sampler::{EventSource, Overrun, Sampler, Untraced};
use crate::{Consumer, Control, Counts, Cycle, Producer, cycle, events, ring, sys};
use model::{Polling, Smis, Warning, WithoutPeriod};
use plan::{CpuId, Nanos, Scheduling};
use rustix::thread::Pid;
use std::any::Any;
use std::hint::black_box;
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use system::usage::{ThreadUsage, thread_usage};

/// Stack of each thread. Small, because with all memory locked every page of it is there from the
/// beginning.
pub(crate) const STACK_BYTES: usize = 128 * 1024;
/// Part of the stack that is written to in advance, where memory could not be locked.
const PREFAULT_BYTES: usize = 48 * 1024;

/// Slots for events at least, whose number does not follow from an interval: as for one in each 125
/// us.
const EVENT_SLOTS: u64 = 1 << 16;

/// The result of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadResult {
    /// What became of its activations.
    pub counts: Counts,
    /// Samples that found the ring full.
    pub lost: u64,
    pub untraced: Untraced,
    /// What the kernel counted between its first and its last activation; none if it would not
    /// say.
    pub usage: Option<ThreadUsage>,
    /// How much later than asked the kernel may wake it, ns; none under a real-time policy, which
    /// has none, and where the kernel would not say.
    pub timer_slack_ns: Option<u64>,
    /// How long it polled; none of those that wait otherwise.
    pub polled: Option<Polling>,
    /// System management interrupts of its CPU; none of a probe that does not ask.
    pub smis: Option<Smis>,
    /// How often it fell back to Linux between its first and its last row, on a co-kernel that
    /// said so.
    pub fallen_back: Option<u64>,
    /// How many of its rows are of a period that is known, and those of which none is; none of a
    /// probe that looks for none.
    pub periodic_rows: Option<(u64, WithoutPeriod)>,
    /// What its probe found that a reader has to know.
    pub warnings: Vec<Warning>,
}

/// What a thread needs to begin.
pub(crate) struct ThreadConfig {
    pub(crate) cpu: CpuId,
    pub(crate) scheduling: Scheduling,
    pub(crate) warmup: Nanos,
    /// The cycle; its start is shifted by `starts` when that is known.
    pub(crate) cycle: Cycle,
    /// Columns of its rows, as the probe states them.
    pub(crate) columns: usize,
    pub(crate) control: Control,
    pub(crate) barrier: Arc<StartBarrier>,
    /// Where it says that it is ready.
    pub(crate) ready: Sender<(usize, Ready)>,
}

/// Ends the sleep of a measuring thread, which then sees that it is to stop.
pub(crate) type Interrupt = Box<dyn Fn(Pid) + Send>;

/// A measuring thread that has been made.
pub(crate) struct Launched {
    pub(crate) thread: JoinHandle<ThreadResult>,
    /// Where its rows come out.
    pub(crate) consumer: Consumer,
    pub(crate) interrupt: Interrupt,
    /// The column that decides what is late, and how; none of events.
    pub(crate) overrun: Option<Overrun>,
    /// A thread of the same scheduling that takes part in what it measures, and its CPU: the guard
    /// watches over it too.
    pub(crate) helper: Option<(CpuId, Pid)>,
    /// What is to end after the run and its loads: among hundreds of busy tasks the end of a
    /// tracer, which waits for each CPU a few times, would take seconds.
    pub(crate) outlives: Option<Outlives>,
}

/// What ends with its last reference.
pub(crate) type Outlives = Arc<dyn Any + Send + Sync>;

/// Where threads wait for their common start.
#[derive(Default)]
pub(crate) struct StartBarrier {
    decided: Mutex<Option<Decision>>,
    opened: Condvar,
}

/// What becomes of threads that are ready.
#[derive(Clone, Copy)]
pub(crate) enum Decision {
    /// Planned time of activation 0 of the first thread, ns.
    Start(Nanos),
    /// All go home: one of them could not be made ready, or the run does not begin.
    GiveUp,
}

impl StartBarrier {
    /// Lets everyone through; the first decision stands.
    pub(crate) fn open(&self, decision: Decision) {
        self.decided.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(decision);
        self.opened.notify_all();
    }

    fn pass(&self) -> Decision {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(decision) = *decided {
                return decision;
            }
            decided = self.opened.wait(decided).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Readiness of a thread: its number, or what kept it.
pub(crate) type Ready = Result<Pid, std::io::Error>;

impl ThreadConfig {
    /// Makes a thread that measures planned rows.
    pub(crate) fn launch<A: Attachment, S: Sampler<A, N>, const N: usize>(
        self,
        mut attachment: A,
        mut sampler: S,
    ) -> io::Result<Launched> {
        self.start::<A, N>(Some(S::OVERRUN), move |config, ring| {
            config.main(ring, &mut attachment, |attachment, config, ring| {
                let (counts, usage) = measure_rows(attachment, &mut sampler, config, ring);
                ThreadResult {
                    counts,
                    untraced: sampler.untraced(),
                    fallen_back: attachment.fallen_back(usage.as_ref()),
                    usage,
                    ..ThreadResult::default()
                }
            })
        })
    }

    /// Makes a thread that waits for events.
    pub(crate) fn launch_events<A: Attachment, const N: usize, const WIDTH: usize>(
        self,
        mut attachment: A,
        mut source: impl EventSource<A, N>,
    ) -> io::Result<Launched> {
        self.start::<A, WIDTH>(None, move |config, ring| {
            config.main(ring, &mut attachment, |attachment, config, ring| {
                let before = thread_usage();
                let counts =
                    events::measure(attachment, &mut source, &config.cycle, ring, &config.control);
                ThreadResult {
                    counts,
                    usage: used_since(before),
                    polled: source.polled(),
                    smis: source.smis(),
                    untraced: source.untraced(),
                    periodic_rows: source.periodic_rows(),
                    warnings: source.findings(attachment),
                    ..ThreadResult::default()
                }
            })
        })
    }

    /// Makes the thread's ring, and the thread, which runs `main`.
    fn start<A: Attachment, const N: usize>(
        self,
        overrun: Option<Overrun>,
        main: impl FnOnce(Self, Producer<N>) -> ThreadResult + Send + 'static,
    ) -> io::Result<Launched> {
        // In front of an event's columns stands its time.
        let time = usize::from(overrun.is_none());
        debug_assert!(time + self.columns <= N, "more columns are stated than measured");
        // No more rows come than are due.
        let planned = slots_for(self.cycle.interval.0).min(self.cycle.activations);
        let slots = if overrun.is_some() { planned } else { planned.max(EVENT_SLOTS) };
        let (producer, consumer) = ring(slots, time + self.columns);
        let thread = spawn(self.cycle.thread, Box::new(move || main(self, producer)))?;
        Ok(Launched {
            thread,
            consumer,
            interrupt: Box::new(A::interrupt),
            overrun,
            helper: None,
            outlives: None,
        })
    }

    /// From its start to its result.
    fn main<A: Attachment, const N: usize>(
        mut self,
        mut ring: Producer<N>,
        attachment: &mut A,
        measure: impl FnOnce(&mut A, &Self, &mut Producer<N>) -> ThreadResult,
    ) -> ThreadResult {
        sys::block_all_signals_but_wake();
        prefault_stack();
        let _ = self.ready.send((self.cycle.thread, attachment.attach(self.cpu, self.scheduling)));
        let Decision::Start(start) = self.barrier.pass() else {
            // Whatever the probe ends when it goes is ended with ordinary scheduling.
            attachment.detach();
            return ThreadResult::default();
        };
        self.cycle.start.0 += start.0;
        let result = measure(attachment, &self, &mut ring);
        let is_ordinary = !self.scheduling.policy.is_real_time();
        let timer_slack_ns =
            is_ordinary.then(|| rustix::thread::current_timer_slack().ok()).flatten();
        attachment.detach();
        ThreadResult { lost: ring.lost(), timer_slack_ns, ..result }
    }
}

/// Warms up and measures where the attachment takes the thread for that, and what the thread used
/// meanwhile. To ask for the latter is a call of Linux: where the rows are not on Linux, what is
/// used by warming up counts too.
fn measure_rows<A: Attachment, S: Sampler<A, N>, const N: usize>(
    attachment: &mut A,
    sampler: &mut S,
    config: &ThreadConfig,
    ring: &mut Producer<N>,
) -> (Counts, Option<ThreadUsage>) {
    let before_entering = (!A::IS_LINUX).then(thread_usage);
    if let Err(error) = attachment.enter() {
        config.control.probe_failed(config.cycle.thread, error);
        return (Counts::default(), None);
    }
    warm_up(attachment, sampler, config);
    let before = before_entering.unwrap_or_else(thread_usage);
    attachment.begin();
    let counts = cycle::measure(attachment, sampler, &config.cycle, ring, &config.control);
    attachment.leave();
    (counts, used_since(before))
}

/// The name of the measuring thread of this index, as the kernel has it.
pub fn thread_name(index: usize) -> String {
    format!("teiji-{index}")
}

/// Makes a thread. Behind a pointer, so that what makes threads is compiled once and not for each
/// kind of row.
fn spawn(
    index: usize,
    main: Box<dyn FnOnce() -> ThreadResult + Send>,
) -> io::Result<JoinHandle<ThreadResult>> {
    Builder::new().name(thread_name(index)).stack_size(STACK_BYTES).spawn(main)
}

fn used_since(before: io::Result<ThreadUsage>) -> Option<ThreadUsage> {
    Some(thread_usage().ok()?.since(before.ok()?))
}

/// Writes to the part of the stack the loop may use.
#[inline(never)]
pub(crate) fn prefault_stack() {
    black_box(&mut [1_u8; PREFAULT_BYTES]);
}

/// Rows before row 0, in the same phase, that are not kept: the first wake-ups of a thread load
/// caches, branch predictors and the kernel's own paths.
fn warm_up<A: Attachment, S: Sampler<A, N>, const N: usize>(
    attachment: &mut A,
    sampler: &mut S,
    config: &ThreadConfig,
) {
    let Cycle { start, interval, .. } = config.cycle;
    let stop = |error| config.control.probe_failed(config.cycle.thread, error);
    let mut now = attachment.now().0;
    let mut starvation = StarvationCheck::new();
    let planned_times = |rows: i64| (1..=rows).rev().map(|left| start.0 - left * interval.0);
    // At an interval that cannot be kept, every one of them would delay row 0 further.
    let rows = config.warmup.0 / interval.0.max(1);
    let Some(first) = planned_times(rows).find(|planned| *planned >= now) else { return };
    if let Err(error) = sampler.begin(attachment, Nanos(first), interval) {
        return stop(error);
    }
    for planned in planned_times(rows) {
        if planned < now {
            continue;
        }
        if config.control.is_stopped() {
            return;
        }
        match sampler.wait(attachment, Nanos(planned)) {
            Woken::OnTime => {}
            Woken::Interrupted => return,
            Woken::Failed(errno) => {
                return stop(SampleError { doing: sampler.wait_call(), errno });
            }
        }
        match sampler.sample(attachment, Nanos(planned)) {
            Ok(values) => now = planned + black_box(values)[S::OVERRUN.column()],
            Err(error) => return stop(error),
        }
        if starvation.is_due(now) {
            starvation.check(now, &config.control);
        }
    }
}
