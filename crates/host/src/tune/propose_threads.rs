// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priorities of threads that come before what is to be on time.

use super::proposals::Wanted;
use super::setting::Form;
use crate::check::{Machine, OF_INTERRUPTS, Thread, interrupt_threads_above, lower_priority, threads_above};

fn lowered(thread: &Thread, to: u8) -> Wanted {
    let file = format!("proc/{}/task/{}/stat", thread.pid, thread.id);
    let form = Form::Priority { started: thread.started };
    Wanted { subject: format!("priority of {}", thread.name), form, ..Wanted::plain(file, to.to_string()) }
}

/// Those of SCHED_DEADLINE have no priority that could be lowered.
pub(super) fn threads(machine: &Machine<'_>) -> Vec<Wanted> {
    let Some(to) = lower_priority(machine, u8::MAX) else { return Vec::new() };
    let above = threads_above(machine).into_iter().filter(|above| !above.thread.is_deadline());
    above.map(|above| lowered(above.thread, to)).collect()
}

pub(super) fn interrupt_threads(machine: &Machine<'_>) -> Vec<Wanted> {
    let Some(to) = lower_priority(machine, OF_INTERRUPTS) else { return Vec::new() };
    interrupt_threads_above(machine).into_iter().map(|above| lowered(above.thread, to)).collect()
}
