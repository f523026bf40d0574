// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run, from the first look at the machine to the last figure.
//!
//! Here the rooms meet: the machine is looked at, loads are started, threads measure, the recorder writes what comes out
//! of their rings, and in the end all is taken down again and summed up from the disk. Every verb that measures goes
//! through [`carry_out`].
//!
//! In: an [`Order`]. Out: the recording on disk and the same as [`recording::Recorded`]. Must not touch: terminals; who
//! wants to see the run while it goes on passes a [`Watch`].
#![forbid(unsafe_code)]

mod carry_out;
mod conditions;
mod document;
mod live;
mod recorder;
mod rights;
mod signals;

pub use carry_out::{Order, RunnerError, Watch, carry_out};
pub use live::{LiveThread, Progress};
pub use rights::{Granted, grant};
pub use signals::Signals;
