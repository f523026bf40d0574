// SPDX-License-Identifier: MIT OR Apache-2.0
//! When each step of a window ran, from the planned time on.

use crate::calls::{Calls, Step};
use crate::dump::{Dump, Window};
use crate::kernel::Kernel;

/// What is to be explained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// The thread's index.
    pub thread: usize,
    pub activation: u64,
    /// Its latency, ns.
    pub latency_ns: u64,
    /// The CPU that the thread runs on.
    pub cpu: usize,
    /// What one instruction, of whichever CPU, takes of the guest's clock, ns.
    pub ns_per_instruction: f64,
}

/// How much later than planned a timer may be due: in steps of its clock, and what setting it
/// takes.
const TIMER_LATE_NS: i64 = 500;
pub(crate) struct Timed {
    pub calls: Calls,
    /// Each step's begin, ns from the planned time; negative before it. And the end of the last.
    pub times: Vec<i64>,
    /// The first step that ends after the planned time.
    pub first: usize,
    pub ns_per_instruction: f64,
}

impl Timed {
    /// Of what one CPU did. Another one may have its turn between two instructions: that belongs to
    /// the one before.
    pub fn new(
        dump: &Dump,
        window: &Window,
        kernel: &Kernel<'_>,
        asked: &Asked,
        cpu: usize,
    ) -> Timed {
        let mut calls = Calls::follow(dump, window, kernel, cpu);
        let latency = asked.latency_ns.cast_signed();
        let time = |step: &Step| {
            latency.saturating_sub(nanos(calls.end - step.begin, asked.ns_per_instruction))
        };
        let mut times: Vec<i64> = calls.steps.iter().map(time).collect();
        times.push(latency);
        // With interrupts off, as on arm64, a processor goes on at once where the timer's is due
        // already.
        let is_due = |step: &Step, end: i64| {
            step.halts && step.interrupts == Some(false) && end > TIMER_LATE_NS
        };
        calls
            .steps
            .iter_mut()
            .zip(&times[1..])
            .filter(|(step, end)| is_due(step, **end))
            .for_each(|(step, _)| step.halts = false);
        // What lies before a halt lies before the time that the processor halted, whose length the
        // instructions do not show. Of two CPUs those of the other show it.
        if !calls.has_others
            && let Some(halt) = calls.steps.iter().rposition(|step| step.halts)
            && times[halt + 1] > 0
        {
            let halted = times[halt + 1];
            times[..=halt].iter_mut().for_each(|time| *time = time.saturating_sub(halted));
        }
        let first = times[1..].iter().position(|end| *end > 0).unwrap_or(calls.steps.len());
        Timed { calls, times, first, ns_per_instruction: asked.ns_per_instruction }
    }

    /// The steps within the latency.
    pub fn steps(&self) -> impl Iterator<Item = (usize, &Step)> {
        self.calls.steps.iter().enumerate().skip(self.first)
    }

    /// Of a step what lies within the latency: its begin and length.
    pub fn extent(&self, step: usize) -> (u64, u64) {
        let begin = self.times[step].max(0);
        let end = self.times[step + 1].max(begin);
        (begin.unsigned_abs(), (end - begin).unsigned_abs())
    }
}

pub(crate) fn nanos(instructions: u64, ns_per_instruction: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a window is some ms")]
    let ns = (instructions as f64 * ns_per_instruction).round() as i64;
    ns
}
