// SPDX-License-Identifier: MIT OR Apache-2.0
//! `NAME.teiji` on disk.
//!
//! The writer of a recording, which leaves something valid wherever it is cut off, its reader, and
//! the check that every figure follows from the samples. `docs/recording.md` describes the same for
//! readers.
//!
//! In: samples and facts from the other crates. Out: files, and
//! [`model::Recorded`] for display. Must not touch: clocks, threads being measured, the machine
//! beyond the folder and the files it was given.
#![forbid(unsafe_code)]

mod anonymous;
mod checked;
mod column;
mod contents;
mod counts;
mod decoder;
mod error;
mod explained;
mod flatbuffer;
mod folder;
mod long_values;
mod message;
mod pool;
mod reader;
mod run_json;
mod sample_file;
mod samples;
mod stream;
mod sums;
mod verify;

pub use anonymous::LeftOut;
pub use contents::{open_file, read_console, read_text, within};
pub use counts::too_many;
pub use error::RecordingError;
pub use explained::{read_explained, write_explained};
pub use folder::{Folder, adopt};
pub use pool::examine_pool;
pub use reader::Recording;
pub use run_json::parse;
pub use sample_file::{Row, SampleFile, each_row};
pub use samples::SampleWriter;
pub use verify::verify;
