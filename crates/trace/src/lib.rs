// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's tracers, used through tracefs and left as they were found.
//!
//! [`Tracefs`] finds the file system, [`Session`] is an instance of our own in it, [`Reader`] reads
//! one CPU's events of it as text, [`RawReader`] as they are stored, with all digits of their time,
//! and `timerlat` and `hwlat` are what those tracers print. What has no version for each
//! instance is borrowed: written into a journal first, and restored even if the process was killed,
//! by the next one.
//!
//! In: what to trace. Out: lines, and the number of events that the kernel lost. Must not touch: an
//! instance of anybody else, and a knob while anybody else uses it.
#![forbid(unsafe_code)]

mod account;
mod events;
mod format;
mod hwlat;
mod journal;
mod line;
mod owner;
mod raw;
mod reader;
mod session;
mod symbols;
mod timerlat;
mod tracefs;
mod watch;

pub use account::{Beside, account};
pub use events::{Event, NameId, Names, Own, Recorded, Task, TaskId, What};
pub use format::{Field, Format, TextField};
pub use hwlat::Gap;
pub use line::{Line, Text};
pub use raw::{Raw, RawReader};
pub use reader::Reader;
pub use session::Session;
pub use symbols::{forget_addresses, name_functions};
pub use timerlat::{Context, TimerLatency};
pub use tracefs::Tracefs;
pub use watch::{Leg, Spike, Watch, Window};

use std::io;
use std::path::PathBuf;

/// Why nothing can be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The machine lacks something: what, and what to do.
    #[error("{0}")]
    Missing(String),
    /// Somebody else uses it: who, and what.
    #[error("{0}")]
    Busy(String),
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// Such as `write`.
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// Something borrowed is not as it was found.
    #[error("cannot restore {}", .0.join(", "))]
    NotRestored(Vec<String>),
}

impl TraceError {
    fn file(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        TraceError::File { doing, path: path.into(), source }
    }
}
