// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface by which the engine asks a probe for each row.

use crate::attachment::Attachment;
use plan::Nanos;

/// Why a probe could not measure any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleError {
    /// What was being done, such as `fork`.
    pub(crate) doing: &'static str,
    /// The error's number (errno).
    pub(crate) errno: i32,
}

/// Measures planned rows of `N` columns: activations or trials. The first column is the one that is judged.
pub(crate) trait Sampler<A: Attachment, const N: usize>: Send + 'static {
    /// The column that shows overruns: from the planned time until the thread is free for the next row, ns.
    const OVERRUN: usize;

    /// Measures one row. Called when the thread has slept until the planned time.
    ///
    /// # Errors
    /// Why nothing can be measured: the run ends with it.
    fn sample(&mut self, attachment: &mut A, planned: Nanos) -> Result<[i64; N], SampleError>;
}

/// What a wait for an event ended with.
#[cfg_attr(not(debug_assertions), expect(dead_code, reason = "no probe of events is in the released program yet"))]
pub(crate) enum Awaited<const N: usize> {
    /// An event: when it happened, and its columns. The first is the one that is judged.
    Event(Nanos, [i64; N]),
    /// The time to wait until came first, or a signal.
    Nothing,
    /// Why nothing can be measured: the run ends with it.
    Failed(SampleError),
}

/// Waits for events, which come at irregular times, with `N` columns each.
pub(crate) trait EventSource<A: Attachment, const N: usize>: Send + 'static {
    /// Waits for the next event, until this time at most. A signal ends the wait, so that a run can be stopped.
    fn next(&mut self, attachment: &mut A, until: Nanos) -> Awaited<N>;
}
