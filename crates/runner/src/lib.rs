// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run, from the first snapshot of the machine to the last figure.
//!
//! Here the crates meet: the snapshot is taken, loads are started, threads measure, the recorder
//! writes what comes out of their rings, and in the end all is taken down again and summed up from
//! the disk. Every verb that records goes through [`execute`]; what prints as another program
//! does takes rows from [`Unrecorded`].
//!
//! In: a [`PreparedRun`]. Out: the recording on disk and the same as [`model::Recorded`], with
//! what limits judge where there are any. Must not touch: terminals; who wants to observe the run
//! passes a [`ProgressObserver`].
#![forbid(unsafe_code)]

mod conditions;
mod document;
mod execute;
mod interval;
mod live;
mod loads_elsewhere;
mod machine_check;
mod prepared_run;
mod process_cpus;
mod recorder;
mod rights;
mod signals;
mod syncer;
mod unrecorded;
mod watcher;

pub use execute::{ProgressObserver, RunnerError, execute};
pub use interval::{TooShort, try_interval};
pub use live::{History, LiveCause, LiveSpike, LiveThread, Progress, QUARTERS};
pub use loads_elsewhere::loads_elsewhere;
pub use prepared_run::PreparedRun;
pub use process_cpus::{isolated_not_measured, process_cpus};
pub use recorder::RowSink;
pub use rights::{Granted, grant, timeout};
pub use signals::Signals;
pub use unrecorded::{Rows, Unrecorded};
pub use watcher::remove_left_tracing;
