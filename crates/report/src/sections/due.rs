// SPDX-License-Identifier: MIT OR Apache-2.0
//! When activations were due, on the time that all threads of a run share.

use model::{Document, Thread};

/// When activation 0 of a thread was due, ns since the first activation of the run: threads may
/// start apart from one another.
pub(crate) fn start_since_first(document: &Document, thread: &Thread) -> i64 {
    let first =
        document.threads.iter().map(|thread| thread.start_ns.0).min().unwrap_or(thread.start_ns.0);
    thread.start_ns.0.saturating_sub(first)
}

/// When an activation of this thread was due, ns since the first activation of the run.
pub(crate) fn due_since_first(document: &Document, thread: &Thread, activation: u64) -> i64 {
    let own = i64::try_from(activation).unwrap_or(i64::MAX).saturating_mul(thread.interval_ns.0);
    own.saturating_add(start_since_first(document, thread))
}
