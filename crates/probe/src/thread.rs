// SPDX-License-Identifier: MIT OR Apache-2.0
//! A measuring thread from birth to its outcome.

use crate::guard::StarvationCheck;
use crate::{Clock, Control, Counts, Cycle, Monotonic, Producer, StopReason, Woken, cycle, sys};
use plan::{CpuId, Nanos, Scheduling};
use rustix::thread::Pid;
use std::hint::black_box;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Stack of each thread. Small, because with all memory locked every page of it is there from the beginning.
pub(crate) const STACK_BYTES: usize = 128 * 1024;
/// Part of the stack that is written to in advance, where memory could not be locked.
const PREFAULT_BYTES: usize = 48 * 1024;

/// What a thread has to tell in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadResult {
    /// What became of its activations.
    pub counts: Counts,
    /// Samples that found the ring full.
    pub lost: u64,
    /// What the kernel counted between its first and its last activation; none if it would not say.
    pub usage: Option<Usage>,
}

/// What the kernel counted of a thread between its first and its last activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Page faults served without the disk.
    pub minor_faults: u64,
    /// Page faults that waited for the disk.
    pub major_faults: u64,
    /// Times it went to sleep.
    pub voluntary_switches: u64,
    /// Times it was taken off its CPU.
    pub involuntary_switches: u64,
}

/// What a thread needs to begin.
pub(crate) struct ThreadConfig {
    pub(crate) cpu: CpuId,
    pub(crate) scheduling: Scheduling,
    pub(crate) warmup: Nanos,
    /// The cycle; its start is shifted by `starts` when that is known.
    pub(crate) cycle: Cycle,
    pub(crate) ring: Producer,
    pub(crate) control: Control,
    pub(crate) barrier: Arc<StartBarrier>,
}

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

/// What a measuring thread runs.
pub(crate) fn thread_main(mut config: ThreadConfig, ready: &Sender<(usize, Ready)>) -> ThreadResult {
    sys::block_all_signals_but_wake();
    prefault_stack();
    let prepared = prepare(config.cpu, config.scheduling);
    let _ = ready.send((config.cycle.thread, prepared));
    let Decision::Start(start) = config.barrier.pass() else {
        return ThreadResult { counts: Counts::default(), lost: 0, usage: None };
    };
    config.cycle.start.0 += start.0;
    let mut clock = Monotonic;
    warm_up(&mut clock, &config);
    let before = sys::thread_usage();
    let counts = cycle::measure(&mut clock, &config.cycle, &mut config.ring, &config.control);
    let after = sys::thread_usage();
    // Back to ordinary, so that ending the thread disturbs no other that still measures.
    let _ = sys::set_scheduling(Scheduling::OTHER);
    ThreadResult { counts, lost: config.ring.lost(), usage: before.ok().zip(after.ok()).map(difference) }
}

fn difference((before, after): (sys::ThreadUsage, sys::ThreadUsage)) -> Usage {
    Usage {
        minor_faults: after.minor_faults.saturating_sub(before.minor_faults),
        major_faults: after.major_faults.saturating_sub(before.major_faults),
        voluntary_switches: after.voluntary_switches.saturating_sub(before.voluntary_switches),
        involuntary_switches: after.involuntary_switches.saturating_sub(before.involuntary_switches),
    }
}

/// Pins the calling thread and gives it its scheduling.
pub(crate) fn prepare(cpu: CpuId, scheduling: Scheduling) -> Ready {
    pin(None, cpu)?;
    if !scheduling.policy.is_real_time() {
        // Other policies may be woken 50 us late on purpose, to save power; ask for 1 ns instead. Real-time ones never are.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }
    sys::set_scheduling(scheduling)?;
    Ok(rustix::thread::gettid())
}

/// Binds a thread, or the calling one, to a CPU.
pub(crate) fn pin(thread: Option<Pid>, cpu: CpuId) -> std::io::Result<()> {
    sys::set_affinity(thread, &[cpu])
}

/// Writes to the part of the stack the loop may use.
#[inline(never)]
fn prefault_stack() {
    black_box(&mut [1_u8; PREFAULT_BYTES]);
}

/// Activations before activation 0, on the same beat, whose latencies are not kept: the first wake-ups of a thread load
/// caches, branch predictors and the kernel's own paths.
fn warm_up(clock: &mut Monotonic, config: &ThreadConfig) {
    let Cycle { start, interval, .. } = config.cycle;
    let mut now = clock.now().0;
    let mut starvation = StarvationCheck::new();
    for left in (1..=config.warmup.0 / interval.0.max(1)).rev() {
        let planned = start.0 - left * interval.0;
        // At an interval that cannot be kept, every one of them would delay activation 0 further.
        if planned < now {
            continue;
        }
        if config.control.is_stopped() {
            return;
        }
        match clock.sleep_until(Nanos(planned)) {
            Woken::OnTime => {}
            Woken::Interrupted => return,
            Woken::Failed(errno) => {
                return config.control.stop(StopReason::ClockFailed { thread: config.cycle.thread, errno });
            }
        }
        now = black_box(clock.now()).0;
        if starvation.is_due(now) {
            starvation.check(now, &config.control);
        }
    }
}
