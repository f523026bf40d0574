// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine must survive us.
//!
//! Real-time threads that need all of their CPUs' time lock everybody else out, the recorder and the user's shell first.
//! A guard of higher priority looks once a second whether the recorder still gets to run, and stops the run if not.

use crate::{Clock, Control, Monotonic, StopReason, sys};
use plan::{Policy, Scheduling};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Looks in a row without a sign of life: longer than a busy machine makes a thread of ordinary priority wait, shorter
/// than a watchdog's patience. Looks and not seconds, because a process that was stopped (Ctrl-Z) or a machine that was
/// suspended shows no life for hours, but then the guard does not look either.
const PATIENCE: u32 = 5;
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A guard on duty; ends when told.
pub(crate) struct Guard {
    thread: JoinHandle<()>,
    off_duty: Control,
}

impl Guard {
    /// Watches over threads of this scheduling; none is needed over those without real-time priority.
    pub(crate) fn over(scheduling: Scheduling, control: &Control) -> std::io::Result<Option<Guard>> {
        let Some(prio) = scheduling.prio else { return Ok(None) };
        let above = Scheduling { policy: Policy::Fifo, prio: Some((prio + 1).min(99)) };
        let (control, off_duty) = (control.clone(), Control::new());
        control.beat(Monotonic.now().0);
        let duty = off_duty.clone();
        let thread = Builder::new().name("teiji-guard".into()).stack_size(crate::thread::STACK_BYTES).spawn(move || {
            sys::block_all_signals();
            // Without the priority it would be one of those locked out; the measuring threads have theirs already.
            let _ = sys::set_scheduling(above);
            let mut seen = Seen::default();
            while !duty.is_stopped() {
                std::thread::park_timeout(LOOK_EVERY);
                seen.look(&control);
            }
        })?;
        Ok(Some(Guard { thread, off_duty }))
    }

    /// Ends the watch.
    pub(crate) fn end(self) {
        self.off_duty.stop(StopReason::Asked);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}

/// What the guard has seen so far.
#[derive(Default)]
struct Seen {
    beat: i64,
    looks_without: u32,
}

impl Seen {
    fn look(&mut self, control: &Control) {
        let beat = control.last_beat();
        self.looks_without = if beat == self.beat { self.looks_without + 1 } else { 0 };
        self.beat = beat;
        if self.looks_without >= PATIENCE {
            let starved = LOOK_EVERY.as_nanos() * u128::from(self.looks_without);
            control.stop(StopReason::Starved { for_ns: i64::try_from(starved).unwrap_or(i64::MAX) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_leaves_no_time_is_stopped() {
        let (control, mut seen) = (Control::new(), Seen::default());
        control.beat(1_000);
        (0..PATIENCE).for_each(|_| seen.look(&control));
        assert!(!control.is_stopped(), "the first look found a sign of life");
        control.beat(2_000);
        (0..PATIENCE).for_each(|_| seen.look(&control));
        assert!(!control.is_stopped(), "there was another one");
        seen.look(&control);
        assert_eq!(control.reason(), Some(StopReason::Starved { for_ns: 5_000_000_000 }));
    }

    #[test]
    fn ends_when_told() {
        let control = Control::new();
        let guard = Guard::over(Scheduling::DEFAULT, &control).unwrap().unwrap();
        guard.end();
        assert!(Guard::over(Scheduling::OTHER, &control).unwrap().is_none());
        assert!(!control.is_stopped());
    }
}
