// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a run is stopped before its end. The first reason counts.

use crate::outcome::SampleError;
use plan::CpuId;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Whoever started it wants it to end.
    Asked,
    /// A latency above the limit.
    BreakAbove {
        thread: usize,
        activation: u64,
        /// Its latency, ns.
        latency_ns: i64,
    },
    /// Nothing of ordinary priority had run for so long.
    Starved {
        /// How long, ns.
        for_ns: i64,
        /// On this CPU; none: nowhere.
        cpu: Option<CpuId>,
    },
    /// The clock could not be slept on, or the probe could not measure.
    ProbeFailed {
        thread: usize,
        /// What was being done, such as `clock_nanosleep`, or what there was not.
        doing: &'static str,
        /// The error's number; 0 where the system said none.
        errno: i32,
    },
    /// Threads went on after the end of the run.
    Overtime {
        /// How long after, ns.
        by_ns: i64,
    },
}

#[derive(Debug, Default)]
struct Shared {
    stopped: AtomicBool,
    reason: Mutex<Option<StopReason>>,
    heartbeat: AtomicI64,
}

/// Shared by the threads of one run. The measuring threads only check a flag; the reason is written
/// by the one that stops, off the measured path.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Shared>);

impl Control {
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run; the first reason stands.
    #[cold]
    pub fn stop(&self, reason: StopReason) {
        self.0.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.0.stopped.store(true, Ordering::Release);
    }

    /// Stops the run because a thread cannot measure any further.
    #[cold]
    pub(crate) fn probe_failed(&self, thread: usize, SampleError { doing, errno }: SampleError) {
        self.stop(StopReason::ProbeFailed { thread, doing, errno });
    }

    /// Whether it was stopped.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    pub fn reason(&self) -> Option<StopReason> {
        self.0.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records that a thread of ordinary priority was able to run at this time, ns.
    pub(crate) fn record_heartbeat(&self, now_ns: i64) {
        self.0.heartbeat.store(now_ns, Ordering::Relaxed);
    }

    /// When one last was, ns.
    pub(crate) fn last_heartbeat(&self) -> i64 {
        self.0.heartbeat.load(Ordering::Relaxed)
    }
}
