// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priorities of threads that come before what is to be on time.

use super::proposals::Wanted;
use super::setting::Form;
use crate::check::{Machine, Thread, interrupt_threads_above, threads_above};

/// What handlers in threads have unless somebody changed it.
const OF_INTERRUPTS: u8 = 50;

fn lowered(thread: &Thread, to: u8) -> Wanted {
    let file = format!("proc/{}/task/{}/stat", thread.pid, thread.id);
    let form = Form::Priority { started: thread.started };
    Wanted { subject: format!("priority of {}", thread.name), form, ..Wanted::plain(file, to.to_string()) }
}

pub(super) fn threads(machine: &Machine<'_>) -> Vec<Wanted> {
    let below = machine.options.priority.saturating_sub(1).max(1);
    threads_above(machine).into_iter().map(|thread| lowered(thread, below)).collect()
}

pub(super) fn interrupt_threads(machine: &Machine<'_>) -> Vec<Wanted> {
    interrupt_threads_above(machine).into_iter().map(|thread| lowered(thread, OF_INTERRUPTS)).collect()
}
