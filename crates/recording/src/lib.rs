// SPDX-License-Identifier: MIT OR Apache-2.0
//! `NAME.teiji` on disk.
//!
//! Here live the form of a recording, its writer, which leaves something valid wherever it is cut off, its reader, and
//! the check that every figure follows from the samples. `docs/recording.md` describes the same for people.
//!
//! In: samples and facts from the other rooms. Out: files, and [`Recorded`] for whoever shows them. Must not touch:
//! clocks, threads being measured, the machine beyond the folder it was given.
#![forbid(unsafe_code)]

mod changes;
mod column;
mod document;
mod error;
mod folder;
mod frames;
mod json;
mod judged;
mod lab;
mod message;
mod other_work;
mod reader;
mod recorded;
mod sample_file;
mod samples;
mod stream;
mod verify;

pub use changes::{Changes, CpuTimeChange, EventChange, FactChange, changes};
pub use document::*;
pub use error::RecordingError;
pub use folder::{Folder, adopt, samples_file};
pub use json::to_text as document_text;
pub use judged::NotTold;
pub use lab::{Lab, LabFile, LabKernel, LabQemu};
pub use other_work::OtherWork;
pub use reader::Recording;
pub use recorded::{ENVELOPE_STEPS, Recorded, fill_in};
pub use sample_file::SampleFile;
pub use samples::{FLUSH_INTERVAL, SampleWriter};
pub use verify::{Difference, contradictions, verify};
