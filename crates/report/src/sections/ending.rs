// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a recording holds less than was asked for.

use crate::format;
use crate::language::tr;
use crate::sections::rows::Rows;
use judge::Ending;
use model::{Document, End, Quantity, State};

/// Why a recording holds less than was asked for: `stopped early by SIGINT`.
pub(crate) fn cut_short(document: &Document) -> Option<String> {
    if judge::ending(document) == Ending::Planned {
        return None;
    }
    let end = match (document.state, &document.end) {
        (State::Complete, _) => return None,
        (State::Running, _) if document.run.sync => {
            tr!(incomplete_cut_off_most)
        }
        (State::Running, _) => tr!(incomplete_cut_off_last),
        (State::Stopped, None | Some(End::Done)) => tr!(stopped_before_planned_end),
        (State::Stopped, Some(End::Signal { name })) => tr!(stopped_early_name, name),
        (State::Stopped, Some(End::BreakAbove { thread, activation, latency_ns }))
            if document.probe.quantity == Quantity::Jitter =>
        {
            let row = Rows::from(document.probe.rows).numbered(*activation);
            let off = format::latency(latency_ns.saturating_abs());
            if *latency_ns < 0 {
                tr!(stopped_early_interval_before_row, row, thread, off)
            } else {
                tr!(stopped_early_interval_before, row, thread, off)
            }
        }
        (State::Stopped, Some(End::BreakAbove { thread, latency_ns, .. }))
            if document.imported.is_some() =>
        {
            tr!(stopped_early_break_value, thread, latency = format::latency(*latency_ns))
        }
        (State::Stopped, Some(End::BreakAbove { thread, activation, latency_ns })) => tr!(
            stopped_early_row_thread,
            row = Rows::from(document.probe.rows).numbered(*activation),
            thread,
            latency = format::latency(*latency_ns)
        ),
        (State::Stopped, Some(End::Guard { starved_ns, cpu: None })) => tr!(
            stopped_early_guard_interval,
            interval = document.run.interval_ns,
            time = format::latency(*starved_ns)
        ),
        (State::Stopped, Some(End::Guard { starved_ns, cpu: Some(cpu) })) => tr!(
            stopped_early_guard_interval_interval,
            interval = document.run.interval_ns,
            cpu,
            time = format::latency(*starved_ns)
        ),
        (State::Stopped, Some(End::ProbeFailed { error })) if has_no_rows(document) => {
            tr!(holds_nothing_measuring_failed, error = format::clip(error, 200))
        }
        (State::Stopped, Some(End::ProbeFailed { error })) => {
            tr!(stopped_early_measuring_failed, error = format::clip(error, 200))
        }
        (State::Stopped, Some(End::Overtime { by_ns })) => {
            tr!(stopped_early_threads_had, time = format::latency(*by_ns))
        }
        (State::Stopped, Some(End::RecordingFailed { error })) => {
            tr!(stopped_early_writing_failed, error = format::clip(error, 200))
        }
    };
    Some(end)
}

/// Whether nothing was due.
fn has_no_rows(document: &Document) -> bool {
    document
        .threads
        .iter()
        .all(|thread| thread.activations.is_some_and(|counts| counts.all().due == 0))
}
