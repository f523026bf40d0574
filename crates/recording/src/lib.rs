// SPDX-License-Identifier: MIT OR Apache-2.0
//! `NAME.teiji` on disk.
//!
//! The writer of a recording, which leaves something valid wherever it is cut off, its reader, and
//! the check that every figure follows from the samples. `docs/recording.md` describes the same for
//! readers. And outputs of other programs, made into recordings, and recordings written as such
//! (`formats/`).
//!
//! In: samples and facts from the other crates, files of strangers. Out: files, and
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
mod formats;
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
pub use error::RecordingError;
pub use explained::{read_explained, write_explained};
pub use folder::{Folder, adopt};
pub use formats::export::{
    CyclictestFigures, CyclictestFrame, CyclictestThread, EXPORT_FORMATS, ExportError,
    ExportFormat, ExportOptions, HistogramLayout, UnameFields, cyclictest_histogram,
    cyclictest_json, cyclictest_time, export, export_format, export_histogram, export_samples,
};
pub use formats::{
    FORMATS, Format, FoundOutput, ImportError, ImportOptions, format, import, shown_name,
};
pub use pool::examine_pool;
pub use reader::Recording;
pub use sample_file::{Row, SampleFile, each_row};
pub use samples::SampleWriter;
pub use verify::verify;
