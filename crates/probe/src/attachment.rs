// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a measuring thread runs on: Linux, or a co-kernel beside it. Everything that differs
//! between them is behind one trait, which the engine is generic over; so the accounting can also
//! be driven through every case by a clock that does exactly what a test wants.

use crate::outcome::{SampleError, Woken};
use crate::{Monotonic, sys};
use plan::{CpuId, Nanos, Scheduling};
use rustix::thread::Pid;
use std::io;
use system::scheduling::{set_affinity, set_scheduling};
use system::usage::ThreadUsage;

/// How a thread becomes a measuring thread, reads its clock, sleeps, is asked to stop, and becomes
/// an ordinary one again: on Linux and CLOCK_MONOTONIC, where an attachment says nothing else.
pub(crate) trait Attachment: Send + 'static {
    /// Makes the calling thread a measuring one: pinned, with its scheduling. Returns its number.
    fn attach(&mut self, cpu: CpuId, scheduling: Scheduling) -> io::Result<Pid>;
    /// The time, ns.
    #[inline]
    fn now(&mut self) -> Nanos {
        Monotonic.now()
    }
    /// Sleeps until an absolute time; returns at once if it has passed.
    #[inline]
    fn sleep_until(&mut self, time: Nanos) -> Woken {
        Monotonic.sleep_until(time)
    }
    /// Ends the sleep of an attached thread, which then sees that it is to stop. Called by another
    /// thread, as often as it takes.
    fn interrupt(thread: Pid) {
        sys::wake(thread);
    }
    /// Whether a thread runs on Linux, so that it may make any system call.
    const IS_LINUX: bool = true;
    /// Takes the calling thread to where it measures, before it warms up. Between this and
    /// [`Attachment::leave`] it makes no system call but those of the attachment and of what it
    /// measures.
    ///
    /// # Errors
    /// Why it cannot measure there: the run ends with it.
    fn enter(&mut self) -> Result<(), SampleError> {
        Ok(())
    }
    /// It has warmed up, and its first row comes next.
    fn begin(&mut self) {}
    fn leave(&mut self) {}
    /// How often the thread fell back to Linux in between, on a co-kernel, given what it used since
    /// before it entered; none where nobody knows.
    fn fallen_back(&self, _used: Option<&ThreadUsage>) -> Option<u64> {
        None
    }
    /// Makes the calling thread an ordinary one again, so that its end disturbs no other that still
    /// measures.
    fn detach(&mut self) {
        let _ = set_scheduling(None, Scheduling::OTHER);
    }
}

/// Threads of Linux, on CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Linux;

impl Attachment for Linux {
    fn attach(&mut self, cpu: CpuId, scheduling: Scheduling) -> io::Result<Pid> {
        pin(None, cpu)?;
        if !scheduling.policy.is_real_time() {
            // Other policies may be woken 50 us late on purpose, to save power; ask for 1 ns
            // instead. Real-time ones never are.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
        set_scheduling(None, scheduling)?;
        Ok(rustix::thread::gettid())
    }
}

/// Binds a thread, or the calling one, to a CPU.
pub(crate) fn pin(thread: Option<Pid>, cpu: CpuId) -> io::Result<()> {
    set_affinity(thread, &[cpu])
}
