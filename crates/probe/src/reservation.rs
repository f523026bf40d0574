// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread under SCHED_DEADLINE is promised.

use plan::Nanos;

/// What a thread asks of the kernel's admission control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    /// CPU time in each period.
    pub(crate) runtime: Nanos,
    /// From the start of a period, when that time is due.
    pub(crate) deadline: Nanos,
    pub(crate) period: Nanos,
}
