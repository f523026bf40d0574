// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wake-ups of another program, from the kernel's own events: nothing is changed in it.
//!
//! `trace.rs` records the events of the program alone, in an instance of tracefs of our own;
//! `event.rs` reads them as they are stored; `account.rs` makes wake-ups of them, which is pure;
//! `source.rs` hands those over; `periods.rs` counts those of a known period; `program.rs` is the
//! program: one that runs, or one that is started.

mod account;
mod deadlines;
mod event;
mod periods;
mod program;
mod source;
#[expect(
    unsafe_code,
    reason = "what a child does before exec has no safe interface; see the file's head"
)]
mod sys;
mod trace;

pub(crate) use account::Cause;
pub use program::keep_standard_output;
pub(crate) use program::{Program, ProgramError, check, words};
pub(crate) use source::{COLUMNS, SLOT, Wakeups};
pub(crate) use trace::lacks;
