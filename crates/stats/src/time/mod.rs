// SPDX-License-Identifier: MIT OR Apache-2.0
//! How latencies go over time: what recurs, what changes, what happens on several CPUs at once.

mod change;
mod distances;
mod jitter;
mod places;
mod recurrence;
mod together;

pub(crate) use change::changes;
pub use change::{Change, ChangeKind, Part};
pub(crate) use jitter::JitterOverTime;
pub use recurrence::Period;
pub(crate) use recurrence::Recurrence;
pub use together::{Together, together};
